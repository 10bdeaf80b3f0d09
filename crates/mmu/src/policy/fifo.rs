//! Round robin.

use crate::machine::Pointer;

/// One pointer per set, or one for all sets; it starts at way 0 and moves only when it names a victim.
/// Flushes do not reset it.
pub struct Fifo {
    ways: Vec<u32>,
    next: Vec<u32>,
    global: bool,
}

impl Fifo {
    pub(super) fn new(ways: &[u32], pointer: Pointer) -> Self {
        Fifo { ways: ways.to_vec(), next: vec![0; ways.len()], global: pointer == Pointer::Global }
    }

    #[inline]
    pub(super) fn victim(&mut self, set: usize) -> usize {
        let ways = self.ways[set];
        let pointer = &mut self.next[if self.global { 0 } else { set }];
        // A shared pointer may stand past the end of a set that has fewer ways than others.
        let way = if *pointer < ways { *pointer } else { 0 };
        *pointer = if way + 1 < ways { way + 1 } else { 0 };
        way as usize
    }
}
