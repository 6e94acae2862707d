//! `Cores`: the processor time of a machine, shared evenly by all that work.
//!
//! With `n` jobs on `c` cores each goes on at the rate `min(1, c / n)`. So one *virtual* clock runs for all of them, and a job that needs `w` ns is
//! done when the virtual clock has advanced by `w`: a heap of these times is all there is to keep (processor sharing; Kleinrock,
//! Queueing Systems II, section 4.4).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual nanoseconds that are taken for equal: less than the rounding of a real one.
const ROUNDING: f64 = 1e-3;

pub(super) struct Cores {
    count: f64,
    /// The virtual time, at the real time `at`.
    virtual_ns: f64,
    at: u64,
    /// When jobs are done in virtual time (the bits of a positive number keep its order), and whose they are.
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
            // Nothing works, so that the clock may begin anew: small numbers are exact.
            self.virtual_ns = 0.0;
        } else {
            self.virtual_ns += (now - self.at) as f64 * self.rate();
        }
        self.at = now;
    }

    /// `owner` has work of so many nanoseconds, from `now` on.
    pub(super) fn start(&mut self, now: u64, owner: usize, work_ns: u64) {
        self.advance(now);
        self.jobs.push(Reverse(((self.virtual_ns + work_ns as f64).to_bits(), owner)));
    }

    /// When the next job is done, if no other starts before.
    pub(super) fn next(&self) -> Option<u64> {
        let Reverse((done, _)) = self.jobs.peek()?;
        let left = (f64::from_bits(*done) - self.virtual_ns).max(0.0);
        Some(self.at + (left / self.rate() - ROUNDING).ceil() as u64)
    }

    /// The owner of a job that is done by `now`.
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

    /// When each of these jobs, all started at 0, is done.
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
        // Together until 3,000, when the short one is done; then 1,000 are left for one alone, and another one.
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
