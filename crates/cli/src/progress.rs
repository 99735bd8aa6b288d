//! A line that says what takes long, on a terminal only.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oneir::runtime::Steps;

use crate::show::terminal_width;

/// What takes less says nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// From one drawing to the next.
const BEAT: Duration = Duration::from_millis(200);

/// Characters of the bar.
const BAR: usize = 12;

/// Work that is under way; dropping it ends the line.
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// `so_far` says how much is done, where that is known.
    pub(crate) fn begin(
        what: String,
        quiet: bool,
        so_far: impl Fn() -> Option<Share> + Send + 'static,
    ) -> Progress {
        if quiet || !io::stderr().is_terminal() {
            return Progress { running: None };
        }
        let (end, ended) = channel::<()>();
        let draw = move || {
            let began = Instant::now();
            let mut wait = PATIENCE;
            let mut drawn = 0;
            // Ends when the sender is dropped.
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = BEAT;
                let line = line(&what, so_far(), began.elapsed(), terminal_width());
                drawn = line.chars().count();
                let mut out = io::stderr().lock();
                _ = write!(out, "\r{line}").and_then(|()| out.flush());
            }
            if drawn > 0 {
                let mut out = io::stderr().lock();
                _ = write!(out, "\r{}\r", " ".repeat(drawn)).and_then(|()| out.flush());
            }
        };
        // Without a thread to draw it there is no line, and the work goes on.
        let running = std::thread::Builder::new().name("progress".into()).spawn(draw).ok();
        Progress { running: running.map(|thread| (end, thread)) }
    }
}

impl Progress {
    /// Whether somebody is told.
    pub(crate) fn is_shown(&self) -> bool {
        self.running.is_some()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.running.take() {
            drop(end);
            // A thread that fell over has drawn what it could.
            _ = thread.join();
        }
    }
}

/// Steps that are done, of those that are known of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) done: usize,
    pub(crate) all: usize,
    /// What the steps are.
    pub(crate) steps: &'static str,
}

impl Share {
    pub(crate) fn of(counted: &Steps, steps: &'static str) -> Option<Share> {
        counted.so_far().map(|(done, all)| Share { done, all, steps })
    }
}

/// A bar that fills, and the steps that are done.
impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Share { done, all, steps } = self;
        let full = (*done).min(*all) * BAR / (*all).max(1);
        write!(f, "[{}{}] {done} of {all} {steps}", "=".repeat(full), " ".repeat(BAR - full))
    }
}

/// How much is done, what and for how long. Where that is not known, or all
/// known steps are done, a mark goes to and fro in the bar.
fn line(what: &str, so_far: Option<Share>, passed: Duration, width: usize) -> String {
    let (before, after) = match so_far {
        Some(share) if share.done < share.all => (share.to_string(), String::new()),
        known => {
            let beat = (passed.as_millis() / BEAT.as_millis()) as usize % (2 * (BAR - 1));
            let at = beat.min(2 * (BAR - 1) - beat);
            let bar: String = (0..BAR).map(|i| if i == at { '=' } else { ' ' }).collect();
            (
                format!("[{bar}]"),
                known.map_or(String::new(), |share| format!(", {} {}", share.all, share.steps)),
            )
        }
    };
    let comma = if before.ends_with(']') { "" } else { "," };
    let line = format!("{before}{comma} {what}{after}, {:.0} s", passed.as_secs_f64());
    // A line that wraps could not be drawn over.
    line.chars().take(width.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_plain_and_keeps_to_the_width() {
        let at = |beats: u32| line("loading x.onnx", None, BEAT * beats, 80);
        assert_eq!(at(5), "[     =      ] loading x.onnx, 1 s");
        assert_eq!(at(11), "[           =] loading x.onnx, 2 s");
        assert_eq!(at(21), "[ =          ] loading x.onnx, 4 s");
        assert_eq!(line("loading", None, BEAT, 8).chars().count(), 7);
        assert!(!at(7).contains('\x1b'));
    }

    #[test]
    fn the_line_says_how_much_is_done() {
        let share = |done, all| Share { done, all, steps: "nodes read" };
        let at = |done: usize| line("loading x.onnx", Some(share(done, 200)), BEAT * 10, 80);
        assert_eq!(at(0), "[            ] 0 of 200 nodes read, loading x.onnx, 2 s");
        assert_eq!(at(150), "[=========   ] 150 of 200 nodes read, loading x.onnx, 2 s");
        assert_eq!(at(199), "[=========== ] 199 of 200 nodes read, loading x.onnx, 2 s");
        assert_eq!(at(200), "[          = ] loading x.onnx, 200 nodes read, 2 s");
        assert_eq!(share(3, 0).to_string(), "[            ] 3 of 0 nodes read");
    }
}
