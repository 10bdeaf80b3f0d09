//! What the screen can do.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// True when standard error may show a moving progress line.
pub fn shows_progress() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none()
        && std::env::var("TERM").map_or(true, |term| term != "dumb")
}

/// A progress line on standard error, redrawn only between invocations so that drawing never disturbs a sample;
/// silent where standard error is not a terminal.
pub fn progress(length: u64) -> ProgressBar {
    let target = if shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
