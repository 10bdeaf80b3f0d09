//! Waiting for other processes and threads of a benchmark to be at work.

use std::thread;
use std::time::{Duration, Instant};

/// Waits until `condition` holds, at most 10 s; whether it does.
pub fn becomes(condition: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while !condition() {
        if since.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    true
}
