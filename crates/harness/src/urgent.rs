//! The CPU before others, where that is allowed: `SCHED_FIFO` (sched(7)).

/// This thread at the lowest real-time priority; the former policy is back when it is dropped. What it starts has the usual
/// one.
pub struct Urgent {
    policy: libc::c_int,
    parameter: libc::sched_param,
}

impl Urgent {
    /// `None` where it is not allowed.
    pub fn start() -> Option<Urgent> {
        // SAFETY: the parameters are valid structures of this thread's own.
        unsafe {
            let mut parameter: libc::sched_param = std::mem::zeroed();
            let policy = libc::sched_getscheduler(0);
            if policy < 0 || libc::sched_getparam(0, &mut parameter) != 0 {
                return None;
            }
            let mut wanted: libc::sched_param = std::mem::zeroed();
            wanted.sched_priority = libc::sched_get_priority_min(libc::SCHED_FIFO);
            let fifo = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
            (libc::sched_setscheduler(0, fifo, &wanted) == 0).then_some(Urgent { policy, parameter })
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        // SAFETY: as in `start`; lowering one's own priority is always allowed.
        unsafe { libc::sched_setscheduler(0, self.policy, &self.parameter) };
    }
}
