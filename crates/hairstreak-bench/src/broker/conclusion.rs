//! Targets of our node, and the sentences that tell whether they are reached.

use super::plan::{CaseName, Scenario};
use super::report::{Evidence, median, ratio};
use super::server::ServerKind;
use crate::frame::rate;

/// A bound on a figure.
#[derive(Clone, Copy, Debug)]
enum Demand {
    /// A number in a second.
    Rate(f64),
    /// A percentage of the limit program's rate.
    PercentOfLimit(f64),
    /// A multiple of the rival's rate.
    Ratio(f64),
    /// The largest rise of the broker's processor time for a message against one queue, in per cent.
    CpuRisePercent(f64),
    /// A multiple of the rate of one event loop.
    LoopRatio(f64),
    /// A percentage of our rate in another case, and a multiple of it.
    PercentOf(CaseName, f64),
    Times(CaseName, f64),
    /// The most bytes that the broker writes for each byte of a publish.
    WrittenPerByte(f64),
}

use Demand::{CpuRisePercent, LoopRatio, PercentOf, PercentOfLimit, Rate, Ratio, Times, WrittenPerByte};

/// The level of a demand that has to be met, and of one that would be good.
const TARGET: &str = "target";
const GOAL: &str = "goal";

/// The demands on a scenario where syncs are delayed.
fn delayed_demands(scenario: Scenario) -> &'static [(&'static str, Demand)] {
    match scenario.case {
        CaseName::Publishers => {
            &[(TARGET, Times(CaseName::OneConfirm, 40.0)), (GOAL, Times(CaseName::OneConfirm, 48.0))]
        }
        CaseName::OneQueue => &[(TARGET, Rate(150e3)), (GOAL, Rate(300e3))],
        _ => &[],
    }
}

/// The demands on a scenario. Processor time that rises by less than 3% counts as unchanged.
fn demands(scenario: Scenario) -> &'static [(&'static str, Demand)] {
    match (scenario.case, scenario.size, scenario.loop_count) {
        (CaseName::Persistent, 16, _) => &[
            (TARGET, PercentOfLimit(40.0)),
            (TARGET, Ratio(12.0)),
            (GOAL, PercentOfLimit(70.0)),
            (TARGET, WrittenPerByte(2.0)),
            (GOAL, WrittenPerByte(1.5)),
        ],
        (CaseName::Persistent, 1024, _) => &[
            (TARGET, PercentOfLimit(40.0)),
            (TARGET, Ratio(12.0)),
            (GOAL, PercentOfLimit(70.0)),
            (TARGET, WrittenPerByte(1.4)),
            (GOAL, WrittenPerByte(1.2)),
        ],
        (CaseName::OneConfirm, ..) => &[(TARGET, PercentOfLimit(80.0)), (GOAL, PercentOfLimit(95.0))],
        (CaseName::Publishers, ..) => &[
            (TARGET, PercentOf(CaseName::TransientPublishers, 50.0)),
            (GOAL, PercentOf(CaseName::TransientPublishers, 70.0)),
        ],
        (CaseName::HundredQueues | CaseName::ThousandQueues, ..) => {
            &[(TARGET, PercentOf(CaseName::OneQueue, 80.0)), (GOAL, PercentOf(CaseName::OneQueue, 90.0))]
        }
        (CaseName::Publish, 16, _) => {
            &[(TARGET, Rate(5e6)), (TARGET, PercentOfLimit(15.0)), (GOAL, PercentOfLimit(30.0))]
        }
        (CaseName::Publish, 1024, _) => &[(TARGET, PercentOfLimit(40.0)), (GOAL, PercentOfLimit(70.0))],
        (CaseName::Publish, 131_072, _) => &[(TARGET, PercentOfLimit(60.0)), (GOAL, PercentOfLimit(85.0))],
        (CaseName::InOut, 16, _) => {
            &[(TARGET, Rate(3e6)), (TARGET, PercentOfLimit(20.0)), (GOAL, PercentOfLimit(35.0))]
        }
        (CaseName::InOut, 1024, _) => &[(TARGET, PercentOfLimit(45.0)), (GOAL, PercentOfLimit(70.0))],
        (CaseName::Confirms, 16, _) => &[(TARGET, Rate(1.5e6)), (GOAL, Rate(4e6))],
        (CaseName::FanOut, 64, _) => &[(TARGET, Ratio(20.0)), (GOAL, Ratio(50.0))],
        (CaseName::RoundTrip, 16, _) => &[(TARGET, Ratio(2.0)), (GOAL, PercentOfLimit(90.0))],
        (CaseName::Queues, 16, _) => &[(TARGET, CpuRisePercent(15.0)), (GOAL, CpuRisePercent(3.0))],
        (CaseName::HotQueue, 16, Some(2)) => &[(TARGET, LoopRatio(1.5))],
        (CaseName::HotQueue, 16, Some(4)) => &[(GOAL, LoopRatio(3.0))],
        _ => &[],
    }
}

/// Returns a sentence for each scenario that has targets and was measured.
pub fn conclude(evidence: &[Evidence], is_delayed: bool) -> Vec<String> {
    let scenarios = evidence.chunk_by(|one, other| one.scenario == other.scenario);
    let sentences = scenarios.filter_map(|contenders| {
        let scenario = contenders[0].scenario;
        let demands = if is_delayed { delayed_demands(scenario) } else { demands(scenario) }.iter();
        let verdicts = demands.filter_map(|(level, demand)| judge(evidence, scenario, *demand, level));
        let verdicts: Vec<String> = verdicts.collect();
        (!verdicts.is_empty()).then(|| format!("{scenario}: {}.", verdicts.join("; ")))
    });
    sentences.collect()
}

fn judge(evidence: &[Evidence], scenario: Scenario, demand: Demand, level: &str) -> Option<String> {
    let ours = |scenario| median(evidence, scenario, ServerKind::Node, Evidence::rate);
    let (is_reached, text) = match demand {
        Rate(wanted) => {
            let (found, unit) = (ours(scenario)?, scenario.case.unit());
            (found >= wanted, format!("{} {unit}, {level} {}", rate(found), rate(wanted)))
        }
        PercentOfLimit(wanted) => {
            let found = 100.0 * ratio(evidence, scenario, ServerKind::Limit)?;
            (found >= wanted, format!("{found:.0}% of the limit, {level} {wanted}%"))
        }
        Ratio(wanted) => {
            let found = ratio(evidence, scenario, ServerKind::RabbitMq)?;
            (found >= wanted, format!("{found:.1}x RabbitMQ, {level} {wanted}x"))
        }
        CpuRisePercent(wanted) => {
            let cost = |case| {
                median(evidence, Scenario { case, ..scenario }, ServerKind::Node, Evidence::broker_cpu_us)
            };
            let found = 100.0 * (cost(scenario.case)? / cost(CaseName::InOut)? - 1.0);
            let text = "processor time against one queue";
            (found <= wanted, format!("{found:+.0}% {text}, {level} at most {wanted:+}%"))
        }
        LoopRatio(wanted) => {
            let found = ours(scenario)? / ours(Scenario { loop_count: Some(1), ..scenario })?;
            (found >= wanted, format!("{found:.2}x one loop, {level} {wanted}x"))
        }
        PercentOf(case, wanted) => {
            let found = 100.0 * ours(scenario)? / ours(Scenario { case, ..scenario })?;
            (found >= wanted, format!("{found:.0}% of {}, {level} {wanted}%", case.text()))
        }
        Times(case, wanted) => {
            let found = ours(scenario)? / ours(Scenario { case, ..scenario })?;
            (found >= wanted, format!("{found:.1}x {}, {level} {wanted}x", case.text()))
        }
        WrittenPerByte(wanted) => {
            let found = median(evidence, scenario, ServerKind::Node, Evidence::written_per_byte)?;
            (found <= wanted, format!("{found:.2} bytes written for each, {level} at most {wanted}"))
        }
    };
    Some(format!("{text}: {}", verdict(is_reached)))
}

/// Compares a figure with its target and its goal, as in `target 10 s: reached; goal 3 s: missed`.
pub fn verdicts(wanted: [f64; 2], unit: &str, is_reached: impl Fn(f64) -> bool) -> String {
    let [target, goal] = wanted.map(|wanted| format!("{wanted}{unit}: {}", verdict(is_reached(wanted))));
    format!("{TARGET} {target}; {GOAL} {goal}")
}

/// Writes whether a target is reached.
pub fn verdict(is_reached: bool) -> &'static str {
    if is_reached { "reached" } else { "missed" }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::case;
    use super::{CaseName, ServerKind, conclude};

    const OURS: (ServerKind, &[f64]) = (ServerKind::Node, &[0.001]);

    #[test]
    fn each_target_has_its_verdict() {
        let limit: (_, &[f64]) = (ServerKind::Limit, &[0.0003]);
        let mut evidence = case(CaseName::InOut, 1.5, &[OURS, limit]);
        evidence.extend(case(CaseName::Queues, 1.6, &[OURS, limit]));
        let expected = [
            "in and out 16 B: 1.00M messages/s, target 3.00M: missed; 30% of the limit, target 20%: reached; 30% of the \
             limit, goal 35%: missed.",
            "4 queues 16 B: +5% processor time against one queue, target at most +15%: reached; +5% processor time \
             against one queue, goal at most +3%: missed.",
        ];
        assert_eq!(conclude(&evidence, false), expected);
    }

    #[test]
    fn durable_cases_are_compared_with_each_other() {
        let mut evidence = case(CaseName::OneConfirm, 1.0, &[(ServerKind::Node, &[1.0])]);
        evidence.extend(case(CaseName::Publishers, 1.0, &[(ServerKind::Node, &[0.02])]));
        evidence.extend(case(CaseName::TransientPublishers, 1.0, &[(ServerKind::Node, &[0.012])]));
        let of_transient = "100 publishers 16 B: 60% of 100 transient, target 50%: reached; 60% of 100 transient, goal 70%: missed.";
        assert_eq!(conclude(&evidence, false), [of_transient]);
        let of_one = "100 publishers 16 B: 50.0x one confirm, target 40x: reached; 50.0x one confirm, goal 48x: reached.";
        assert_eq!(conclude(&evidence, true), [of_one]);
    }

    #[test]
    fn without_ours_nothing_is_judged() {
        assert!(conclude(&case(CaseName::InOut, 1.5, &[(ServerKind::RabbitMq, &[1.0])]), false).is_empty());
    }
}
