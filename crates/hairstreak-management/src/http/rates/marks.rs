//! `Marks`: the samples of the last ten minutes of each of many objects, such as queues.
//!
//! An object whose counters are all 0 has no mark, so that queues without traffic cost nothing. Memory: for a queue 0.4 KiB, and for each sampling at which it
//! changed some 20 bytes: up to 3 KiB more. The histories of all objects together have a bound. When they reach it, all become shorter.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::HashMap;

use super::changes::Changes;
use super::counters::Detail;
use crate::http::list::Range;

/// The objects of one kind that have rates. Further ones have rates of 0.
const MARK_COUNT_MAX: usize = 1 << 18;
/// The samplings that are remembered: ten minutes, as RabbitMQ does.
pub(super) const ROUND_COUNT_MAX: u32 = 120;

/// The marks of all objects of a kind, with `N` counters each.
#[derive(Debug)]
pub(crate) struct Marks<K, const N: usize> {
    marks: HashMap<K, Mark<N>>,
    rounds: Arc<Rounds>,
}

/// The times of the last samplings.
#[derive(Clone, Debug)]
struct Rounds {
    /// The number of the sampling in progress, or of the last one.
    last: u32,
    /// In milliseconds since 1970, the oldest first. The first is that before the oldest change.
    at_ms: VecDeque<u64>,
    /// The samplings whose changes are kept.
    kept: u32,
}

/// The last sample of an object, and the changes up to it.
#[derive(Clone, Debug)]
struct Mark<const N: usize> {
    round: u32,
    values: [u64; N],
    rates: [f32; N],
    changes: Arc<Changes>,
}

/// The rates of one object.
#[derive(Clone, Debug)]
pub(crate) struct Row<const N: usize> {
    /// `None`: the counters were all 0.
    mark: Option<Mark<N>>,
    rounds: Arc<Rounds>,
}

impl Rounds {
    fn new(begin_ms: u64) -> Rounds {
        Rounds { last: 0, at_ms: VecDeque::from([begin_ms]), kept: ROUND_COUNT_MAX }
    }

    fn begin(&mut self, at_ms: u64, kept: u32) {
        self.last = self.last.wrapping_add(1);
        self.kept = kept;
        self.at_ms.push_back(at_ms);
        while self.at_ms.len() > kept as usize + 1 {
            self.at_ms.pop_front();
        }
    }

    /// Seconds between the last two samplings.
    fn seconds(&self) -> f64 {
        let mut latest = self.at_ms.iter().rev();
        match (latest.next(), latest.next()) {
            (Some(last), Some(before)) => last.saturating_sub(*before) as f64 / 1000.0,
            _ => 0.0,
        }
    }

    /// The rounds after that time, as many as there are.
    fn after(&self, time_ms: u64) -> u32 {
        (self.at_ms.len() - self.at_ms.partition_point(|at_ms| *at_ms <= time_ms)) as u32
    }
}

impl<K: Eq + Hash, const N: usize> Marks<K, N> {
    /// Marks before the first sampling.
    pub(crate) fn new(begin_ms: u64) -> Marks<K, N> {
        Marks { marks: HashMap::default(), rounds: Arc::new(Rounds::new(begin_ms)) }
    }

    /// Begins a sampling, whose objects keep their changes of the last `kept` samplings. A time that is not later than the last one makes rates of 0.
    pub(crate) fn begin(&mut self, at_ms: u64, kept: u32) {
        Arc::make_mut(&mut self.rounds).begin(at_ms, kept);
    }

    /// Adds an object to the sampling in progress.
    pub(crate) fn add(&mut self, key: K, values: [u64; N]) {
        if values.iter().all(|value| *value == 0) && !self.marks.contains_key(&key) {
            return;
        }
        if self.marks.len() >= MARK_COUNT_MAX && !self.marks.contains_key(&key) {
            return;
        }
        let mark = self.marks.entry(key).or_insert_with(Mark::new);
        mark.add(&self.rounds, values);
    }

    /// Ends the sampling: objects that it did not meet are gone. Returns the bytes of the changes of all objects.
    pub(crate) fn end(&mut self) -> usize {
        let (last, mut bytes) = (self.rounds.last, 0);
        self.marks.retain(|_, mark| {
            let is_there = mark.round == last;
            bytes += if is_there { mark.changes.size() } else { 0 };
            is_there
        });
        bytes
    }

    /// The rates of an object.
    pub(crate) fn row<Q>(&self, key: &Q) -> Row<N>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        Row { mark: self.marks.get(key).cloned(), rounds: Arc::clone(&self.rounds) }
    }
}

impl<const N: usize> Mark<N> {
    fn new() -> Mark<N> {
        Mark { round: 0, values: [0; N], rates: [0.0; N], changes: Arc::default() }
    }

    fn add(&mut self, rounds: &Rounds, values: [u64; N]) {
        let seconds = rounds.seconds();
        for ((rate, before), after) in self.rates.iter_mut().zip(self.values).zip(values) {
            *rate = if seconds > 0.0 { ((after as f64 - before as f64) / seconds) as f32 } else { 0.0 };
        }
        // A request that has the changes keeps them as they are.
        let changes = Arc::make_mut(&mut self.changes);
        changes.add(rounds.last, &self.values, &values);
        changes.forget(rounds.last.wrapping_sub(rounds.kept));
        self.values = values;
        self.round = rounds.last;
    }
}

impl<const N: usize> Default for Row<N> {
    fn default() -> Row<N> {
        Row { mark: None, rounds: Arc::new(Rounds::new(0)) }
    }
}

impl<const N: usize> Row<N> {
    /// Returns `true` if no counter changed between the last two samples.
    pub(crate) fn is_still(&self) -> bool {
        self.mark.as_ref().is_none_or(|mark| mark.rates.iter().all(|rate| *rate == 0.0))
    }

    /// The rate of a counter, with one digit behind the point, and its samples for a range. The counter has the value of its oldest
    /// sample before that sample.
    pub(crate) fn detail(&self, counter: usize, range: Option<Range>) -> Detail {
        let rate = self.mark.as_ref().map_or(0.0, |mark| mark.rates[counter]);
        let rate = (f64::from(rate) * 10.0).round() / 10.0;
        Detail { rate, samples: range.map(|range| self.samples(counter, range)) }
    }

    /// The latest first.
    fn samples(&self, counter: usize, range: Range) -> Vec<(u64, u64)> {
        let rounds = &*self.rounds;
        let mut changes = self.mark.as_ref().map(|mark| mark.changes.of(counter)).unwrap_or_default();
        let mut value = self.mark.as_ref().map_or(0, |mark| mark.values[counter]);
        let last_ms = rounds.at_ms.back().copied().unwrap_or_default();
        let sample = |time_ms| {
            let after = rounds.after(time_ms);
            let is_after = |(round, _): &mut (u32, i64)| rounds.last.wrapping_sub(*round) < after;
            while let Some((_, difference)) = changes.pop_if(is_after) {
                value = value.wrapping_sub(difference as u64);
            }
            (time_ms, value)
        };
        range.times(last_ms).map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::list::Ranges;
    use crate::http::request::Query;

    fn sampled(marks: &mut Marks<&'static str, 2>, at_ms: u64, objects: &[(&'static str, [u64; 2])]) {
        marks.begin(at_ms, ROUND_COUNT_MAX);
        for (key, values) in objects {
            marks.add(key, *values);
        }
        marks.end();
    }

    #[test]
    fn rates_are_those_between_two_samplings() {
        let mut marks = Marks::new(0);
        sampled(&mut marks, 5000, &[("a", [100, 7]), ("idle", [0, 0])]);
        assert_eq!(marks.row("a").detail(0, None), Detail::of_rate(20.0));
        sampled(&mut marks, 10_000, &[("a", [131, 2]), ("idle", [0, 0]), ("b", [10, 0])]);
        let row = marks.row("a");
        assert_eq!(row.detail(0, None), Detail::of_rate(6.2));
        assert_eq!(row.detail(1, None), Detail::of_rate(-1.0));
        assert_eq!(marks.row("b").detail(0, None), Detail::of_rate(2.0));
        for key in ["idle", "unknown"] {
            assert_eq!(marks.row(key).detail(0, None), Detail::of_rate(0.0));
        }
    }

    fn range(age: u64, step: u64) -> Option<Range> {
        Ranges::parse(&Query::parse(&format!("lengths_age={age}&lengths_incr={step}"))).unwrap().lengths
    }

    fn samples<const N: usize>(row: &Row<N>, counter: usize, age: u64, step: u64) -> Vec<(u64, u64)> {
        row.detail(counter, range(age, step)).samples.unwrap()
    }

    /// A counter that grows by one each second, and one that goes up and down.
    fn sample_at(marks: &mut Marks<&'static str, 2>, at_ms: u64) {
        sampled(marks, at_ms, &[("a", [at_ms / 1000, at_ms / 5000 % 2]), ("b", [7, 0])]);
    }

    #[test]
    fn samples_go_back_for_ten_minutes() {
        let mut marks = Marks::new(0);
        (1..=5).for_each(|round| sample_at(&mut marks, 5000 * round));
        let row = marks.row("a");
        let expected = [(25_000, 25), (20_000, 20), (15_000, 15), (10_000, 10), (5000, 5), (0, 0)];
        assert_eq!(samples(&row, 0, 25, 5), expected);
        assert_eq!(samples(&row, 1, 15, 5), [(25_000, 1), (20_000, 0), (15_000, 1), (10_000, 0)]);
        assert_eq!(samples(&row, 0, 20, 10), [(20_000, 20), (10_000, 10), (0, 0)]);
        assert_eq!(samples(&marks.row("b"), 0, 25, 5).iter().map(|(_, value)| value).sum::<u64>(), 5 * 7);
        assert_eq!(samples(&marks.row("unknown"), 0, 5, 5), [(25_000, 0), (20_000, 0)]);
        // Requests that hold a row see it as it was.
        (6..=1000).for_each(|round| sample_at(&mut marks, 5000 * round));
        assert_eq!(samples(&row, 0, 25, 5), expected);
        let found = samples(&marks.row("a"), 0, 600, 5);
        assert_eq!(
            found,
            (0..=120).map(|index| (5_000_000 - 5000 * index, 5000 - 5 * index)).collect::<Vec<_>>()
        );
        // Older samples are forgotten.
        assert_eq!(samples(&marks.row("a"), 0, 700, 5).last(), Some(&(4_300_000, 4400)));
        assert_eq!(samples(&marks.row("b"), 0, 600, 600), [(4_800_000, 7), (4_200_000, 7)]);
    }

    #[test]
    fn a_history_has_a_few_bytes_for_each_change() {
        let mut marks: Marks<&str, 15> = Marks::new(0);
        let mut bytes = 0;
        for round in 1..=500 {
            marks.begin(5000 * round, ROUND_COUNT_MAX);
            // A queue with 10,000 messages a second, of which some wait.
            let moved = 50_000 * round;
            let waiting = 1000 + round % 700;
            let mut values = [0; 15];
            values[..3].fill(moved);
            values[3..5].fill(moved - waiting);
            values[5..7].fill(waiting);
            marks.add("busy", values);
            marks.add("still", [5; 15]);
            bytes = marks.end();
        }
        assert!((120 * 20..120 * 40).contains(&bytes), "{bytes}");
        // A bound that is reached makes all of them shorter.
        for (round, kept) in [(501, 10), (502, 10)] {
            marks.begin(5000 * round, kept);
            marks.add("busy", [50_000 * round; 15]);
            assert!(marks.end() < 10 * 80);
        }
        let found = samples(&marks.row("busy"), 0, 100, 5);
        assert_eq!(
            found[..11],
            (0..=10).map(|index| (5000 * (502 - index), 50_000 * (502 - index))).collect::<Vec<_>>()
        );
        assert_eq!(
            found[11..],
            (11..=20).map(|index| (5000 * (502 - index), 50_000 * 492)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn objects_that_are_gone_or_idle_cost_nothing() {
        let mut marks = Marks::new(0);
        sampled(&mut marks, 5000, &[("a", [1, 0]), ("b", [0, 0])]);
        assert_eq!(marks.marks.len(), 1);
        sampled(&mut marks, 10_000, &[("b", [0, 0])]);
        assert_eq!(marks.marks.len(), 0);
        // A queue that was emptied has a rate below 0, and the next time none.
        sampled(&mut marks, 15_000, &[("b", [0, 5])]);
        sampled(&mut marks, 20_000, &[("b", [0, 0])]);
        assert_eq!(marks.row("b").detail(1, None), Detail::of_rate(-1.0));
        sampled(&mut marks, 25_000, &[("b", [0, 0])]);
        assert_eq!(marks.row("b").detail(1, None), Detail::of_rate(0.0));
    }

    #[test]
    fn there_are_no_more_marks_than_the_bound() {
        let mut marks: Marks<usize, 1> = Marks::new(0);
        marks.begin(5000, ROUND_COUNT_MAX);
        for key in 0..=MARK_COUNT_MAX {
            marks.add(key, [5]);
        }
        marks.end();
        assert_eq!(marks.marks.len(), MARK_COUNT_MAX);
        assert_eq!(marks.row(&MARK_COUNT_MAX).detail(0, None), Detail::of_rate(0.0));
        assert_eq!(marks.row(&0).detail(0, None), Detail::of_rate(1.0));
    }
}
