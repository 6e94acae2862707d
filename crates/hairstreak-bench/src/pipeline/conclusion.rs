//! The source's second conclusion, by the figures of this run: where tasks take time, few in flight are enough.

use super::case::Case;

/// A loss of rate below this counts as none, in percent of the rate with the most tasks in flight.
pub const COST_PERCENT_MAX: f64 = 5.0;

/// Sets the cost of each row against the row with the most in flight and the same task time. Returns a sentence for
/// each task time with the smallest number in flight that costs little. A task time with a single row has no sentence.
/// `cases` are in the plan's order.
pub fn compare_windows(cases: &mut [Case]) -> Vec<String> {
    let alike = cases.chunk_by_mut(|one, other| one.row.task_us == other.row.task_us);
    alike.filter(|cases| cases.len() > 1).map(compare).collect()
}

/// `cases` go from the most in flight to the least and are not empty.
fn compare(cases: &mut [Case]) -> String {
    let most = [0, 1].map(|contender| cases[0].rate(contender));
    for case in cases.iter_mut() {
        let cost = |contender: usize| {
            let (most, this) = (most[contender]?, case.rate(contender)?);
            Some(100.0 * (1.0 - this.median / most.median))
        };
        case.cost_percents = [cost(0), cost(1)];
    }
    let smallest = |name: &str, contender: usize, count: fn(&Case) -> String| {
        let mut costs =
            cases.iter().rev().filter_map(|case| Some((count(case), case.cost_percents[contender]?)));
        let (smallest, cost) = costs.find(|(_, cost)| *cost < COST_PERCENT_MAX)?;
        let most = count(&cases[0]);
        Some(match smallest == most {
            true => format!("no {name} below {most} costs less than {COST_PERCENT_MAX}%"),
            false => format!(
                "the smallest {name} that costs less than {COST_PERCENT_MAX}% against {most} is {smallest} ({cost:.1}%)"
            ),
        })
    };
    let ours = smallest("window", 0, Case::window_text);
    let rival = smallest("batch of libzmq", 1, |case| case.row.in_flight_count.to_string());
    let sentences: Vec<String> = ours.into_iter().chain(rival).collect();
    format!("Tasks of {} us: {}.", cases[0].row.task_us, sentences.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{Case, compare_windows};
    use crate::pipeline::case::tests::case_of;

    fn row(task_us: u64, in_flight: u64, ours: u64, rival: Option<u64>) -> Case {
        let rival: Vec<(u64, f64)> = rival.into_iter().map(|rate| (rate, 1.0)).collect();
        case_of(in_flight, task_us, &[&[(ours, 1.0)], &rival])
    }

    #[test]
    fn the_smallest_window_that_costs_little_is_named_for_each_task_time() {
        let mut cases = [
            row(0, 1_000_000, 1000, Some(800)),
            row(0, 10, 10, Some(780)),
            row(100, 1_000, 1000, Some(500)),
            row(100, 100, 1010, Some(480)),
            row(100, 50, 951, Some(475)),
            row(100, 10, 940, Some(100)),
        ];
        let sentences = compare_windows(&mut cases);
        let expected = [
            "Tasks of 0 us: no window below auto costs less than 5%; the smallest batch of libzmq that costs less than \
             5% against 1000000 is 10 (2.5%).",
            "Tasks of 100 us: the smallest window that costs less than 5% against 1000 is 50 (4.9%); the smallest batch \
             of libzmq that costs less than 5% against 1000 is 100 (4.0%).",
        ];
        assert_eq!(sentences, expected);
        let costs = |case: &Case| case.cost_percents.map(|cost| cost.unwrap().round());
        let costs: Vec<[f64; 2]> = cases.iter().map(costs).collect();
        assert_eq!(costs, [[0.0, 0.0], [99.0, 3.0], [0.0, 0.0], [-1.0, 4.0], [5.0, 5.0], [6.0, 80.0]]);
    }

    #[test]
    fn without_the_rival_the_sentence_is_of_ours() {
        let mut cases = [row(10, 100, 1000, None), row(10, 10, 999, None)];
        let sentence =
            "Tasks of 10 us: the smallest window that costs less than 5% against 100 is 10 (0.1%).";
        assert_eq!(compare_windows(&mut cases), [sentence]);
        assert_eq!(cases[1].cost_percents[1], None);
    }

    #[test]
    fn one_row_is_compared_with_nothing() {
        let mut cases = [row(10, 100, 1000, None), row(100, 100, 1000, None)];
        assert!(compare_windows(&mut cases).is_empty());
        assert_eq!(cases[0].cost_percents[0], None);
    }
}
