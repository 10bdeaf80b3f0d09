//! Several pointers that walk one ring at once.

/// `K` pointers advanced in turn, `steps` times each.
///
/// # Safety
/// Every pointer must lie on a ring of pointers.
#[inline(never)]
pub unsafe fn walk_together<const K: usize>(at: &mut [*const u8; K], steps: u64) {
    for _ in 0..steps {
        for at in at.iter_mut() {
            // SAFETY: each address on a ring holds the next one.
            *at = unsafe { at.cast::<*const u8>().read_volatile() };
        }
    }
}
