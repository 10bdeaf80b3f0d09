//! Every reader on small traces of our own: counts, compression, round trips, damage.

use std::io::{Cursor, Read, Write};

use mmu::event::{Event, Kind};
use mmu::reader::{Format, from_read, read_all};
use mmu::writer::{BinaryWriter, CompressedWriter, TextWriter, TraceWriter};
use proptest::prelude::*;

fn parse(bytes: &[u8], format: Option<Format>) -> Result<Vec<Event>, String> {
    let source = Box::new(Cursor::new(bytes.to_vec()));
    let mut reader = from_read(source, "trace", format).map_err(|e| e.to_string())?;
    read_all(reader.as_mut()).map_err(|e| e.to_string())
}

fn fetch(addr: u64, size: u32) -> Event {
    Event::access(Kind::Fetch, addr, size)
}
fn load(addr: u64, size: u32) -> Event {
    Event::access(Kind::Read, addr, size)
}
fn store(addr: u64, size: u32) -> Event {
    Event::access(Kind::Write, addr, size)
}

fn champsim(size: usize, ip: u64, stores: &[u64], loads: &[u64]) -> Vec<u8> {
    let (s, l) = if size == 64 { (16, 32) } else { (24, 56) };
    let mut record = vec![0; size];
    record[..8].copy_from_slice(&ip.to_le_bytes());
    for (at, list) in [(s, stores), (l, loads)] {
        for (i, a) in list.iter().enumerate() {
            record[at + 8 * i..at + 8 * i + 8].copy_from_slice(&a.to_le_bytes());
        }
    }
    record
}

fn packed(kind: u16, size: u16, addr: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &addr.to_le_bytes()].concat()
}

/// One small trace per format, and what it says.
fn samples() -> Vec<(Format, Vec<u8>, Vec<Event>)> {
    let lackey = b"==12== Lackey, an example Valgrind tool\nI  04001090,3\n S 1ffeffe7e8,8\nI  04001093,5\n L 0402efb8,4\n M 0402f000,1\n==12== \n";
    let din = b"2 8048000\n0 bffff000\n\n1 bffff004\n3 0\n";
    let view = b"Output format:\n<record>\n------\n 1 0: W0.T99 <marker: version 5>\n 2 1: W0.T99 ifetch 3 byte(s) @ 0x00007f00deadb000 non-branch\n 3 1: W0.T99 write 8 byte(s) @ 0x00007ffd00000ff0 by PC 0x00007f00deadb000\n 4 2: W1.T3 read 2 byte(s) @ 0x0000000000601000 by PC 0x1\nView tool results:\n 3 : total instructions\n";
    let execlog = b"0, 0xffffffff81000000, 0x90, \"nop, really\"\n1, 0x400500, 0x8b00, \"mov eax, [rax]\", load, 0x601000, RAM\n1, 0x400502, 0xa4, \"movsb\", load, 0x601010, store, 0x602000, device\n";
    let perf = b"  70/71       7fe000001000     55d000000010\n  70/71                  0     55d000000020\n   -1/-1      ffffc90000000000 ffffffff81000000\n";
    let native =
        b"# a comment\nI 400000,4\nM 601000,8 # both\nA 3\nF\nF 601000\nS\nP 2\nT 10/11\nW 7fff0000,16";
    let task = |pid: u64, tid: u64| Event::control(Kind::Task, pid << 32 | tid);
    let mut cloud = champsim(96, 0x400000, &[0x601000], &[0x602000, 0x603000]);
    cloud[88] = 7;
    let drmemtrace = [
        packed(25, 0, 5),
        packed(22, 0, 99),
        packed(24, 0, 98),
        packed(28, 2, 1234),
        packed(10, 4, 0x400000),
        packed(17, 2, 0x0503),
        packed(1, 8, 0x7fff0000),
        packed(26, 0, 0),
    ]
    .concat();
    vec![
        (
            Format::Lackey,
            lackey.to_vec(),
            vec![
                fetch(0x0400_1090, 3),
                store(0x1f_feff_e7e8, 8),
                fetch(0x0400_1093, 5),
                load(0x0402_efb8, 4),
                Event::access(Kind::Modify, 0x0402_f000, 1),
            ],
        ),
        (Format::Din, din.to_vec(), vec![fetch(0x804_8000, 1), load(0xbfff_f000, 1), store(0xbfff_f004, 1)]),
        (
            Format::DrView,
            view.to_vec(),
            vec![
                task(0, 99),
                fetch(0x7f00_dead_b000, 3),
                store(0x7ffd_0000_0ff0, 8),
                task(1, 3),
                load(0x60_1000, 2),
            ],
        ),
        (
            Format::ExecLog,
            execlog.to_vec(),
            vec![
                fetch(0xffff_ffff_8100_0000, 1),
                fetch(0x40_0500, 1),
                load(0x60_1000, 1),
                fetch(0x40_0502, 1),
                load(0x60_1010, 1),
                store(0x60_2000, 1),
            ],
        ),
        (
            Format::PerfScript,
            perf.to_vec(),
            vec![
                task(70, 71),
                fetch(0x55d0_0000_0010, 1),
                load(0x7fe0_0000_1000, 1),
                fetch(0x55d0_0000_0020, 1),
                task(0xffff_ffff, 0xffff_ffff),
                fetch(0xffff_ffff_8100_0000, 1),
                load(0xffff_c900_0000_0000, 1),
            ],
        ),
        (
            Format::NativeText,
            native.to_vec(),
            vec![
                fetch(0x40_0000, 4),
                Event::access(Kind::Modify, 0x60_1000, 8),
                Event::control(Kind::AddressSpace, 3),
                Event::control(Kind::FlushAll, 0),
                Event::control(Kind::FlushPage, 0x60_1000),
                Event::control(Kind::Sync, 0),
                Event::control(Kind::Phase, 2),
                task(10, 11),
                store(0x7fff_0000, 16),
            ],
        ),
        (
            Format::ChampSim,
            [champsim(64, 0x400000, &[0x601000], &[0x602000]), champsim(64, 0x400004, &[], &[])].concat(),
            vec![fetch(0x40_0000, 1), load(0x60_2000, 1), store(0x60_1000, 1), fetch(0x40_0004, 1)],
        ),
        (
            Format::CloudSuite,
            [cloud, champsim(96, 0x400004, &[], &[])].concat(),
            vec![
                Event::control(Kind::AddressSpace, 7),
                fetch(0x40_0000, 1),
                load(0x60_2000, 1),
                load(0x60_3000, 1),
                store(0x60_1000, 1),
                Event::control(Kind::AddressSpace, 0),
                fetch(0x40_0004, 1),
            ],
        ),
        (
            Format::DrMemtrace,
            drmemtrace,
            vec![
                task(0, 99),
                task(98, 99),
                fetch(0x40_0000, 4),
                fetch(0x40_0004, 3),
                fetch(0x40_0007, 5),
                store(0x7fff_0000, 8),
            ],
        ),
    ]
}

#[test]
fn every_format_is_detected_and_read() {
    for (format, bytes, expected) in samples() {
        assert_eq!(parse(&bytes, None).as_ref(), Ok(&expected), "{format:?} detected");
        assert_eq!(parse(&bytes, Some(format)).as_ref(), Ok(&expected), "{format:?} named");
    }
}

#[test]
fn compression_is_seen_through() {
    for (format, bytes, expected) in samples() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&bytes).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&bytes).unwrap();
        let packed = [gz.finish().unwrap(), xz.finish().unwrap(), zstd::encode_all(&bytes[..], 1).unwrap()];
        for (i, packed) in packed.iter().enumerate() {
            assert_eq!(parse(packed, None).as_ref(), Ok(&expected), "{format:?} {i}");
            let cut = parse(&packed[..packed.len() - 3], None);
            assert!(cut.is_err(), "{format:?} {i}: a cut is not seen");
        }
    }
}

#[test]
fn a_cut_is_reported_with_its_place() {
    for (format, bytes, _) in samples() {
        for cut in 0..bytes.len() {
            if let Err(e) = parse(&bytes[..cut], Some(format)) {
                assert!(e.starts_with("trace: "), "{e}");
                assert!(e.contains("byte"), "{format:?} cut at {cut}: {e}");
            }
        }
        let binary = matches!(format, Format::ChampSim | Format::CloudSuite | Format::DrMemtrace);
        let tool = !matches!(format, Format::NativeText | Format::Din);
        if binary || tool {
            let e = parse(&bytes[..bytes.len() - 1], Some(format)).unwrap_err();
            assert!(e.contains("cut"), "{format:?}: {e}");
        }
    }
}

#[test]
fn damage_is_reported_with_place_and_reason() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"I  04001090,3\n L ffffffffffffffff,8\n", &["line 2", "byte 14", "end of the address space"]),
        (b"I  04001090,3\n L 1000,0\n", &["line 2", "0 bytes"]),
        (b"I  04001090,3\n L 1000,99999999999\n", &["line 2", "99999999999 bytes"]),
        (b"I  04001090,3\n L 10zz,8\n", &["line 2", "10zz"]),
        (b"I 1000,4\nR 2000\n", &["line 2", "ADDRESS,SIZE"]),
        (b"I 1000,4\nQ 2000,4\n", &["line 2", "Q 2000,4"]),
        (b"I 1000,4\nA 99999999999\n", &["line 2", "number up to 4294967295"]),
        (b"2 1000\n7 2000\n", &["line 2", "label"]),
        (b"0, 0x1000, 0x90, \"nop\"\n0, 0x1001, 0x90, nop\n", &["line 2", "disassembly"]),
        (b"\x89tlbtrace\x02\n\x00", &["byte 0"]),
        (b"hello world\n", &["byte 0", "hello world", "no known trace format"]),
        (b"2 1000\n0 10000000000000000\n", &["line 2", "at most 64 bits"]),
        (b"", &["empty"]),
    ];
    for (bytes, expected) in cases {
        let error = parse(bytes, None).unwrap_err();
        for word in *expected {
            assert!(error.contains(word), "{error:?} lacks {word:?}");
        }
    }
    // The last address of all can be touched, by one byte.
    assert_eq!(parse(b"R ffffffffffffffff,1\n", None), Ok(vec![load(u64::MAX, 1)]));
}

#[test]
fn endianness_is_recognised() {
    let mut mixed = champsim(64, 0x40_1000, &[], &[0x7fff_1000]);
    let mut swapped = champsim(64, 0x40_1004, &[], &[]);
    swapped[..8].reverse();
    mixed.extend_from_slice(&swapped);
    let error = parse(&mixed, Some(Format::ChampSim)).unwrap_err();
    for word in ["record 2", "byte 64", "big-endian"] {
        assert!(error.contains(word), "{error}");
    }
    // All of it, so that the format is not recognised.
    let mut all = champsim(64, 0x40_1000, &[], &[0x7fff_1000]).repeat(2);
    all.as_chunks_mut::<8>()
        .0
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| i % 8 != 1)
        .for_each(|(_, w)| w.reverse());
    let error = parse(&all, None).unwrap_err();
    for word in ["byte 0", "ChampSim", "big-endian"] {
        assert!(error.contains(word), "{error}");
    }
    let mut entries = [packed(25, 0, 5), packed(10, 4, 0x40_0000)].concat();
    entries.extend_from_slice(&[0, 10, 0, 4, 0, 0, 0, 0, 0, 0x40, 0, 0]);
    let error = parse(&entries, None).unwrap_err();
    for word in ["record 3", "byte 24", "big-endian"] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_gigabyte_of_zeros_costs_nothing() {
    for format in Format::ALL.map(Some).into_iter().chain([None]) {
        let zeros = Box::new(std::io::repeat(0).take(1 << 30));
        let error = match from_read(zeros, "zeros", format) {
            Err(e) => e.to_string(),
            Ok(mut reader) => {
                let mut chunk = Vec::new();
                let mut records = 0u64;
                loop {
                    match reader.read(&mut chunk) {
                        Ok(true) => records += chunk.len() as u64,
                        Ok(false) => panic!("{format:?}: {records} records in zeros"),
                        Err(e) => break e.to_string(),
                    }
                    assert!(records < 1 << 20, "{format:?} reads on");
                }
            }
        };
        assert!(error.starts_with("zeros: "), "{error}");
        assert!(error.contains("byte"), "{format:?}: {error}");
    }
}

fn event() -> impl Strategy<Value = Event> {
    let access =
        (0u32..4, any::<u64>(), prop_oneof![1u32..64, 1u32..(1 << 20)]).prop_map(|(k, addr, size)| {
            let kind = [Kind::Fetch, Kind::Read, Kind::Write, Kind::Modify][k as usize];
            Event::access(kind, addr.min(u64::MAX - u64::from(size)), size)
        });
    let control = (0u32..6, any::<u64>()).prop_map(|(k, n)| match k {
        0 => Event::control(Kind::AddressSpace, n >> 32),
        1 => Event::control(Kind::FlushAll, 0),
        2 => Event::control(Kind::FlushPage, n),
        3 => Event::control(Kind::Sync, 0),
        4 => Event::control(Kind::Phase, n),
        _ => Event::control(Kind::Task, n),
    });
    prop_oneof![8 => access, 1 => control]
}

/// A sink that can be looked at after the writer is gone.
#[derive(Clone, Default)]
struct Shared(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn our_formats_round_trip(events in prop::collection::vec(event(), 1..300), thinned in any::<bool>()) {
        for which in 0..3 {
            let sink = Shared::default();
            let mut writer: Box<dyn TraceWriter> = match which {
                0 => Box::new(TextWriter::new(sink.clone(), thinned).unwrap()),
                1 => Box::new(BinaryWriter::new(sink.clone(), thinned).unwrap()),
                _ => Box::new(CompressedWriter::new(sink.clone(), thinned).unwrap()),
            };
            writer.write(&events).unwrap();
            writer.finish().unwrap();
            let bytes = sink.0.borrow().clone();
            let mut reader = from_read(Box::new(Cursor::new(bytes.clone())), "t", None).unwrap();
            prop_assert_eq!(&read_all(reader.as_mut()).unwrap(), &events);
            prop_assert_eq!(reader.thinned(), thinned);
            if which > 0 {
                let cut = parse(&bytes[..bytes.len() - 1], None);
                prop_assert!(cut.is_err());
            }
        }
    }

    /// No bytes make a reader panic, whatever format they are taken for.
    #[test]
    fn damaged_samples_never_panic(which in 0usize..9, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (format, mut bytes, _) = samples().remove(which);
        let i = at.index(bytes.len());
        bytes[i] = byte;
        let _ = parse(&bytes, Some(format));
        let _ = parse(&bytes, None);
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0usize..10) {
        let _ = parse(&bytes, Some(Format::ALL[which]));
        let _ = parse(&bytes, None);
    }
}

/// Lines that others follow are read in a quicker way than a last one: both must see the same.
#[test]
fn lackey_lines_mean_the_same_wherever_they_stand() {
    let read = |text: &str| {
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        mmu::reader::from_read(source, "test", Some(mmu::reader::Format::Lackey))
            .and_then(|mut reader| mmu::reader::read_all(reader.as_mut()))
            .map_err(|e| e.to_string())
    };
    let after = "I  04001003,5\n L 1ffeffe7d8,8\n S 1ffeffe7d8,8\n";
    let follows = read(after).unwrap();
    let mut good = 0;
    for head in ["I  ", " L ", " S ", " M ", " X ", "I L ", "L  ", "   "] {
        for addr in [
            "",
            "0",
            "0400",
            "04001000",
            "1ffeffe7e0",
            "7fffffffffff",
            "7ffffffffffffff",
            "ffffffffffffffff",
            "0400100g",
            "040010:0",
            "04001000`",
            "0400100A",
            "1FFEFFE7E0",
            "0400,000",
        ] {
            for size in ["0", "1", "8", "16", "32", "64", "512", "", "x", "1x", "8 "] {
                let line = format!("{head}{addr},{size}\n");
                match (read(&line), read(&format!("{line}{after}"))) {
                    (Ok(alone), Ok(followed)) => {
                        good += 1;
                        assert_eq!([alone, follows.clone()].concat(), followed, "{line}");
                    }
                    (alone, followed) => assert_eq!(alone.err(), followed.err(), "{line}"),
                }
            }
        }
    }
    // Four heads, the usual addresses, the usual sizes.
    assert!(good >= 4 * 6 * 6, "{good}");
}
