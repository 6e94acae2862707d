//! `Outcome`: what both runs came to, and whether they came to the same.

use std::fmt;
use std::fs;
use std::io;
use std::time::Duration;

use crate::butterfly;
use crate::corpus::CHUNK_SIZE;
use crate::job::Job;
use crate::monolith;
use crate::near_copies::near_copies;

/// Both runs, side by side.
pub struct Outcome {
    chunk_count: usize,
    predicted_per_s: f64,
    monolith: Duration,
    butterfly: Duration,
    /// Sorted, as the butterfly's arrive in any order.
    monolith_lines: Vec<Vec<u8>>,
    butterfly_lines: Vec<Vec<u8>>,
}

impl Outcome {
    /// Reads what both runs wrote.
    pub fn read(
        job: &Job,
        predicted_per_s: f64,
        monolith: Duration,
        butterfly: Duration,
    ) -> io::Result<Outcome> {
        Ok(Outcome {
            chunk_count: job.chunk_count,
            predicted_per_s,
            monolith,
            butterfly,
            monolith_lines: sorted_lines(job, monolith::RESULTS)?,
            butterfly_lines: sorted_lines(job, butterfly::RESULTS)?,
        })
    }

    /// Whether both runs gave the same lines, byte for byte.
    pub fn is_identical(&self) -> bool {
        self.monolith_lines == self.butterfly_lines
    }

    fn row(&self, f: &mut fmt::Formatter<'_>, name: &str, per_s: f64, rest: &str) -> fmt::Result {
        let mib_per_s = per_s * CHUNK_SIZE as f64 / (1 << 20) as f64;
        let seconds = self.chunk_count as f64 / per_s;
        writeln!(f, "  {name:<22}{per_s:>10.1}{mib_per_s:>10.2}{seconds:>10.2}   {rest}")
    }
}

fn sorted_lines(job: &Job, run: &str) -> io::Result<Vec<Vec<u8>>> {
    let text = fs::read(job.result_file(run))?;
    let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// The table, ending in whether the results are identical.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_s = |time: Duration| self.chunk_count as f64 / time.as_secs_f64();
        let measured = per_s(self.butterfly);
        let error = format!("{:+.1} % off", (self.predicted_per_s / measured - 1.0) * 100.0);
        writeln!(f, "  {:<22}{:>10}{:>10}{:>10}", "", "chunks/s", "MiB/s", "seconds")?;
        self.row(f, "monolith", per_s(self.monolith), "")?;
        self.row(f, "butterfly, predicted", self.predicted_per_s, &error)?;
        let speed_up = format!("{:.2} times the monolith", measured / per_s(self.monolith));
        self.row(f, "butterfly, measured", measured, &speed_up)?;
        let (count, told) = near_copies(&self.monolith_lines);
        writeln!(f, "\n{count} pairs of chunks are near-copies of each other; the most alike:")?;
        for pair in told {
            writeln!(f, "  {} and {}: {} %  ({})", pair.numbers.0, pair.numbers.1, pair.percent, pair.words)?;
        }
        let bytes: usize = self.monolith_lines.iter().map(Vec::len).sum();
        match self.is_identical() {
            true => {
                write!(f, "\nresults identical: yes ({} lines, {bytes} bytes)", self.monolith_lines.len())
            }
            false => write!(f, "\nresults identical: NO"),
        }
    }
}
