//! Idle states: which there are, and holding the deep ones off.

use std::fs::{File, OpenOptions};
use std::io::Write;

use environment::Root;
use harness::Stop;

/// While it lives, CPUs don't enter idle states with an exit latency above 0 µs. The kernel ends the request with the
/// descriptor, so also when the process is killed (`Documentation/power/pm_qos_interface.rst`).
pub struct HoldOff {
    _request: File,
}

impl HoldOff {
    /// Requests it; a skip where there are no idle states to hold off or the request is not permitted.
    pub fn request() -> Result<Self, Stop> {
        let root = Root::host();
        if !root.exists("/sys/devices/system/cpu/cpu0/cpuidle/state1") {
            return Err(Stop::skip(
                "the kernel manages no idle states here (no cpuidle): nothing to hold off",
            ));
        }
        let mut request = OpenOptions::new()
            .write(true)
            .open(root.path("/dev/cpu_dma_latency"))
            .map_err(|e| Stop::unavailable("/dev/cpu_dma_latency", &e))?;
        request.write_all(&0i32.to_ne_bytes()).map_err(|e| Stop::unavailable("/dev/cpu_dma_latency", &e))?;
        Ok(HoldOff { _request: request })
    }
}

/// The cpuidle driver, or `none`.
pub fn driver() -> String {
    Root::host().text("/sys/devices/system/cpu/cpuidle/current_driver").unwrap_or_else(|_| "unknown".into())
}
