//! The timed loops: one to three instructions each, pinned down in assembly so that no compiler folds them.
//!
//! | loop | one step | what limits it |
//! | --- | --- | --- |
//! | [`pointer_chain`] | load the next address | load latency |
//! | [`zero_chain`] | load `base + offset[i] + carry`, where the loaded zero is the next carry | load latency |
//! | [`zero_chains`] | the same in `K` independent chains | concurrent misses |
//! | [`store_chain`] | store, fence, load the next address from the same line | one store's translation |
//! | [`store_each`] | store to `base + offset[i]`, fence | one store's translation |
//! | [`time_each`] | fence, time stamp, load, fence, time stamp | one load, alone |
//! | [`multiply_chain`] | dependent multiplication | the core clock |
//!
//! Offsets are in units of [`OFFSET_UNIT`] bytes. Bodies exist for x86-64 and aarch64; elsewhere volatile accesses do
//! the same with a few more instructions per step. The aarch64 bodies have run under emulation only
//! (`scripts/aarch64-emulated`), never on hardware.

#[cfg(target_arch = "aarch64")]
mod aarch64;
pub(crate) mod jump;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use portable::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

/// Bytes per unit of an offset list: the smallest cache line in use.
pub const OFFSET_UNIT: usize = 64;

/// `K` independent zero chains: in each step, chain `j` loads `base + lists[j][i] + carry[j]`. All lists have the same
/// length. Returns the sum of the carries, which is zero.
///
/// # Safety
/// Every `base + offset * OFFSET_UNIT` must be 8 readable bytes, 8-byte aligned, holding zero.
#[inline(never)]
pub unsafe fn zero_chains<const K: usize>(base: *const u8, lists: &[&[u32]; K]) -> u64 {
    let mut carry = [0u64; K];
    let steps = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    for step in 0..steps {
        for (carry, list) in carry.iter_mut().zip(lists) {
            let offset = list[step] as usize * OFFSET_UNIT + *carry as usize;
            // SAFETY: the caller vouches for every offset, and the carry is the zero loaded before.
            *carry = unsafe { base.add(offset).cast::<u64>().read_volatile() };
        }
    }
    carry.iter().fold(0, |sum, &c| sum.wrapping_add(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of 8 lines visited in steps of 3.
    fn ring() -> Vec<u64> {
        let mut words = vec![0u64; 64];
        for i in 0..8 {
            words[i * 8] = (&raw const words[(i + 3) % 8 * 8]) as u64;
        }
        words
    }

    #[test]
    fn the_pointer_chain_follows_every_pointer() {
        let words = ring();
        let start = words.as_ptr().cast::<u8>();
        for steps in [1u64, 2, 7, 8, 9, 64, 1000] {
            // SAFETY: every word the chain loads holds the address of another such word of `words`.
            let end = unsafe { pointer_chain(start, steps) };
            let expected = (steps as usize * 3) % 8 * 64;
            assert_eq!(end as usize - start as usize, expected, "{steps} steps");
        }
    }

    #[test]
    fn the_store_chain_follows_every_pointer_and_stores_behind_it() {
        let mut words = ring();
        let start = words.as_mut_ptr().cast::<u8>();
        // SAFETY: every word the chain loads holds the address of another such word of `words`, with a free one behind.
        let end = unsafe { store_chain(start, 5, 7) };
        assert_eq!(end as usize - start as usize, 5 * 3 % 8 * 64);
        for line in 0..8 {
            // SAFETY: in bounds; volatile because the stores went through a raw pointer.
            let word = unsafe { words.as_ptr().add(line * 8 + 1).read_volatile() };
            let visited = (0..5).any(|step| step * 3 % 8 == line);
            assert_eq!(word, if visited { 7 } else { 0 }, "line {line}");
        }
    }

    #[test]
    fn the_zero_chain_adds_what_it_loads() {
        let mut words = vec![0u64; 64];
        let list = [0u32, 3, 1, 7];
        // SAFETY: all offsets lie in `words`.
        unsafe {
            assert_eq!(zero_chain(words.as_ptr().cast(), &list), 0);
            assert_eq!(zero_chains(words.as_ptr().cast(), &[&list, &list]), 0);
        }
        // A value in the first word moves the second load by that many bytes: the chain is a dependence.
        words[0] = 8;
        words[25] = 0;
        words[3 * 8 + 1] = 16;
        words[8 + 2] = 24;
        words[7 * 8 + 3] = 99;
        // SAFETY: as above; the carries stay below 64 bytes.
        unsafe {
            assert_eq!(zero_chain(words.as_ptr().cast(), &list), 99);
        }
    }

    #[test]
    fn stores_reach_every_line_and_each_load_is_timed() {
        let words = vec![0u64; 64];
        let list = [1u32, 4, 6];
        let mut times = [0u32; 3];
        // SAFETY: all offsets lie in `words`, which nothing else reads meanwhile.
        unsafe {
            store_each(words.as_ptr().cast_mut().cast(), &list, 5);
            time_each(words.as_ptr().cast(), &list, &mut times);
        }
        for line in 0..8 {
            // SAFETY: in bounds; volatile because the stores went through a raw pointer.
            let word = unsafe { words.as_ptr().add(line * 8).read_volatile() };
            assert_eq!(word, if list.contains(&(line as u32)) { 5 } else { 0 });
        }
        if EACH_ACCESS_CLOCK {
            assert!(times.iter().any(|&t| t > 0));
        }
    }
}
