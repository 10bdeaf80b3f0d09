//! tlbench: measures, compares and explains what a machine costs.
fn main() {}
