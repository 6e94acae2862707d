//! The run of the study: finds message counts, samples the contenders in turns, counts system calls, reports.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::plan::{MESSAGE_COUNT_MIN, Plan, Scenario, Settings};
use crate::frame::tracer::Tracer;
use crate::frame::{Report, Row, Table, Value, name, rate, short, take_turns};
use crate::sample::{self, BATCH_COUNT, Calls, CaseName, ContenderName, Sample, Subject, Transport};

const LEGEND: &str = "\
Per message, or per round trip: rates are medians; \"limit\" is ours in percent of the limit program's rate; cpu s/M is user and \
system seconds of all processes per million, ours and the rival's; calls are system calls, wakes voluntary context \
switches of both ends together.";

/// A calibration that takes less is repeated with more messages.
const CALIBRATION_S_MIN: f64 = 0.03;
const CALIBRATION_ROUNDS_MAX: u32 = 4;
/// Messages of the shortest counting run: one batch call. Its counts come from the start and the end.
const COUNT_BASE: u64 = BATCH_COUNT as u64;
/// Messages of the longer counting run, as a share of a timed sample's.
const COUNT_SHARE: f64 = 0.3;
const MESSAGE_COUNT_MAX: u64 = 1_000_000_000;

/// Runs the study and prints its report.
pub fn run(settings: &Settings) -> Result<()> {
    let plan = Plan::new(settings);
    ensure!(!plan.scenarios.is_empty(), "nothing to measure: no case has rows for all of these options");
    let mut setting = sample::setting(&settings.rival);
    let tracer = Tracer::detect();
    setting.notes.push(match tracer {
        Some(tracer) => format!("system calls were counted by {}", tracer.name()),
        None => "system calls were not counted: neither perf nor strace works here".to_owned(),
    });
    setting.notes.extend(plan.notes().into_iter().map(str::to_owned));
    let mut rows = Vec::new();
    for scenario in &plan.scenarios {
        rows.extend(measure(scenario, &plan, setting.has_rival(), tracer)?);
    }
    let tables = vec![Table { key: "cases", title: "", rows, legend: LEGEND }];
    let about = format!("n = {}", plan.repeat_count);
    let report =
        Report { study: "sockets", setting, about, tables, conclusion: Vec::new(), charts: Vec::new() };
    report.print(settings.common.json)
}

/// Measures the contenders of a scenario in turns: ours beside the rival, then the limits.
fn measure(scenario: &Scenario, plan: &Plan, has_rival: bool, tracer: Option<Tracer>) -> Result<Vec<Row>> {
    let subject = |contender, calls| Subject { contender, calls, ..scenario.subject.clone() };
    let all_calls = || scenario.calls.iter().copied();
    // The rival has no batch calls.
    let rival_calls = |calls| if calls == Calls::Handle { calls } else { Calls::One };
    let of_rival: BTreeSet<Calls> = all_calls().filter(|_| has_rival).map(rival_calls).collect();
    let ours = all_calls().map(|calls| subject(ContenderName::Ours, calls));
    let rival = of_rival.into_iter().map(|calls| subject(ContenderName::Libzmq, calls));
    let limits = all_calls().map(|calls| subject(ContenderName::Limit, calls));
    let mut subjects: Vec<Subject> = ours.chain(rival).chain(limits).collect();
    subjects.iter_mut().try_for_each(|subject| calibrate(subject, plan.sample_s))?;
    let samples = take_turns("sockets", plan.repeat_count, &subjects, Sample::of)?;
    let of = |contender, calls| {
        let is_it = |subject: &Subject| subject.contender == contender && subject.calls == calls;
        subjects.iter().position(is_it).map_or(&[][..], |index| &samples[index])
    };
    let mut rows = Vec::new();
    for calls in all_calls() {
        let subject = subject(ContenderName::Ours, calls);
        let ours = of(ContenderName::Ours, calls);
        let rival = of(ContenderName::Libzmq, rival_calls(calls));
        let limit = of(ContenderName::Limit, calls);
        let message_count = ours.first().map_or(0, |sample| sample.message_count);
        let counted = count(&subject, message_count, tracer)?;
        rows.extend(row(&subject, (ours, rival, limit), counted));
    }
    Ok(rows)
}

/// System calls, if a tracer counts them, and allocations of a message.
type Counted = (Option<f64>, f64);

/// Counts in two samples of different lengths. Their difference leaves out the start and the end of a process.
fn count(subject: &Subject, message_count: u64, tracer: Option<Tracer>) -> Result<Counted> {
    let more = ((message_count as f64 * COUNT_SHARE) as u64).max(COUNT_BASE);
    let counted = |message_count| Sample::count(&Subject { message_count, ..subject.clone() }, tracer);
    let (short, long) = (counted(COUNT_BASE)?, counted(COUNT_BASE + more)?);
    let per_message = |long: u64, short: u64| long.saturating_sub(short) as f64 / more as f64;
    let calls = long.system_calls.zip(short.system_calls).map(|(long, short)| per_message(long, short));
    Ok((calls, per_message(long.usage.allocations, short.usage.allocations)))
}

/// The row of a subject of ours, from the samples of ours, the rival and the limit program.
fn row(
    subject: &Subject,
    (ours, rival, limit): (&[Sample], &[Sample], &[Sample]),
    (system_calls, allocations): Counted,
) -> Option<Row> {
    let rates = |samples| Sample::spread(samples, Sample::rate);
    let medians = |figure| [ours, rival].map(|samples| Some(Sample::spread(samples, figure)?.median));
    let (our_rate, limit_rate) = (rates(ours)?, rates(limit)?);
    let [cpu, rival_cpu] = medians(Sample::cpu_s_per_million);
    let [wakes, rival_wakes] = medians(Sample::wake_ups);
    let cpu_text = [cpu, rival_cpu].into_iter().flatten().map(short).collect::<Vec<_>>().join(" / ");
    let row = Row::default()
        .show("case", "case", Value::text(name(&subject.case)))
        .show("transport", "over", Value::text(name(&subject.transport)))
        .show("size", "size", Value::count(subject.size))
        .show("calls", "calls", Value::text(name(&subject.calls)))
        .keep("unit", Value::text(subject.case.unit()))
        .keep("n", Value::count(ours.len()))
        .keep("messages", Value::count(ours.first()?.message_count))
        .compare(our_rate, rates(rival))
        .keep("limit", Value::spread(limit_rate, rate))
        .keep("limit_name", Value::text(limit_name(subject)))
        .show("percent_of_limit", "limit", Value::percent(100.0 * our_rate.median / limit_rate.median))
        .show("cpu_s_per_million", "cpu s/M", Value::other(cpu, cpu_text))
        .keep("rival_cpu_s_per_million", Value::figure(rival_cpu, short))
        .show("system_calls_per_message", "calls/msg", Value::figure(system_calls, short))
        .show("allocations_per_message", "allocs/msg", Value::figure(allocations, short))
        .show("wake_ups_per_message", "wakes/msg", Value::figure(wakes, short))
        .keep("rival_wake_ups_per_message", Value::figure(rival_wakes, short));
    Some(row)
}

/// Describes the limit program: streams over tcp, rings over the other transports.
fn limit_name(subject: &Subject) -> String {
    let (members, place) = match subject.transport {
        Transport::Inproc => ("threads", ""),
        _ => ("processes", " in shared memory"),
    };
    let text = match (subject.case, subject.transport == Transport::Tcp, subject.calls) {
        (CaseName::Curve, ..) => "bare framing and the cipher",
        (CaseName::RoundTrip, true, Calls::Spin) => {
            "reads that do not wait, over and over, and writes on two streams"
        }
        (CaseName::RoundTrip, true, _) => "blocking reads and writes on two streams",
        (CaseName::RoundTrip, false, Calls::Spin) => "rings between two {members} that look",
        (CaseName::RoundTrip, false, _) => "rings between two {members} that sleep on a futex",
        (CaseName::Echo, true, _) => "bare framing both ways over one stream",
        (CaseName::Echo, false, _) => "two rings{place}",
        (CaseName::PubSub, true, _) => "bare framing, the same bytes written to four streams",
        (CaseName::PubSub, false, _) => "four rings{place}",
        (CaseName::Throughput, true, Calls::Batch) => "bare framing, a lock exchange per 64 messages",
        (CaseName::Throughput, true, _) => "bare framing, a lock exchange per message",
        (CaseName::Throughput, false, Calls::Handle) => "ring of words published per message",
        (CaseName::Throughput, false, Calls::Batch) => "ring{place} published per 64 messages",
        (CaseName::Throughput, false, _) => "ring{place} published per message",
    };
    text.replace("{members}", members).replace("{place}", place)
}

/// Gives the subject as many messages as take about `sample_s` seconds.
fn calibrate(subject: &mut Subject, sample_s: f64) -> Result<()> {
    let mut sample = Sample::of(subject)?;
    for _ in 1..CALIBRATION_ROUNDS_MAX {
        if sample.elapsed_s >= CALIBRATION_S_MIN {
            break;
        }
        let factor = (2.0 * CALIBRATION_S_MIN / sample.elapsed_s).clamp(2.0, 20.0);
        subject.message_count = (subject.message_count as f64 * factor) as u64;
        sample = Sample::of(subject)?;
    }
    let scaled = (sample.rate() * sample_s) as u64;
    subject.message_count = scaled.clamp(MESSAGE_COUNT_MIN, MESSAGE_COUNT_MAX);
    Ok(())
}
