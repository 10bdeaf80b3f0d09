//! Context switches as the kernel counts them.

/// Both kinds so far, of `RUSAGE_THREAD`, `RUSAGE_SELF` or `RUSAGE_CHILDREN` (those reaped).
pub fn all(who: i32) -> u64 {
    let usage = usage(who);
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}

/// How often the calling thread has given up its CPU by itself.
pub fn voluntary() -> u64 {
    usage(libc::RUSAGE_THREAD).ru_nvcsw as u64
}

fn usage(who: i32) -> libc::rusage {
    // SAFETY: an all-zero rusage is valid, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    }
}
