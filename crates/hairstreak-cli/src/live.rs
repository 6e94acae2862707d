//! The progress of a run, shown while it goes on: bars on a terminal, else a line a second, or a message when the run
//! is silent.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use hairstreak::topology::{Observer, Progress};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::numbers::{When, grouped, messages, rate};
use crate::output::note;
use crate::silence::Silence;

/// The time between two lines without bars.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// The display of a run.
pub struct Live {
    display: Display,
    /// `true` if lines of stages on standard error are shown.
    verbose: bool,
}

enum Display {
    /// Only a message when the run is silent.
    Silence(Silence),
    Nothing,
    Lines {
        next: Instant,
    },
    Bars(Bars),
}

/// One bar for the run and a line below it for each stage.
struct Bars {
    all: MultiProgress,
    run: ProgressBar,
    stages: Vec<ProgressBar>,
}

impl Live {
    pub fn new(progress: When, verbose: bool) -> Live {
        let display = match (progress, std::io::stderr().is_terminal()) {
            (When::Never, _) => Display::Nothing,
            (When::Auto, false) => Display::Silence(Silence::default()),
            (When::Always, false) => Display::Lines { next: Instant::now() },
            (_, true) => Display::Bars(Bars::new()),
        };
        Live { display, verbose }
    }

    fn show_line(&self, line: &str) {
        match &self.display {
            Display::Bars(bars) => {
                // A line that the terminal does not accept is lost.
                let _ = bars.all.println(line);
            }
            _ => note(&format!("{line}\n")),
        }
    }

    /// Clears the bars to make room for the next output.
    pub fn finish(self) {
        if let Display::Bars(bars) = self.display {
            bars.stages.iter().rev().chain([&bars.run]).for_each(ProgressBar::finish_and_clear);
        }
    }
}

impl Observer for Live {
    fn progress(&mut self, progress: &Progress) {
        match &mut self.display {
            Display::Nothing => {}
            Display::Silence(silence) => {
                if let Some(line) = silence.look(progress) {
                    note(&format!("{line}\n"));
                }
            }
            Display::Bars(bars) => bars.show(progress),
            Display::Lines { next } if Instant::now() < *next => {}
            Display::Lines { next } => {
                *next = Instant::now() + LINE_INTERVAL;
                let slowest = &progress.stages[progress.slowest].name;
                note(&format!("{}, slowest: {slowest}\n", summary(progress)));
            }
        }
    }

    fn restart(&mut self, stage: &str, instance: u32, how: &str) {
        self.show_line(&format!("{stage} {instance} {how}; it is started again"));
    }

    fn stage_line(&mut self, stage: &str, instance: u32, line: &str) {
        if self.verbose {
            self.show_line(&format!("{stage} {instance}: {line}"));
        }
    }
}

impl Bars {
    fn new() -> Bars {
        let all = MultiProgress::new();
        let run = all.add(ProgressBar::no_length());
        Bars { all, run, stages: Vec::new() }
    }

    fn show(&mut self, progress: &Progress) {
        if let Some(total) = progress.messages_total {
            self.run.set_length(total);
            self.run.set_style(style("{wide_bar} {msg}"));
        } else {
            self.run.set_style(style("{spinner} {msg}"));
        }
        self.run.set_position(progress.messages);
        self.run.set_message(summary(progress));
        let width = progress.stages.iter().map(|stage| stage.name.chars().count()).max().unwrap_or(0);
        for (index, stage) in progress.stages.iter().enumerate() {
            if self.stages.len() == index {
                let line = self.all.add(ProgressBar::no_length());
                line.set_style(style("  {msg}"));
                self.stages.push(line);
            }
            let mark = if index == progress.slowest { "  slowest" } else { "" };
            self.stages[index].set_message(format!(
                "{:width$}  {} of {} done, {}/s{mark}",
                stage.name,
                grouped(stage.processed),
                grouped(stage.given),
                rate(Some(stage.rate_per_s))
            ));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // INVARIANT: indicatif accepts the templates above.
    ProgressStyle::with_template(template).expect("a template of this file")
}

fn summary(progress: &Progress) -> String {
    let done = match progress.messages_total {
        Some(total) => format!("{} of {}", grouped(progress.messages), messages(total)),
        None => messages(progress.messages),
    };
    let measured = rate(Some(progress.rate_per_s));
    let predicted = progress.predicted_per_s.map(|per_s| format!(", predicted {}/s", rate(Some(per_s))));
    format!("{done}, {measured}/s{}", predicted.unwrap_or_default())
}
