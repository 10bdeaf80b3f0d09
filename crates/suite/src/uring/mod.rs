//! io_uring against epoll.

mod nop;
mod pipe_read;

use harness::prelude::*;
use io_uring::IoUring;

/// The section's benchmarks.
pub fn benchmarks() -> Vec<Benchmark> {
    let mut all = nop::benchmarks();
    all.extend(pipe_read::benchmarks());
    all
}

/// A ring of eight entries; `defer` asks for IORING_SETUP_DEFER_TASKRUN (Linux 6.1), which runs completion work only
/// when this thread waits for completions. A skip where io_uring is denied, disabled, or too old.
fn ring(defer: bool) -> Result<IoUring, Stop> {
    let mut builder = IoUring::builder();
    if defer {
        builder.setup_single_issuer().setup_defer_taskrun();
    }
    builder.build(8).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => Stop::skip(format!("this kernel's io_uring lacks DEFER_TASKRUN: {error}")),
        _ => Stop::unavailable("io_uring_setup", &error),
    })
}
