//! Memory for bandwidth loops, and the sweep of a loop through it.

use harness::Stop;

use super::kernel::{By, Kernel, STEP};
use crate::vm::Mapping;

/// Bytes of each array that one call of a loop works on.
const CHUNK: usize = 64 << 10;
/// Alignment that allows huge pages of the usual size.
const ALIGN: usize = 2 << 20;

/// Populated memory, in huge pages where the machine gives them for the asking.
pub(super) struct Buffers {
    map: Mapping,
}

impl Buffers {
    /// `bytes` of zeros.
    pub(super) fn new(bytes: u64) -> Result<Buffers, Stop> {
        let bytes = usize::try_from(bytes).map_err(|_| Stop::skip("more memory than there are addresses"))?;
        let map = Mapping::anonymous(bytes, ALIGN)?;
        // Without it the machine's own setting decides; the record says what came of it.
        map.advise(0, bytes, libc::MADV_HUGEPAGE, "madvise(MADV_HUGEPAGE)").ok();
        map.populate();
        Ok(Buffers { map })
    }

    /// Start of the memory.
    pub(super) fn address(&self) -> usize {
        self.map.address()
    }

    /// A sweep of `kernel`, whose arrays share all of the memory.
    pub(super) fn sweep(&self, kernel: Kernel) -> Sweep<'_> {
        let share = self.map.bytes() / kernel.work.arrays();
        // The C library chooses its way by the size of a call: it is given all at once, as by who copies much.
        let chunk = if kernel.by == By::Libc { share } else { CHUNK.min(share) } / STEP * STEP;
        Sweep { buffers: self, kernel, chunk, length: share / chunk * chunk, at: 0 }
    }
}

/// A loop that goes on through its arrays from call to call, and begins anew at their end.
pub(super) struct Sweep<'b> {
    buffers: &'b Buffers,
    kernel: Kernel,
    chunk: usize,
    length: usize,
    at: usize,
}

impl Sweep<'_> {
    /// Works on the next chunk; returns the bytes counted.
    #[inline]
    pub(super) fn step(&mut self) -> u64 {
        let last = self.kernel.work.arrays() - 1;
        let array =
            |index: usize| (self.buffers.map.address() + index.min(last) * self.length + self.at) as *mut u8;
        // SAFETY: arrays of `length` lie side by side in the mapping, `at + chunk <= length`; a loop of one array uses
        // only one of the three pointers. Chunks are multiples of STEP from an aligned start.
        let went = unsafe { (self.kernel.run)(array(0), array(1), array(2), self.chunk) };
        self.at += self.chunk;
        if self.at == self.length {
            self.at = 0;
        }
        went as u64 * self.kernel.work.counted()
    }
}

#[cfg(test)]
mod tests {
    use super::super::instructions::kernels;
    use super::*;

    #[test]
    fn sweeps_go_beyond_four_gibibytes_and_wrap() {
        for kernel in kernels().into_iter().filter(|kernel| kernel.work.arrays() == 1).take(1) {
            // Never populated: reads see the zero page.
            let buffers = Buffers { map: Mapping::anonymous((4 << 30) + 3 * CHUNK, ALIGN).unwrap() };
            let mut sweep = buffers.sweep(kernel);
            sweep.at = 4 << 30;
            for _ in 0..3 {
                assert_eq!(sweep.step(), CHUNK as u64);
            }
            assert_eq!(sweep.at, 0);
        }
    }
}
