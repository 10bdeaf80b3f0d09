//! What launching costs: the time of a program that does nothing, taken the same way as the commands'.

use std::ffi::OsString;

use harness::{RunEnd, TinyProgram};
use serde::Serialize;

use super::runner::{Runner, Stream};
use super::subject::Subject;

/// Runs of the empty program.
const RUNS: u32 = 21;

/// The launch cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Floor {
    /// Median wall time of an empty static program, ns.
    pub launch_ns: f64,
    /// The quickest of them, ns.
    pub least_ns: f64,
    /// Cost of one reading of the clock, ns.
    pub timer_ns: f64,
}

impl Floor {
    /// Measures it with the counters attached; `None` where there is no empty program for this architecture.
    pub fn measure(runner: &mut Runner<'_>) -> anyhow::Result<Option<Floor>> {
        let Ok(tiny) = TinyProgram::write_to(runner.coordinator.scratch().path()) else { return Ok(None) };
        let subject = Subject {
            name: "nothing".into(),
            command: "nothing".into(),
            arguments: vec![OsString::from("nothing")],
            program: tiny.path().to_owned(),
            parameters: Vec::new(),
            origin: 0,
        };
        // Streams of the user's would be opened (and files emptied) for nothing.
        let streams = [Stream::Null, Stream::Null];
        let [stdin, stdout] = streams;
        let kept = (
            std::mem::replace(&mut runner.policy.stdin, stdin),
            std::mem::replace(&mut runner.policy.stdout, stdout),
        );
        let walls: anyhow::Result<Vec<f64>> = (0..RUNS)
            .filter_map(|slot| match runner.run(&subject, 0, slot) {
                Ok(run) if run.finished.end == RunEnd::Exited(0) => Some(Ok(run.finished.wall_ns)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
            .collect();
        (runner.policy.stdin, runner.policy.stdout) = kept;
        let mut walls = walls?;
        if walls.is_empty() {
            return Ok(None);
        }
        let launch_ns = median(&mut walls);
        Ok(Some(Floor { launch_ns, least_ns: walls[0], timer_ns: runner.clock.cost_ns }))
    }

    /// A wall time as short as an empty program's quickest. (Of its median would not do: on a busy machine that hides
    /// the quick half of the runs of a short command and keeps the slow half.)
    pub fn hides(&self, wall_ns: f64) -> bool {
        wall_ns <= 1.05 * self.least_ns
    }
}

/// The median; 0 of nothing.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}
