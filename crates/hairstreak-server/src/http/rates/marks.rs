//! `Marks`: the last sample of each of many objects, such as queues, and the rates up to it.
//!
//! An object whose counters are all 0 has no mark, so that queues without traffic cost nothing. Memory: 12 bytes for each counter of an object, and its key:
//! 0.25 KiB for a queue.

use std::hash::Hash;

use foldhash::HashMap;

use super::detail::Detail;
use super::range::Range;

/// The objects of one kind that have rates. Further ones have rates of 0.
const MARK_COUNT_MAX: usize = 1 << 18;

/// The marks of all objects of a kind, with `N` counters each.
#[derive(Debug)]
pub(crate) struct Marks<K, const N: usize> {
    marks: HashMap<K, Mark<N>>,
    /// The number of the sampling in progress, or of the last one.
    round: u32,
    at_ms: u64,
    before_ms: u64,
}

/// A sample of an object.
#[derive(Clone, Copy, Debug)]
struct Mark<const N: usize> {
    round: u32,
    values: [u64; N],
    rates: [f32; N],
}

/// The rates of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<const N: usize> {
    /// `None`: the counters were all 0.
    mark: Option<Mark<N>>,
    at_ms: u64,
    before_ms: u64,
}

impl<K: Eq + Hash, const N: usize> Marks<K, N> {
    /// Marks before the first sampling.
    pub(crate) fn new(begin_ms: u64) -> Marks<K, N> {
        Marks { marks: HashMap::default(), round: 0, at_ms: begin_ms, before_ms: begin_ms }
    }

    /// Begins a sampling. A time that is not later than the last one makes rates of 0.
    pub(crate) fn begin(&mut self, at_ms: u64) {
        self.round = self.round.wrapping_add(1);
        self.before_ms = self.at_ms;
        self.at_ms = at_ms;
    }

    /// Adds an object to the sampling in progress.
    pub(crate) fn add(&mut self, key: K, values: [u64; N]) {
        if values.iter().all(|value| *value == 0) && !self.marks.contains_key(&key) {
            return;
        }
        if self.marks.len() >= MARK_COUNT_MAX && !self.marks.contains_key(&key) {
            return;
        }
        let seconds = self.at_ms.saturating_sub(self.before_ms) as f64 / 1000.0;
        let mark = self.marks.entry(key).or_insert(Mark { round: 0, values: [0; N], rates: [0.0; N] });
        for ((rate, before), after) in mark.rates.iter_mut().zip(mark.values).zip(values) {
            *rate = if seconds > 0.0 { ((after as f64 - before as f64) / seconds) as f32 } else { 0.0 };
        }
        mark.values = values;
        mark.round = self.round;
    }

    /// Ends the sampling: objects that it did not meet are gone.
    pub(crate) fn end(&mut self) {
        let round = self.round;
        self.marks.retain(|_, mark| mark.round == round);
    }

    /// The rates of an object.
    pub(crate) fn row<Q>(&self, key: &Q) -> Row<N>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        Row { mark: self.marks.get(key).copied(), at_ms: self.at_ms, before_ms: self.before_ms }
    }
}

impl<const N: usize> Default for Row<N> {
    fn default() -> Row<N> {
        Row { mark: None, at_ms: 0, before_ms: 0 }
    }
}

impl<const N: usize> Row<N> {
    /// Whether no counter changed between the last two samples.
    pub(crate) fn is_still(&self) -> bool {
        self.mark.is_none_or(|mark| mark.rates.iter().all(|rate| *rate == 0.0))
    }

    /// The rate of a counter, with one digit behind the point. For a range there are the two samples that the rate is from.
    pub(crate) fn detail(&self, counter: usize, range: Option<Range>) -> Detail {
        let (value, rate) = self.mark.map_or((0, 0.0), |mark| (mark.values[counter], mark.rates[counter]));
        let rate = (f64::from(rate) * 10.0).round() / 10.0;
        let samples = range.map(|_| {
            let seconds = self.at_ms.saturating_sub(self.before_ms) as f64 / 1000.0;
            let before = (value as f64 - rate * seconds).round() as u64;
            vec![(self.at_ms, value), (self.before_ms, before)]
        });
        Detail { rate, samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::rates::Ranges;
    use crate::http::request::Query;

    fn sampled(marks: &mut Marks<&'static str, 2>, at_ms: u64, objects: &[(&'static str, [u64; 2])]) {
        marks.begin(at_ms);
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
        let range = Ranges::parse(&Query::parse("lengths_age=60&lengths_incr=5")).unwrap().lengths;
        assert_eq!(row.detail(0, range).samples, Some(vec![(10_000, 131), (5000, 100)]));
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
        marks.begin(5000);
        for key in 0..=MARK_COUNT_MAX {
            marks.add(key, [5]);
        }
        marks.end();
        assert_eq!(marks.marks.len(), MARK_COUNT_MAX);
        assert_eq!(marks.row(&MARK_COUNT_MAX).detail(0, None), Detail::of_rate(0.0));
        assert_eq!(marks.row(&0).detail(0, None), Detail::of_rate(1.0));
    }
}
