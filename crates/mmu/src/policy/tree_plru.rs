//! Tree pseudo-LRU.

/// A binary tree of bits over the ways of a set. A touch makes every node on its path point to the other
/// half; the victim is found by following the bits. Ways that are no power of two give an uneven tree.
pub struct TreePlru {
    ways: Vec<u32>,
    nodes: usize,
    right: Vec<bool>,
}

impl TreePlru {
    pub(super) fn new(ways: &[u32]) -> Self {
        let widest = ways.iter().copied().max().unwrap_or(1).max(1);
        let nodes = 2 * widest.next_power_of_two() as usize;
        TreePlru { ways: ways.to_vec(), nodes, right: vec![false; nodes * ways.len()] }
    }

    pub(super) fn touch(&mut self, set: usize, way: usize) {
        let bits = &mut self.right[set * self.nodes..(set + 1) * self.nodes];
        let (mut low, mut high, mut node) = (0, self.ways[set] as usize, 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            let in_right = way >= middle;
            bits[node] = !in_right;
            (low, high) = if in_right { (middle, high) } else { (low, middle) };
            node = 2 * node + usize::from(in_right);
        }
    }

    pub(super) fn victim(&mut self, set: usize) -> usize {
        let bits = &self.right[set * self.nodes..(set + 1) * self.nodes];
        let (mut low, mut high, mut node) = (0, self.ways[set] as usize, 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            let right = bits[node];
            (low, high) = if right { (middle, high) } else { (low, middle) };
            node = 2 * node + usize::from(right);
        }
        low
    }
}
