//! The machines that come with the program, and what is refused.

use mmu::machine::{Machine, builtin_names, builtin_source};
use mmu::sim::{Options, Simulation};

#[test]
fn every_builtin_machine_loads_and_simulates() {
    let names: Vec<_> = builtin_names().collect();
    for name in
        ["ppc405gp", "ppc440", "mpc885", "mpc850", "e300", "pentium4", "haswell", "skylake", "icelake"]
    {
        assert!(names.contains(&name), "{name} is missing");
    }
    for name in names {
        let machine = Machine::load(name).unwrap();
        assert_eq!(machine.name, name);
        assert!(machine.source.is_some(), "{name}: no source");
        assert!(builtin_source(name).unwrap().contains('#'), "{name}: no comments");
        let mut generator = mmu::generate::Generator::parse("random:pages=5000,refs=20000,code=1").unwrap();
        let mut simulation = Simulation::new(vec![(name.into(), machine)], Options::default()).unwrap();
        let events = mmu::reader::read_all(&mut generator).unwrap();
        simulation.feed(&events).unwrap();
        let outcome = simulation.finish().unwrap().remove(0);
        assert!(outcome.walks.total() > 1000, "{name}");
    }
}

#[test]
fn presets_change_the_kernel_mapping() {
    let m = Machine::load("ppc405gp").unwrap();
    assert_eq!(m.with_preset("large-on-demand").unwrap().map.len(), 1);
    let pinned = m.with_preset("pin=2+large-on-demand").unwrap();
    assert_eq!((pinned.tlbs[2].pinned.len(), pinned.tlbs[0].pinned.len(), pinned.map.len()), (2, 0, 1));
    assert_eq!(pinned.tlbs[2].pinned[1].base.0, 0xc100_0000);
    assert_eq!(m.with_preset("bat").unwrap().bats.len(), 1);
    assert_eq!(m.with_preset("thp").unwrap().map[0].page.0, 2 << 20);
    assert!(m.with_preset("pin=65").is_err());
    assert!(m.with_preset("huge").unwrap_err().to_string().contains("not a preset"));
    let no_kernel = Machine::load("zen4").unwrap();
    assert!(no_kernel.with_preset("pin=1").unwrap_err().to_string().contains("[kernel]"));
}

/// Two address spaces use a shared page and a pinned one.
#[test]
fn a_mapping_file_can_make_ranges_global_and_pinned() {
    use mmu::event::{Event, Kind};
    let machine = r#"{"tlbs":[{"name":"u","serves":"IRW","entries":4,"policy":"lru"}],"asid":true}"#;
    let machine = Machine::from_json(machine, "m").unwrap();
    let walks = |map: &str| {
        let machine = machine.with_map_file(map, "map").unwrap();
        let mut simulation = Simulation::new(vec![("m".into(), machine)], Options::default()).unwrap();
        let events = (0..4).flat_map(|i| {
            let access = |addr| Event::access(Kind::Read, addr, 4);
            [Event::control(Kind::AddressSpace, i % 2), access(0x10_0000), access(0x20_0000)]
        });
        simulation.feed(&events.collect::<Vec<_>>()).unwrap();
        simulation.finish().unwrap()[0].walks.total()
    };
    let range =
        |base: &str, flags: &str| format!("[[map]]\nbase = \"{base}\"\nlen = 4096\npage = 4096\n{flags}\n");
    assert_eq!(walks(&range("100000", "")), 4);
    assert_eq!(walks(&range("100000", "global = true")), 3);
    assert_eq!(walks(&range("200000", "pinned = true\nglobal = true")), 2);
    let refused = |text: &str| machine.with_map_file(text, "map").unwrap_err().to_string();
    assert!(refused(&range("100800", "pinned = true")).contains("not aligned"));
    let odd = "[[map]]\nbase = \"0\"\nlen = 5000\npage = 4096\npinned = true\n";
    assert!(refused(odd).contains("whole number of pages"));
    let five = "[[map]]\nbase = \"0\"\nlen = \"20K\"\npage = 4096\npinned = true\n";
    assert!(refused(five).contains("more entries pinned"));
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let cases = [
        (r#"{"tlbs":[]}"#, "describe at least one"),
        (r#"{"tlbs":[{"name":"u","serves":"IRW","entries":0,"policy":"lru"}]}"#, "entries = 0"),
        (r#"{"tlbs":[{"name":"u","serves":"IRW","entries":64,"ways":5,"policy":"lru"}]}"#, "sets of 5 ways"),
        (r#"{"tlbs":[{"name":"u","serves":"X","entries":64,"policy":"lru"}]}"#, "'X' is not one of"),
        (r#"{"tlbs":[{"name":"u","serves":"IRW","entries":64,"policy":"mru"}]}"#, "mru"),
        (r#"{"tlbs":[{"name":"u","serves":"IRW","entrys":64,"policy":"lru"}]}"#, "entrys"),
        (
            r#"{"tlbs":[{"name":"u","serves":"IRW","entries":4,"policy":"lru",
                "pinned":[{"base":"1000","size":8192}]}]}"#,
            "not aligned",
        ),
        (
            r#"{"tlbs":[{"name":"a","serves":"IR","entries":4,"policy":"lru"},
                        {"name":"b","serves":"RW","entries":4,"policy":"lru"}]}"#,
            "serve the same references",
        ),
        (
            r#"{"tlbs":[{"name":"a","serves":"IRW","entries":4,"policy":"lru"},
                        {"name":"b","serves":"IRW","level":2,"entries":4,"policy":"opt"}]}"#,
            "level 1 only",
        ),
        (
            r#"{"tlbs":[{"name":"u","serves":"IRW","entries":4,"policy":"lru"}],
                "map":[{"base":"ffffffffffff0000","len":1048576,"page":4096}]}"#,
            "end of the address space",
        ),
        (
            r#"{"tlbs":[{"name":"u","serves":"IRW","entries":4,"policy":"lru"}],
                "map":[{"base":"0","len":4096,"page":3000}]}"#,
            "power of two",
        ),
    ];
    for (text, expected) in cases {
        let error = Machine::from_json(text, "test").unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
    let error = Machine::load("ppc405").unwrap_err().to_string();
    assert!(error.contains("did you mean ppc405gp?"), "{error}");
}

#[test]
fn toml_and_json_are_one_schema() {
    let toml = "asid = true\nglobal_from = \"c0000000\"\n[[tlb]]\nname = \"u\"\nserves = \"IRW\"\nentries = 64\npolicy = \"round-robin\"\n";
    let json = r#"{"asid":true,"global_from":"c0000000","tlbs":[{"name":"u","serves":"IRW","entries":64,"policy":"fifo"}]}"#;
    assert_eq!(Machine::from_text(toml, "a").unwrap(), Machine::from_text(json, "a").unwrap());
}
