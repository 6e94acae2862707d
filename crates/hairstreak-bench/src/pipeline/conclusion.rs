//! The source's second conclusion, by the figures of this run: where tasks take time, few in flight are enough.

use super::case::Case;

/// A loss of rate below this counts as none, in percent of the rate with the most tasks in flight.
pub const COST_PERCENT_MAX: f64 = 5.0;

/// A contender's rate in a row, if it was there.
type Rate = fn(&Case) -> Option<f64>;

/// Sets the cost of each row against the row with the most in flight and the same task time. Returns a sentence for
/// each task time with the smallest number in flight that costs little. A task time with a single row has no sentence.
/// `cases` are in the plan's order.
pub fn compare_windows(cases: &mut [Case]) -> Vec<String> {
    let alike = cases.chunk_by_mut(|one, other| one.row.task_us == other.row.task_us);
    alike.filter(|cases| cases.len() > 1).map(compare).collect()
}

/// `cases` go from the most in flight to the least and are not empty.
fn compare(cases: &mut [Case]) -> String {
    for index in 0..cases.len() {
        let cost = |rate: Rate| {
            let (most, this) = (rate(&cases[0])?, rate(&cases[index])?);
            Some(100.0 * (1.0 - this / most))
        };
        let (ours, rival) = (cost(|case| Some(case.ours.median)), cost(|case| Some(case.rival?.median)));
        (cases[index].cost_percent, cases[index].rival_cost_percent) = (ours, rival);
    }
    let smallest = |name: &str, cost: Rate, count: fn(&Case) -> String| {
        let mut costs = cases.iter().rev().filter_map(|case| Some((count(case), cost(case)?)));
        let (smallest, cost) = costs.find(|(_, cost)| *cost < COST_PERCENT_MAX)?;
        let most = count(&cases[0]);
        Some(match smallest == most {
            true => format!("no {name} below {most} costs less than {COST_PERCENT_MAX}%"),
            false => format!(
                "the smallest {name} that costs less than {COST_PERCENT_MAX}% against {most} is {smallest} ({cost:.1}%)"
            ),
        })
    };
    let ours = smallest("window", |case| case.cost_percent, Case::window_text);
    let rival = smallest(
        "batch of libzmq",
        |case| case.rival_cost_percent,
        |case| case.row.in_flight_count.to_string(),
    );
    let sentences: Vec<String> = ours.into_iter().chain(rival).collect();
    format!("Tasks of {} us: {}.", cases[0].row.task_us, sentences.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{Case, compare_windows};
    use crate::frame::Spread;
    use crate::pipeline::case::tests::case;

    fn row(task_us: u64, in_flight: u64, ours: f64, rival: Option<f64>) -> Case {
        let mut row = case(in_flight, task_us, &[]);
        let spread = |rate| Spread { median: rate, min: rate, max: rate };
        (row.ours, row.rival) = (spread(ours), rival.map(spread));
        row
    }

    #[test]
    fn the_smallest_window_that_costs_little_is_named_for_each_task_time() {
        let mut cases = [
            row(0, 1_000_000, 1000.0, Some(800.0)),
            row(0, 10, 10.0, Some(780.0)),
            row(100, 1_000, 1000.0, Some(500.0)),
            row(100, 100, 1010.0, Some(480.0)),
            row(100, 50, 951.0, Some(475.0)),
            row(100, 10, 940.0, Some(100.0)),
        ];
        let sentences = compare_windows(&mut cases);
        let expected = [
            "Tasks of 0 us: no window below auto costs less than 5%; the smallest batch of libzmq that costs less than \
             5% against 1000000 is 10 (2.5%).",
            "Tasks of 100 us: the smallest window that costs less than 5% against 1000 is 50 (4.9%); the smallest batch \
             of libzmq that costs less than 5% against 1000 is 100 (4.0%).",
        ];
        assert_eq!(sentences, expected);
        let costs =
            |case: &Case| (case.cost_percent.unwrap().round(), case.rival_cost_percent.unwrap().round());
        let costs: Vec<(f64, f64)> = cases.iter().map(costs).collect();
        assert_eq!(costs, [(0.0, 0.0), (99.0, 3.0), (0.0, 0.0), (-1.0, 4.0), (5.0, 5.0), (6.0, 80.0)]);
    }

    #[test]
    fn without_the_rival_the_sentence_is_of_ours() {
        let mut cases = [row(10, 100, 1000.0, None), row(10, 10, 999.0, None)];
        let sentence =
            "Tasks of 10 us: the smallest window that costs less than 5% against 100 is 10 (0.1%).";
        assert_eq!(compare_windows(&mut cases), [sentence]);
        assert_eq!(cases[1].rival_cost_percent, None);
    }

    #[test]
    fn one_row_is_compared_with_nothing() {
        let mut cases = [row(10, 100, 1000.0, None), row(100, 100, 1000.0, None)];
        assert!(compare_windows(&mut cases).is_empty());
        assert_eq!(cases[0].cost_percent, None);
    }
}
