//! The CPU before others, where that is allowed: `SCHED_FIFO` (sched(7)).

/// This thread at the lowest real-time priority; the former policy is back when it is dropped. Nothing may be started meanwhile:
/// it would inherit the priority. (`SCHED_RESET_ON_FORK` would see to that, but who lacks CAP_SYS_NICE can't take it back, and
/// the thread would stay as it is.)
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
            let raised = libc::sched_setscheduler(0, libc::SCHED_FIFO, &wanted) == 0;
            raised.then_some(Urgent { policy, parameter })
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        // SAFETY: as in `start`; lowering one's own priority is always allowed.
        unsafe { libc::sched_setscheduler(0, self.policy, &self.parameter) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also for a user who may raise the priority by RLIMIT_RTPRIO alone.
    #[test]
    fn the_former_policy_is_back() {
        // SAFETY: asks only for the policy of this thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        if let Some(urgent) = Urgent::start() {
            assert_eq!(policy(), libc::SCHED_FIFO);
            drop(urgent);
        }
        assert_eq!(policy(), before);
    }
}
