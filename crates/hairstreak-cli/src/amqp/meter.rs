//! `Meter`: how far a command is, on standard error: a line that changes on a terminal, else a line a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::numbers::{grouped, rate};
use crate::output::note;
use crate::when::When;

const BAR_INTERVAL: Duration = Duration::from_millis(100);
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// How far it is, if that is shown.
pub struct Meter {
    began: Instant,
    next: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Meter {
    pub fn start(when: When) -> Meter {
        let has_terminal = std::io::stderr().is_terminal();
        let is_shown = match when {
            When::Never => false,
            When::Always => true,
            When::Auto => has_terminal && !std::io::stdout().is_terminal(),
        };
        let began = Instant::now();
        Meter {
            began,
            // A command that is done at once shows nothing.
            next: is_shown.then(|| began + LINE_INTERVAL),
            bar: (is_shown && has_terminal).then(ProgressBar::new_spinner),
        }
    }

    /// When to show something next.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Shows it, if it is time: how many messages are done, and what else there is to say.
    pub fn show(&mut self, done: u64, what: &str, rest: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        let elapsed_s = now.duration_since(self.began).as_secs_f64();
        let per_s = rate(Some(done as f64 / elapsed_s.max(1e-9)));
        let line = format!("{} {what}, {per_s}/s{}", grouped(done), rest());
        match &self.bar {
            Some(bar) => {
                bar.set_message(line);
                bar.tick();
            }
            None => note(&format!("{line}\n")),
        }
        self.next = Some(now + if self.bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL });
    }

    /// Takes the line away, for what is printed next.
    pub fn finish(&mut self) {
        self.next = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
