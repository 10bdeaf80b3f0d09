//! CPU affinity with masks of any size, always read back.

use std::io;

/// CPUs this thread may run on, ascending. The mask grows until the kernel accepts it (hosts with over 1024 CPUs).
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let mut words = 16usize;
    loop {
        let mut mask = vec![0u64; words];
        // SAFETY: mask is words*8 writable bytes, as the length says.
        let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words * 8, mask.as_mut_ptr()) };
        if got >= 0 {
            return Ok((0..words * 64).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || words >= 1 << 14 {
            return Err(error);
        }
        words *= 2;
    }
}

/// Pins the calling thread to `cpus` and reads the mask back; an error says what is in force instead.
pub fn pin_to(cpus: &[usize]) -> Result<(), String> {
    let highest = cpus.iter().copied().max().ok_or("no CPU to pin to")?;
    let mut mask = vec![0u64; (highest / 64 + 1).max(16)];
    for &cpu in cpus {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: mask is readable for the length given.
    let set = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len() * 8, mask.as_ptr()) };
    if set != 0 {
        return Err(format!("pinning to CPU {cpus:?} refused: {}", io::Error::last_os_error()));
    }
    let in_force = allowed_cpus().map_err(|e| format!("pinning can't be read back: {e}"))?;
    let mut wanted = cpus.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    if in_force == wanted {
        Ok(())
    } else {
        Err(format!("pinning not honoured: asked for CPU {wanted:?}, in force {in_force:?}"))
    }
}

/// The CPU this thread is on now, or -1 where the kernel can't say.
#[inline]
pub fn current_cpu() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::sched_getcpu() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinning_is_read_back_and_refusals_are_told() {
        std::thread::spawn(|| {
            let allowed = allowed_cpus().unwrap();
            pin_to(&allowed[..1]).unwrap();
            assert_eq!(allowed_cpus().unwrap(), &allowed[..1]);
            assert_eq!(current_cpu(), allowed[0] as i32);
            assert!(pin_to(&[100_000]).unwrap_err().contains("refused"));
        })
        .join()
        .unwrap();
    }
}
