//! `Meter`: the progress of a command on standard error: on a terminal a line that changes, else a line a second.
//!
//! - `Interrupt`: the first signal wakes a command and asks it to end; the second ends it at once.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::numbers::{When, grouped, rate};
use crate::output::note;
use crate::signals;

const BAR_INTERVAL: Duration = Duration::from_millis(100);
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// The display of a command's progress, if it is shown.
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
            // A short command shows nothing.
            next: is_shown.then(|| began + LINE_INTERVAL),
            bar: (is_shown && has_terminal).then(ProgressBar::new_spinner),
        }
    }

    /// Returns the time of the next display.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Shows the progress, if a display is due: the number of finished messages, and the caller's text.
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

    /// Clears the line to make room for the next output.
    pub fn finish(&mut self) {
        self.next = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

pub struct Interrupt {
    /// Readable after a signal.
    pipe: UnixStream,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts to watch for signals.
    pub fn start() -> io::Result<Interrupt> {
        let (pipe, woken) = UnixStream::pair()?;
        let (signal, has_come) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in signals::ending() {
            flag::register_conditional_shutdown(number, 128 + number, has_come.clone())?;
            flag::register(number, has_come.clone())?;
            flag::register_usize(number, signal.clone(), number as usize)?;
            pipe::register(number, woken.try_clone()?)?;
        }
        Ok(Interrupt { pipe, signal })
    }

    /// The received signal.
    pub fn signal(&self) -> Option<u8> {
        Some(self.signal.load(Ordering::SeqCst) as u8).filter(|&signal| signal != 0)
    }

    /// The descriptor to wait for.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.pipe.as_fd())
    }
}
