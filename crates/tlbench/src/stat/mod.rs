//! `stat`: any command as a subject: what is run, how a run is made, how runs become lines of a record, what is shown.

pub mod delta;
pub mod export;
pub mod floor;
pub mod hooks;
pub mod json;
pub mod lines;
pub mod mix;
pub mod profile;
pub mod rounds;
pub mod runner;
pub mod screen;
pub mod subject;
pub mod summary;
