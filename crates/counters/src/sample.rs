//! Where a command spends its time: samples of the software clock, which needs no PMU.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use perf_event_open_sys as perf;
use perf_event_open_sys::bindings as sys;

/// Samples per second and CPU.
const FREQUENCY: u64 = 997;
/// Pages of a ring: the first that the lock limit allows is taken (128 is what any user gets per CPU).
const PAGES: [usize; 2] = [1024, 128];

/// What the kernel noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The clock fired.
    Sample {
        /// Address executed.
        address: u64,
        /// Process.
        pid: u32,
        /// Whether it was in the kernel.
        kernel: bool,
    },
    /// A process mapped a file to execute.
    Map {
        /// Process.
        pid: u32,
        /// First address.
        start: u64,
        /// Bytes.
        length: u64,
        /// Offset in the file.
        offset: u64,
        /// The file.
        path: String,
    },
    /// A process was forked and has its parent's mappings.
    Fork {
        /// The child.
        pid: u32,
        /// Its parent.
        parent: u32,
    },
    /// So many notes found no place in the ring.
    Lost(u64),
}

/// A sampler attached to a process that has not started yet.
pub struct Sampler {
    rings: Vec<Ring>,
    /// False where only user mode may be sampled.
    pub sees_kernel: bool,
}

struct Ring {
    // Closed after the mapping is gone.
    _event: OwnedFd,
    base: NonNull<u8>,
    length: usize,
}

impl Sampler {
    /// Attaches to process `pid` on each of `cpus`, from its next exec on, descendants included.
    pub fn attach(pid: i32, cpus: &[usize]) -> io::Result<Self> {
        let attach = |kernel: bool| -> io::Result<Vec<Ring>> {
            cpus.iter().map(|&cpu| Ring::open(pid, cpu as i32, kernel)).collect()
        };
        match attach(true) {
            Ok(rings) => Ok(Sampler { rings, sees_kernel: true }),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Sampler { rings: attach(false)?, sees_kernel: false })
            }
            Err(error) => Err(error),
        }
    }

    /// Everything noted, in order of time. Call once, after the process ended.
    pub fn notes(&self) -> Vec<Note> {
        let mut timed: Vec<(u64, Note)> = self.rings.iter().flat_map(|ring| notes(&ring.bytes())).collect();
        timed.sort_by_key(|(time, _)| *time);
        timed.into_iter().map(|(_, note)| note).collect()
    }
}

impl Ring {
    fn open(pid: i32, cpu: i32, kernel: bool) -> io::Result<Self> {
        let mut attr = sys::perf_event_attr::default();
        attr.type_ = sys::PERF_TYPE_SOFTWARE;
        attr.size = size_of::<sys::perf_event_attr>() as u32;
        attr.config = u64::from(sys::PERF_COUNT_SW_CPU_CLOCK);
        attr.sample_type = u64::from(sys::PERF_SAMPLE_IP)
            | u64::from(sys::PERF_SAMPLE_TID)
            | u64::from(sys::PERF_SAMPLE_TIME);
        attr.__bindgen_anon_1.sample_freq = FREQUENCY;
        attr.set_freq(1);
        attr.set_disabled(1);
        attr.set_enable_on_exec(1);
        attr.set_inherit(1);
        attr.set_mmap(1);
        attr.set_mmap2(1);
        attr.set_task(1);
        attr.set_sample_id_all(1);
        attr.set_exclude_hv(1);
        attr.set_exclude_kernel((!kernel).into());
        let flags = u64::from(sys::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: attr is a valid perf_event_attr of the size it states; the call only reads it (and may write `size`).
        let fd = unsafe { perf::perf_event_open(&mut attr, pid, cpu, -1, flags as _) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: fd was just opened and is owned by nobody else.
        let event = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: sysconf has no memory operands.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize;
        let mut refused = io::Error::from_raw_os_error(libc::ENOMEM);
        for pages in PAGES {
            let length = (1 + pages) * page;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at an address of the kernel's choice.
            let base = unsafe {
                libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, event.as_raw_fd(), 0)
            };
            match NonNull::new(base.cast::<u8>()) {
                Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => {
                    return Ok(Ring { _event: event, base, length });
                }
                _ => refused = io::Error::last_os_error(),
            }
        }
        Err(refused)
    }

    /// What the ring holds, unwrapped.
    fn bytes(&self) -> Vec<u8> {
        let page = self.base.cast::<sys::perf_event_mmap_page>();
        // SAFETY: the mapping begins with this structure, which the kernel keeps valid; head is read once, and the
        // fence orders it before the data, as perf_event_open(2) asks.
        let (head, start, size) = unsafe {
            let page = page.as_ptr();
            let head = std::ptr::read_volatile(&raw const (*page).data_head);
            (head, (*page).data_offset as usize, (*page).data_size as usize)
        };
        fence(Ordering::Acquire);
        if size == 0 || start + size > self.length {
            return Vec::new();
        }
        // Without a reader the kernel stops writing at a full ring, so nothing up to head is overwritten.
        let held = (head as usize).min(size);
        // SAFETY: start + held lies within the mapping, checked above; the kernel no longer writes there.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(start), held) }.to_vec()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `open`, to which no reference is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Reads the records of a ring, with their times. A damaged record ends it.
fn notes(bytes: &[u8]) -> Vec<(u64, Note)> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let (Some(kind), Some(misc), Some(size)) = (word32(rest, 0), half(rest, 4), half(rest, 6)) {
        let size = usize::from(size);
        let Some(record) = rest.get(..size).filter(|_| size >= 8) else { break };
        found.extend(note(kind, misc, record));
        rest = &rest[size..];
    }
    found
}

fn note(kind: u32, misc: u16, record: &[u8]) -> Option<(u64, Note)> {
    // What is no sample ends with process, thread and time (`sample_id_all`).
    let trailer = word64(record, record.len().checked_sub(8)?);
    Some(match kind {
        sys::PERF_RECORD_SAMPLE => {
            let kernel = u32::from(misc) & sys::PERF_RECORD_MISC_CPUMODE_MASK == sys::PERF_RECORD_MISC_KERNEL;
            let note = Note::Sample { address: word64(record, 8)?, pid: word32(record, 16)?, kernel };
            (word64(record, 24)?, note)
        }
        sys::PERF_RECORD_MMAP2 => {
            let name = record.get(72..record.len().checked_sub(16)?)?;
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
            let note = Note::Map {
                pid: word32(record, 8)?,
                start: word64(record, 16)?,
                length: word64(record, 24)?,
                offset: word64(record, 32)?,
                path: String::from_utf8_lossy(&name[..end]).into_owned(),
            };
            (trailer?, note)
        }
        sys::PERF_RECORD_FORK => {
            (word64(record, 24)?, Note::Fork { pid: word32(record, 8)?, parent: word32(record, 12)? })
        }
        sys::PERF_RECORD_LOST => (trailer?, Note::Lost(word64(record, 16)?)),
        _ => return None,
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with its header.
    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend((8 + body.len() as u16).to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn records_are_read_and_damaged_ones_end_the_reading() {
        let pair = |a: u32, b: u32| {
            u64::from_ne_bytes([a.to_ne_bytes(), b.to_ne_bytes()].concat().try_into().unwrap())
        };
        let mut map = words(&[pair(7, 7), 0x40_0000, 0x1000, 0x2000, 0, 0, 0, 0]);
        map.extend(b"/bin/x\0\0");
        map.extend(words(&[pair(7, 7), 50]));
        let mut ring = record(sys::PERF_RECORD_MMAP2, 2, &map);
        ring.extend(record(sys::PERF_RECORD_SAMPLE, 2, &words(&[0x40_0123, pair(7, 7), 60])));
        ring.extend(record(sys::PERF_RECORD_SAMPLE, 1, &words(&[u64::MAX, pair(7, 7), 70])));
        ring.extend(record(sys::PERF_RECORD_FORK, 0, &words(&[pair(8, 7), pair(8, 7), 80, pair(8, 8), 80])));
        ring.extend(record(sys::PERF_RECORD_LOST, 0, &words(&[1, 5, pair(7, 7), 90])));
        let found = notes(&ring);
        let times: Vec<u64> = found.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, [50, 60, 70, 80, 90]);
        assert!(matches!(&found[0].1, Note::Map { pid: 7, offset: 0x2000, path, .. } if path == "/bin/x"));
        assert_eq!(found[1].1, Note::Sample { address: 0x40_0123, pid: 7, kernel: false });
        assert!(matches!(found[2].1, Note::Sample { kernel: true, .. }));
        assert_eq!(found[3].1, Note::Fork { pid: 8, parent: 7 });
        assert_eq!(found[4].1, Note::Lost(5));
        // A record of no length, or cut off, ends it.
        for cut in [ring.len() - 1, 9, 7] {
            assert!(notes(&ring[..cut]).len() < 5);
        }
        assert!(notes(&[0u8; 64]).is_empty());
    }
}
