//! Progress for people, on standard error: a line for each run, with the time that is left.

use std::time::{Duration, Instant};

use crate::figures;

/// How far the benchmark is.
#[derive(Debug)]
pub struct Progress {
    begin: Instant,
    done: usize,
    total: usize,
}

impl Progress {
    /// `total` runs are to be made.
    pub fn new(total: usize) -> Progress {
        Progress { begin: Instant::now(), done: 0, total }
    }

    /// A run is over: its name, and its messages a second.
    pub fn note(&mut self, run: &str, rate: f64) {
        self.done += 1;
        eprintln!("{}", self.line(run, rate, self.begin.elapsed()));
    }

    fn line(&self, run: &str, rate: f64, elapsed: Duration) -> String {
        let left = elapsed.as_secs_f64() / self.done as f64 * (self.total - self.done) as f64;
        let left = match left.round() as u64 {
            0 => "done".to_owned(),
            seconds if seconds < 60 => format!("{seconds} s left"),
            seconds => format!("{} min {} s left", seconds / 60, seconds % 60),
        };
        format!("h3 {}/{}: {run}: {} messages/s; {left}", self.done, self.total, figures::rate(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_that_of_the_runs_to_come_at_the_pace_of_those_before() {
        let line = |done, elapsed| {
            let progress = Progress { begin: Instant::now(), done, total: 10 };
            progress.line("tcp", 1234.0, Duration::from_secs(elapsed))
        };
        assert_eq!(line(2, 4), "h3 2/10: tcp: 1.2k messages/s; 16 s left");
        assert_eq!(line(4, 60), "h3 4/10: tcp: 1.2k messages/s; 1 min 30 s left");
        assert_eq!(line(10, 60), "h3 10/10: tcp: 1.2k messages/s; done");
    }
}
