//! `Cores`: the CPU time of a machine, shared evenly by all running jobs.
//!
//! With `n` jobs on `c` cores each job runs at the rate `min(1, c / n)`. One *virtual* clock runs at this rate for all jobs, and a job
//! of `w` ns is done when the virtual clock has advanced by `w`. The only state is a heap of these times (processor sharing;
//! Kleinrock, Queueing Systems II, section 4.4).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The rounding error of virtual times, in nanoseconds: less than the rounding of a real time.
const ROUNDING: f64 = 1e-3;

pub(super) struct Cores {
    count: f64,
    /// The virtual time, at the real time `at`.
    virtual_ns: f64,
    at: u64,
    /// The virtual end of each job, and its owner. The bits of positive floating-point numbers sort as the numbers do.
    jobs: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Cores {
    pub(super) fn new(count: u32) -> Cores {
        Cores { count: f64::from(count), virtual_ns: 0.0, at: 0, jobs: BinaryHeap::new() }
    }

    fn rate(&self) -> f64 {
        (self.count / self.jobs.len() as f64).min(1.0)
    }

    fn advance(&mut self, now: u64) {
        if self.jobs.is_empty() {
            // Without jobs the clock restarts at zero, because small numbers are exact.
            self.virtual_ns = 0.0;
        } else {
            self.virtual_ns += (now - self.at) as f64 * self.rate();
        }
        self.at = now;
    }

    /// Starts a job of `work_ns` nanoseconds for `owner` at `now`.
    pub(super) fn start(&mut self, now: u64, owner: usize, work_ns: u64) {
        self.advance(now);
        self.jobs.push(Reverse(((self.virtual_ns + work_ns as f64).to_bits(), owner)));
    }

    /// The end of the next job, if no other job starts before.
    pub(super) fn next(&self) -> Option<u64> {
        let Reverse((done, _)) = self.jobs.peek()?;
        let left = (f64::from_bits(*done) - self.virtual_ns).max(0.0);
        Some(self.at + (left / self.rate() - ROUNDING).ceil() as u64)
    }

    /// Removes a job that is done by `now`. Returns its owner.
    pub(super) fn take_done(&mut self, now: u64) -> Option<usize> {
        self.advance(now);
        let Reverse((done, owner)) = *self.jobs.peek()?;
        if f64::from_bits(done) > self.virtual_ns + 1.0 {
            return None;
        }
        self.jobs.pop();
        Some(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end and the owner of each of these jobs, all started at 0.
    fn done(cores: u32, work: &[u64]) -> Vec<(u64, usize)> {
        let mut cores = Cores::new(cores);
        work.iter().enumerate().for_each(|(owner, work)| cores.start(0, owner, *work));
        let mut done = Vec::new();
        while let Some(now) = cores.next() {
            while let Some(owner) = cores.take_done(now) {
                done.push((now, owner));
            }
        }
        done
    }

    #[test]
    fn jobs_share_the_cores_evenly() {
        assert_eq!(done(2, &[1_000, 2_000]), [(1_000, 0), (2_000, 1)], "one core each");
        assert_eq!(done(1, &[1_000, 1_000]), [(2_000, 0), (2_000, 1)], "half a core each");
        // All share until 3,000, when the short job is done. Then each of the two others has 1,000 left and a core of its own.
        assert_eq!(done(2, &[2_000, 3_000, 3_000]), [(3_000, 0), (4_000, 1), (4_000, 2)]);
    }

    #[test]
    fn a_job_that_comes_later_slows_down_those_there_are() {
        let mut cores = Cores::new(1);
        cores.start(0, 0, 1_000);
        cores.start(500, 1, 1_000);
        assert_eq!(cores.next(), Some(1_500));
        assert_eq!(cores.take_done(1_500), Some(0));
        assert_eq!(cores.take_done(1_500), None);
        assert_eq!(cores.next(), Some(2_000));
    }
}
