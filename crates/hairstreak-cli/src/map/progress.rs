//! `Shown`: the progress of the work, on standard error: a line that changes on a terminal, else a line a second.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hairstreak_process::Counts;
use indicatif::{ProgressBar, ProgressStyle};

use crate::numbers::{When, grouped, rate, time};
use crate::output::note;

const BAR_INTERVAL: Duration = Duration::from_millis(100);
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// The thread that shows the progress, if it is shown.
pub struct Shown(Option<(Arc<AtomicBool>, JoinHandle<()>)>);

impl Shown {
    /// Starts to show the progress. `bytes_total` is the size of the input, if it is known.
    pub fn start(when: When, counts: &Arc<Counts>, bytes_total: Option<u64>) -> std::io::Result<Shown> {
        let has_terminal = std::io::stderr().is_terminal();
        let is_shown = match when {
            When::Never => false,
            When::Always => true,
            When::Auto => has_terminal && !std::io::stdout().is_terminal(),
        };
        if !is_shown {
            return Ok(Shown(None));
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let look = Look {
            counts: Arc::clone(counts),
            bytes_total,
            began: Instant::now(),
            is_over: Arc::clone(&is_over),
        };
        let thread = thread::Builder::new()
            .name("progress".into())
            .spawn(move || if has_terminal { look.show_bar() } else { look.show_lines() })?;
        Ok(Shown(Some((is_over, thread))))
    }

    /// Ends the progress: shows the result.
    pub fn finish(self) {
        if let Shown(Some((is_over, thread))) = self {
            is_over.store(true, Ordering::Release);
            thread.thread().unpark();
            // A panic in the thread has been reported.
            let _ = thread.join();
        }
    }
}

struct Look {
    counts: Arc<Counts>,
    bytes_total: Option<u64>,
    began: Instant,
    is_over: Arc<AtomicBool>,
}

impl Look {
    fn show_lines(&self) {
        while !self.wait(LINE_INTERVAL) {
            note(&format!("{}\n", self.line()));
        }
        note(&format!("{}\n", self.line()));
    }

    fn show_bar(&self) {
        let bar = ProgressBar::no_length();
        // INVARIANT: indicatif accepts this template.
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a template of this file"));
        while !self.wait(BAR_INTERVAL) {
            bar.set_message(self.line());
            bar.tick();
        }
        bar.finish_and_clear();
    }

    /// Returns `true` if the work is over.
    fn wait(&self, interval: Duration) -> bool {
        let deadline = Instant::now() + interval;
        while !self.is_over.load(Ordering::Acquire) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::park_timeout(left);
        }
        true
    }

    fn line(&self) -> String {
        let of = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let (done, records) = (of(&self.counts.done), of(&self.counts.records));
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let mut line = format!(
            "{} done, {}/s, {} in flight, {} redone, {} failed",
            grouped(done),
            rate(Some(done as f64 / elapsed_s.max(1e-9))),
            grouped(records.saturating_sub(done)),
            grouped(of(&self.counts.redone)),
            grouped(of(&self.counts.failed)),
        );
        if let Some(left_s) = self.left_s(done, records, elapsed_s) {
            line.push_str(&format!(", {} left", time(left_s.round())));
        }
        line
    }

    /// The remaining time, on the assumption that the other records are like the records read so far.
    fn left_s(&self, done: u64, records: u64, elapsed_s: f64) -> Option<f64> {
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        let total = self.bytes_total? as f64;
        let is_known = done > 0 && records > 0 && bytes > 0;
        let share_done = bytes as f64 / total * (done as f64 / records as f64);
        is_known.then(|| (elapsed_s * (1.0 / share_done.max(1e-9) - 1.0)).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let counts = Arc::new(Counts::default());
        let look = |bytes_total| Look {
            counts: Arc::clone(&counts),
            bytes_total,
            began: Instant::now(),
            is_over: Arc::default(),
        };
        assert_eq!(look(Some(1000)).left_s(0, 0, 1.0), None);
        counts.bytes.store(500, Ordering::Relaxed);
        assert_eq!(look(Some(1000)).left_s(50, 100, 10.0), Some(30.0));
        assert_eq!(look(None).left_s(50, 100, 10.0), None);
        assert_eq!(look(Some(0)).left_s(1, 1, 1.0), Some(0.0));
    }
}
