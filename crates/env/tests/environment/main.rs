//! The environment of machines that are directories of fixtures, and of this one.

mod collect;
mod fixture;
mod surroundings;
mod topology;
mod watch;
