//! Targets reached and missed, in sentences.

use super::case::CaseName;
use super::hostile::{HostileRow, P999_MS_WANTED, PERCENT_WANTED};
use super::idle::IdleRow;
use super::report::Case;
use super::server::ServerKind;
use super::target::{CONNECTION_TARGETS, Demand, targets};
use crate::figures::rate;

const MIB: f64 = 1_048_576.0;

/// A sentence for each row that has targets and was measured.
pub fn conclude(cases: &[Case], connections: &[IdleRow], hostile: &[HostileRow]) -> Vec<String> {
    let sentences = cases.iter().filter_map(|case| {
        let verdicts: Vec<String> = targets(case.row)
            .iter()
            .filter_map(|(level, demand)| verdict(cases, case, *demand, level.text()))
            .collect();
        (!verdicts.is_empty()).then(|| format!("{}: {}.", case.row.text(), verdicts.join("; ")))
    });
    let connections = connections.iter().filter_map(judge_connections);
    sentences.chain(connections).chain(hostile.iter().filter_map(judge_load)).collect()
}

fn verdict(cases: &[Case], case: &Case, demand: Demand, level: &str) -> Option<String> {
    let at_least = |found: f64, wanted: f64| if found >= wanted { "reached" } else { "missed" };
    match demand {
        Demand::Rate(wanted) => {
            let found = case.of(ServerKind::Node)?.rate.median;
            let unit = case.unit;
            Some(format!("{} {unit}, {level} {}: {}", rate(found), rate(wanted), at_least(found, wanted)))
        }
        Demand::PercentOfLimit(wanted) => {
            let found = case.percent_of_limit?;
            Some(format!("{found:.0}% of the limit, {level} {wanted}%: {}", at_least(found, wanted)))
        }
        Demand::Ratio(wanted) => {
            let found = case.ratio?;
            Some(format!("{found:.1}x RabbitMQ, {level} {wanted}x: {}", at_least(found, wanted)))
        }
        Demand::CpuRisePercent(wanted) => {
            let found = cpu_rise_percent(cases, case)?;
            let verdict = if found <= wanted { "reached" } else { "missed" };
            Some(format!(
                "{found:+.0}% processor time against one queue, {level} at most {wanted:+}%: {verdict}"
            ))
        }
        Demand::LoopRatio(wanted) => {
            let of_one = |other: &&Case| other.row.loop_count == Some(1) && other.size == case.size;
            let one = cases.iter().find(of_one)?.of(ServerKind::Node)?.rate.median;
            let found = case.of(ServerKind::Node)?.rate.median / one;
            Some(format!("{found:.2}x one loop, {level} {wanted}x: {}", at_least(found, wanted)))
        }
    }
}

/// By how much more of our broker's processor time a message costs in `case` than with one queue.
fn cpu_rise_percent(cases: &[Case], case: &Case) -> Option<f64> {
    let is_one = |other: &&Case| other.row.case == CaseName::InOut && other.size == case.size;
    let cost = |case: &Case| Some(case.of(ServerKind::Node)?.broker()?.cpu_us.median);
    let one = cost(cases.iter().find(is_one)?)?;
    Some(100.0 * (cost(case)? / one - 1.0))
}

fn judge_connections(row: &IdleRow) -> Option<String> {
    let (count, targets) = CONNECTION_TARGETS;
    if row.connections != count || row.kind != ServerKind::Node {
        return None;
    }
    let verdicts = targets.map(|(level, wanted)| {
        let verdict = if row.memory_bytes as f64 <= wanted { "reached" } else { "missed" };
        format!("{} {} MiB: {verdict}", level.text(), wanted / MIB)
    });
    let found = row.memory_bytes as f64 / MIB;
    Some(format!("{count} idle connections: {found:.1} MiB, {}.", verdicts.join("; ")))
}

fn judge_load(row: &HostileRow) -> Option<String> {
    if row.kind != ServerKind::Node {
        return None;
    }
    if let Some(p999_ms) = &row.round_trip_p999_ms {
        // Both use the processors; the load must not hold good clients up.
        let found = p999_ms.median;
        let verdict = if found <= P999_MS_WANTED { "reached" } else { "missed" };
        let load = &row.load;
        return Some(format!(
            "beside {load}: round trips of {found:.1} ms (p99.9), target {P999_MS_WANTED} ms: {verdict}."
        ));
    }
    let found = row.percent.median;
    let verdict = if found >= PERCENT_WANTED { "reached" } else { "missed" };
    Some(format!("beside {}: {found:.0}% of the rate, target {PERCENT_WANTED}%: {verdict}.", row.load))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::case;
    use super::{CaseName, IdleRow, ServerKind, conclude};

    const OURS: (ServerKind, &[f64]) = (ServerKind::Node, &[0.001]);

    #[test]
    fn each_target_has_its_verdict() {
        let limit: (_, &[f64]) = (ServerKind::Limit, &[0.0003]);
        let cases = [case(CaseName::InOut, 1.5, &[OURS, limit]), case(CaseName::Queues, 1.6, &[OURS, limit])];
        let expected = [
            "in and out 16 B: 1.00M messages/s, target 3.00M: missed; 30% of the limit, target 20%: reached; 30% of the \
             limit, goal 35%: missed.",
            "4 queues 16 B: +5% processor time against one queue, target at most +15%: reached; +5% processor time \
             against one queue, goal at most +3%: missed.",
        ];
        assert_eq!(conclude(&cases, &[], &[]), expected);
    }

    #[test]
    fn without_ours_nothing_is_judged() {
        let cases = [case(CaseName::InOut, 1.5, &[(ServerKind::RabbitMq, &[1.0])])];
        assert!(conclude(&cases, &[], &[]).is_empty());
    }

    #[test]
    fn connections_are_judged_if_there_are_as_many_as_the_target_says() {
        let row = |connections| IdleRow::new(ServerKind::Node, connections, 40 << 20, 1.0);
        let sentence = "10000 idle connections: 40.0 MiB, target 60 MiB: reached; goal 30 MiB: missed.";
        assert_eq!(conclude(&[], &[row(10_000), row(1_000)], &[]), [sentence]);
    }
}
