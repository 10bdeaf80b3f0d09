//! The long CSV reader.

use record::import::{ImportError, Imported, Options, Source, read};
use record::{Direction, Estimator, Status};

fn import(text: &str) -> Result<Imported, ImportError> {
    read(vec![Source::bytes("made.csv", text)], &Options::default())
}

#[test]
fn samples_of_one_invocation_are_gathered() {
    let imported = import(
        "config,block,slot,invocation,sample,metric,unit,direction,summary,value\n\
         B,0,0,0,0,m,us,smaller,median,50.5\nB,0,0,0,1,m,us,smaller,median,49.5\n\
         B,0,0,0,2,m,us,smaller,median,52.5\nA,0,1,0,0,m,us,smaller,median,40.0\n",
    )
    .unwrap();
    let labels: Vec<_> = imported.records.iter().map(|r| r.header.label.as_str()).collect();
    assert_eq!(labels, ["B", "A"]);
    let one = &imported.records[0].invocations[0];
    assert_eq!((one.value, one.estimator), (Some(50.5), Some(Estimator::Median)));
    assert_eq!(one.samples.as_deref(), Some(&[50.5, 49.5, 52.5][..]));
    assert_eq!((one.block, one.slot, one.metric.as_str()), (Some(1), Some(0), "m"));
    assert!(imported.skipped.is_empty());
}

#[test]
fn summaries_intervals_and_kinds_are_kept() {
    let imported = import(
        "config,metric,unit,direction,kind,value,lo,hi,mean,rel_se_pct,n_runs\n\
         A,cycles,count,smaller,,,,,726605854,0.03,10\nA,calls,count,,exact,1000,,,,,\n\
         A,sh proc,us,smaller,control,33000,32950,33950,,,\n",
    )
    .unwrap();
    let [cycles, calls, sh] = &imported.records[0].invocations[..] else { panic!() };
    let summary = cycles.summary.unwrap();
    assert_eq!((summary.n_runs, summary.rel_se_pct), (10, 0.03));
    assert!((summary.rel_se_half_digit_pct - 0.005).abs() < 1e-12);
    assert_eq!(cycles.value, Some(726_605_854.0));
    assert!(calls.exact && calls.direction == Direction::None);
    assert_eq!(sh.printed.map(|p| (p.lo, p.hi)), Some((32950.0, 33950.0)));
    assert!(sh.control);
}

#[test]
fn unusable_lines_are_named_and_blanks_are_not_zero() {
    let imported = import(
        "config;metric;value;direction\nA;m;1.5;smaller\nA;m;nan;smaller\nA;m;1e400;smaller\nA;m;2;faster\n;m;2;smaller\nA;m\nA;m;;smaller\n",
    )
    .unwrap();
    let lines: Vec<_> = imported.skipped.iter().map(|s| s.line).collect();
    assert_eq!(lines, [3, 4, 5, 6, 7]);
    let blank = &imported.records[0].invocations[1];
    assert_eq!((blank.value, blank.status), (None, Status::Skipped));
}

#[test]
fn one_name_in_two_sections_is_two_metrics() {
    let imported =
        import("config,section,metric,value\nA,latency,Pipe,10\nA,bandwidth,Pipe,20\nA,latency,UDP,3\n")
            .unwrap();
    let names: Vec<_> = imported.records[0].invocations.iter().map(|i| &i.metric[..]).collect();
    assert_eq!(names, ["latency/Pipe", "bandwidth/Pipe", "UDP"]);
}

#[test]
fn a_header_that_names_a_field_twice_is_refused() {
    let error = import("config,metric,value,value\nA,m,1,2\n").unwrap_err().to_string();
    assert!(error.contains("`value` twice"), "{error}");
}
