//! Against a recorded kernel: what hardware counters would answer, and every way they are refused.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use counters::{Attribute, Counters, Descriptor, Event, Kernel, Surroundings, Times, Value, parse};
use environment::Root;

/// What the recorded kernel answers to one event: a refusal, or what a read of it gives.
type Answer = Result<Times, i32>;

/// A kernel that answers by type and configuration, and notes what it was asked.
#[derive(Default)]
struct Recorded {
    answers: Vec<((u32, u64), Answer)>,
    user_mode_only: bool,
    opened: RefCell<Vec<(Attribute, i32, Option<i32>)>>,
    filters: Rc<RefCell<Vec<String>>>,
}

struct Open {
    number: i32,
    times: Times,
    filters: Rc<RefCell<Vec<String>>>,
}

impl Descriptor for Open {
    fn number(&self) -> i32 {
        self.number
    }

    fn read(&self) -> io::Result<Times> {
        Ok(self.times)
    }

    fn filter(&self, filter: &str) -> io::Result<()> {
        self.filters.borrow_mut().push(filter.to_owned());
        Ok(())
    }
}

impl Kernel for Recorded {
    fn open(&self, attribute: &Attribute, pid: i32, leader: Option<i32>) -> io::Result<Box<dyn Descriptor>> {
        let mut opened = self.opened.borrow_mut();
        opened.push((*attribute, pid, leader));
        if self.user_mode_only && !attribute.exclude_kernel {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        let asked = (attribute.kind, attribute.config);
        let answer = self.answers.iter().find(|(event, _)| *event == asked).map(|(_, answer)| *answer);
        match answer.unwrap_or(Err(libc::ENOENT)) {
            Ok(times) => {
                let number = 100 + opened.len() as i32;
                Ok(Box::new(Open { number, times, filters: Rc::clone(&self.filters) }))
            }
            Err(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const RAW: u32 = 4;

fn times(count: u64, enabled_ns: u64, running_ns: u64) -> Answer {
    Ok(Times { count, enabled_ns, running_ns })
}

fn with_pmu() -> Surroundings {
    Surroundings {
        core_pmus: vec![("cpu".into(), RAW)],
        no_pmu: None,
        paranoid: Some(1),
        seccomp: false,
        privileged: false,
    }
}

fn without_pmu() -> Surroundings {
    Surroundings {
        core_pmus: Vec::new(),
        no_pmu: Some("no PMU exposed by the hypervisor (kvm)".into()),
        ..with_pmu()
    }
}

fn events(list: &str) -> Vec<Vec<Event>> {
    let nothing = tempfile::tempdir().unwrap();
    parse(&Root::at(nothing.path()), list).unwrap()
}

/// The reading of each event of `list`.
fn read(kernel: &Recorded, list: &str, surroundings: &Surroundings) -> Vec<(String, Result<Value, String>)> {
    let counters = Counters::probe(kernel, events(list), surroundings);
    counters.attach(4711).read().into_iter().map(|reading| (reading.name, reading.value)).collect()
}

fn reason(kernel: &Recorded, event: &str, surroundings: &Surroundings) -> String {
    read(kernel, event, surroundings).remove(0).1.unwrap_err()
}

#[test]
fn shared_counters_are_scaled_and_say_so() {
    let kernel = Recorded {
        answers: vec![
            ((HARDWARE, 0), times(1_000, 4_000_000, 1_000_000)),
            ((HARDWARE, 1), times(2_000, 4_000_000, 4_000_000)),
            ((HARDWARE, 4), times(77, 4_000_000, 4_000_001)),
            ((HARDWARE, 5), times(0, 4_000_000, 4_000_000)),
            ((HARDWARE, 3), times(0, 4_000_000, 0)),
            ((HARDWARE, 2), times(0, 0, 0)),
        ],
        ..Recorded::default()
    };
    let list = "cycles,instructions,branches,branch-misses,cache-misses,cache-references";
    let readings = read(&kernel, list, &with_pmu());
    let value = |at: usize| readings[at].1.clone();
    assert_eq!(value(0), Ok(Value { count: 4_000.0, running_pct: 25.0 }));
    assert_eq!(value(1), Ok(Value { count: 2_000.0, running_pct: 100.0 }));
    // The two times are read one after the other: running may pass enabled, the count is not scaled down.
    assert_eq!(value(2), Ok(Value { count: 77.0, running_pct: 100.0 }));
    // A true zero is a number; an event that never got a counter is none.
    assert_eq!(value(3), Ok(Value { count: 0.0, running_pct: 100.0 }));
    assert!(value(4).unwrap_err().contains("never counted"));
    assert!(value(5).unwrap_err().contains("before counting began"));
}

#[test]
fn groups_name_their_leader_and_go_on_without_a_refused_one() {
    let kernel = Recorded {
        answers: vec![
            ((HARDWARE, 0), times(10, 1, 1)),
            ((HARDWARE, 1), times(20, 1, 1)),
            ((RAW, 0x1a8), times(30, 1, 1)),
        ],
        ..Recorded::default()
    };
    let readings = read(&kernel, "{cycles,instructions},{bus-cycles,r1a8}", &with_pmu());
    let counts: Vec<Option<f64>> = readings.iter().map(|(_, v)| v.as_ref().ok().map(|v| v.count)).collect();
    assert_eq!(counts, [Some(10.0), Some(20.0), None, Some(30.0)]);
    let opened = kernel.opened.borrow();
    let attached: Vec<_> = opened.iter().filter(|(_, pid, _)| *pid == 4711).collect();
    assert_eq!(attached[0].2, None);
    assert!(attached[1].2.is_some());
    // The refused leader is not opened again for a run; the next member leads.
    assert_eq!(attached.len(), 3);
    assert_eq!(attached[2].2, None);
}

#[test]
fn every_refusal_has_its_own_reason() {
    let refusing = |errno: i32| Recorded {
        answers: vec![((HARDWARE, 0), Err(errno)), ((SOFTWARE, 3), Err(errno)), ((RAW, 1), Err(errno))],
        ..Recorded::default()
    };
    let said = |errno, event, surroundings: &Surroundings| reason(&refusing(errno), event, surroundings);
    assert!(said(libc::ENOENT, "cycles", &without_pmu()).contains("hypervisor (kvm)"));
    assert!(said(libc::EOPNOTSUPP, "cycles", &without_pmu()).contains("hypervisor (kvm)"));
    assert!(said(libc::ENOENT, "cycles", &with_pmu()).contains("no such event"));
    assert!(said(libc::EINVAL, "r1", &with_pmu()).contains("EINVAL"));
    assert!(said(libc::ENXIO, "cycles", &with_pmu()).contains("not on this machine"));
    assert!(said(libc::EMFILE, "cycles", &with_pmu()).contains("ulimit"));
    assert!(said(libc::ENOSYS, "cycles", &with_pmu()).contains("without perf events"));
    let paranoid = Surroundings { paranoid: Some(4), ..with_pmu() };
    assert!(said(libc::EACCES, "cycles", &paranoid).contains("perf_event_paranoid is 4"));
    let confined = Surroundings { seccomp: true, privileged: true, ..with_pmu() };
    assert!(said(libc::EPERM, "cycles", &confined).contains("seccomp"));
    assert!(said(libc::ENOSYS, "cycles", &confined).contains("seccomp"));
    assert!(said(libc::ENOENT, "context-switches", &with_pmu()).contains("this kernel"));
    assert_eq!(said(libc::EINVAL, "nosuch", &with_pmu()), "unknown name");
}

#[test]
fn without_the_right_to_kernel_mode_user_mode_is_counted_and_named() {
    let kernel = Recorded {
        answers: vec![((HARDWARE, 0), times(10, 1, 1)), ((SOFTWARE, 3), times(0, 1, 1))],
        user_mode_only: true,
        ..Recorded::default()
    };
    let surroundings = Surroundings { paranoid: Some(2), ..with_pmu() };
    let readings = read(&kernel, "cycles,context-switches", &surroundings);
    assert_eq!(readings[0], ("cycles:u".into(), Ok(Value { count: 10.0, running_pct: 100.0 })));
    // A context switch happens in the kernel: counted in user mode it would always be 0.
    assert_eq!(readings[1].0, "context-switches");
    assert!(readings[1].1.clone().unwrap_err().contains("perf_event_paranoid is 2"));
}

#[test]
fn what_user_mode_lacks_as_well_is_not_a_matter_of_rights() {
    let kernel = Recorded { user_mode_only: true, ..Recorded::default() };
    let surroundings = Surroundings { paranoid: Some(2), ..without_pmu() };
    assert!(reason(&kernel, "cycles", &surroundings).contains("hypervisor (kvm)"));
}

#[test]
fn a_tracepoint_gets_its_filter() {
    let kernel = Recorded { answers: vec![((2, 17), times(5, 1, 1))], ..Recorded::default() };
    let mut event = Event::new("raw_syscalls:sys_enter", 2, 17);
    event.filter = Some("id == 0".into());
    let counters = Counters::probe(&kernel, vec![vec![event]], &with_pmu());
    assert!(counters.attach(1).read()[0].value.is_ok());
    assert_eq!(*kernel.filters.borrow(), ["id == 0"]);
}

#[test]
fn the_running_kernel_counts_what_it_has_and_refuses_the_rest() {
    let surroundings =
        Surroundings::read(&Root::host(), &environment::collect(&Root::host(), &Default::default()));
    let groups = events("task-clock,page-faults,nosuch");
    let counters = Counters::probe(&counters::Linux, groups, &surroundings);
    let refused: Vec<bool> = counters.events().map(|(_, why)| why.is_some()).collect();
    if refused[0] {
        println!("skipped: this machine refuses perf events to this user");
        return;
    }
    assert_eq!(refused[1..], [refused[1], true]);
    // Counting begins at an exec that never comes here.
    let readings = counters.attach(0).read();
    assert!(readings[0].value.clone().unwrap_err().contains("before counting began"));
}
