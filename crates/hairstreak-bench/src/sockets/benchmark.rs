//! The run of the study: finds message counts, samples the contenders in turns, counts system calls, reports.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::plan::{Plan, Settings};
use crate::frame::tracer::Tracer;
use crate::frame::{Report, Row, Spread, Table, Value, name, rate, short, take_turns};
use crate::sample::{
    self, BATCH_COUNT, Calls, CaseName, ContenderName, Sample, Scenario, Subject, Transport,
};

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
const MESSAGE_COUNT_MIN: u64 = 200;
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
    if plan.scenarios.iter().any(|scenario| scenario.transport == Transport::Inproc) {
        setting
            .notes
            .push("the threads of an inproc sample keep to a core each, for all contenders".to_owned());
    }
    setting.notes.extend(plan.notes().map(str::to_owned));
    let mut rows = Vec::new();
    for scenario in &plan.scenarios {
        let turns =
            Turns { scenario, plan: &plan, libzmq: &settings.rival.libzmq, has_rival: setting.has_rival() };
        rows.extend(turns.measure(tracer)?);
    }
    let tables = vec![Table { key: "cases", title: "", rows, legend: LEGEND }];
    let about = format!("n = {}", plan.repeat_count);
    let report =
        Report { study: "sockets", setting, about, tables, conclusion: Vec::new(), charts: Vec::new() };
    report.print(settings.common.json)
}

/// The contenders of one scenario.
struct Turns<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    libzmq: &'a str,
    has_rival: bool,
}

impl<'a> Turns<'a> {
    fn measure(&self, tracer: Option<Tracer>) -> Result<Vec<Row>> {
        let mut subjects = self.subjects();
        subjects.iter_mut().try_for_each(|subject| calibrate(subject, self.plan.sample_s))?;
        let samples = take_turns("sockets", self.plan.repeat_count, &subjects, Subject::sample)?;
        let of = |contender, calls| {
            let is_it = |subject: &Subject<'_>| subject.contender == contender && subject.calls == calls;
            subjects.iter().position(is_it).map_or(&[][..], |index| &samples[index])
        };
        let mut rows = Vec::new();
        for &calls in &self.scenario.calls {
            let ours = of(ContenderName::Ours, calls);
            let rival = of(ContenderName::Libzmq, rival_calls(calls));
            let limit = of(ContenderName::Limit, calls);
            let message_count = ours.first().map_or(0, |sample| sample.message_count);
            let counted = count(self.subject(ContenderName::Ours, calls), message_count, tracer)?;
            rows.extend(row(self.scenario, calls, (ours, rival, limit), counted));
        }
        Ok(rows)
    }

    /// A subject that takes a few hundredths of a second on a slow machine.
    fn subject(&self, contender: ContenderName, calls: Calls) -> Subject<'a> {
        let message_count = match self.scenario.case {
            CaseName::RoundTrip => 500,
            _ => (50_000_000 / (500 + self.scenario.size as u64)).max(MESSAGE_COUNT_MIN),
        };
        Subject { scenario: self.scenario, contender, calls, message_count, libzmq: self.libzmq }
    }

    /// Ours beside the rival, then the limits: the order of the turns.
    fn subjects(&self) -> Vec<Subject<'a>> {
        let calls = &self.scenario.calls;
        let ours = calls.iter().map(|&calls| self.subject(ContenderName::Ours, calls));
        let rival = calls.iter().filter(|_| self.has_rival).map(|&calls| rival_calls(calls));
        let rival = BTreeSet::from_iter(rival).into_iter();
        let rival = rival.map(|calls| self.subject(ContenderName::Libzmq, calls));
        let limits = calls.iter().map(|&calls| self.subject(ContenderName::Limit, calls));
        ours.chain(rival).chain(limits).collect()
    }
}

/// System calls, if a tracer counts them, and allocations of a message.
type Counted = (Option<f64>, f64);

/// Counts in two samples of different lengths. Their difference leaves out the start and the end of a process.
fn count(subject: Subject<'_>, message_count: u64, tracer: Option<Tracer>) -> Result<Counted> {
    let more = ((message_count as f64 * COUNT_SHARE) as u64).max(COUNT_BASE);
    let short = Subject { message_count: COUNT_BASE, ..subject }.count(tracer)?;
    let long = Subject { message_count: COUNT_BASE + more, ..subject }.count(tracer)?;
    let per_message = |long: u64, short: u64| long.saturating_sub(short) as f64 / more as f64;
    let calls = long.system_calls.zip(short.system_calls).map(|(long, short)| per_message(long, short));
    Ok((calls, per_message(long.usage.allocations, short.usage.allocations)))
}

/// The row of a scenario and a way of calling, from the samples of ours, the rival and the limit program.
fn row(
    scenario: &Scenario,
    calls: Calls,
    (ours, rival, limit): (&[Sample], &[Sample], &[Sample]),
    (system_calls, allocations): Counted,
) -> Option<Row> {
    let rates = |samples: &[Sample]| Spread::of(samples.iter().map(Sample::rate));
    let median = |samples: &[Sample], of: fn(&Sample) -> f64| {
        Spread::of(samples.iter().map(of)).map(|spread| spread.median)
    };
    let (our_rate, rival_rate, limit_rate) = (rates(ours)?, rates(rival), rates(limit)?);
    let (cpu, rival_cpu) =
        (median(ours, Sample::cpu_s_per_million)?, median(rival, Sample::cpu_s_per_million));
    let cpu_text = rival_cpu.map_or_else(|| short(cpu), |rival| format!("{} / {}", short(cpu), short(rival)));
    let row = Row::default()
        .show("case", "case", Value::text(name(&scenario.case)))
        .show("transport", "over", Value::text(name(&scenario.transport)))
        .show("size", "size", Value::count(scenario.size))
        .show("calls", "calls", Value::text(name(&calls)))
        .keep("unit", Value::text(scenario.case.unit()))
        .keep("n", Value::count(ours.len()))
        .keep("messages", Value::count(ours.first()?.message_count))
        .compare(our_rate, rival_rate)
        .keep("limit", Value::spread(limit_rate, rate))
        .keep("limit_name", Value::text(limit_name(scenario, calls)))
        .show("percent_of_limit", "limit", Value::percent(100.0 * our_rate.median / limit_rate.median))
        .show("cpu_s_per_million", "cpu s/M", Value::other(cpu, cpu_text))
        .keep("rival_cpu_s_per_million", Value::figure(rival_cpu, short))
        .show("system_calls_per_message", "calls/msg", Value::figure(system_calls, short))
        .show("allocations_per_message", "allocs/msg", Value::figure(allocations, short))
        .show("wake_ups_per_message", "wakes/msg", Value::figure(median(ours, Sample::wake_ups)?, short))
        .keep("rival_wake_ups_per_message", Value::figure(median(rival, Sample::wake_ups), short));
    Some(row)
}

fn limit_name(scenario: &Scenario, calls: Calls) -> &'static str {
    match (scenario.case, scenario.transport, calls) {
        (CaseName::RoundTrip, Transport::Inproc, Calls::Spin) => "rings between two threads that look",
        (CaseName::RoundTrip, Transport::Inproc, _) => "rings between two threads that sleep on a futex",
        (CaseName::RoundTrip, Transport::Ipc | Transport::Shm, Calls::Spin) => {
            "rings between two processes that look"
        }
        (CaseName::RoundTrip, Transport::Ipc | Transport::Shm, _) => {
            "rings between two processes that sleep on a futex"
        }
        (CaseName::RoundTrip, _, Calls::Spin) => {
            "reads that do not wait, over and over, and writes on two streams"
        }
        (CaseName::RoundTrip, _, _) => "blocking reads and writes on two streams",
        (CaseName::Echo, Transport::Inproc, _) => "two rings",
        (CaseName::Echo, Transport::Ipc | Transport::Shm, _) => "two rings in shared memory",
        (CaseName::Echo, _, _) => "bare framing both ways over one stream",
        (CaseName::Curve, _, _) => "bare framing and the cipher",
        (CaseName::PubSub, Transport::Inproc, _) => "four rings",
        (CaseName::PubSub, Transport::Ipc | Transport::Shm, _) => "four rings in shared memory",
        (CaseName::PubSub, _, _) => "bare framing, the same bytes written to four streams",
        (_, Transport::Inproc, Calls::One | Calls::Spin) => "ring published per message",
        (_, Transport::Inproc, Calls::Handle) => "ring of words published per message",
        (_, Transport::Inproc, Calls::Batch) => "ring published per 64 messages",
        (_, Transport::Ipc | Transport::Shm, Calls::Batch) => {
            "ring in shared memory published per 64 messages"
        }
        (_, Transport::Ipc | Transport::Shm, _) => "ring in shared memory published per message",
        (_, _, Calls::One | Calls::Handle | Calls::Spin) => "bare framing, a lock exchange per message",
        (_, _, Calls::Batch) => "bare framing, a lock exchange per 64 messages",
    }
}

/// Returns the calls of the rival in the row of `calls`. The rival has no batch calls.
fn rival_calls(calls: Calls) -> Calls {
    match calls {
        Calls::One | Calls::Batch | Calls::Spin => Calls::One,
        Calls::Handle => Calls::Handle,
    }
}

/// Gives the subject as many messages as take about `sample_s` seconds.
fn calibrate(subject: &mut Subject<'_>, sample_s: f64) -> Result<()> {
    let mut sample = subject.sample()?;
    for _ in 1..CALIBRATION_ROUNDS_MAX {
        if sample.elapsed_s >= CALIBRATION_S_MIN {
            break;
        }
        let factor = (2.0 * CALIBRATION_S_MIN / sample.elapsed_s).clamp(2.0, 20.0);
        subject.message_count = (subject.message_count as f64 * factor) as u64;
        sample = subject.sample()?;
    }
    let scaled = (sample.rate() * sample_s) as u64;
    subject.message_count = scaled.clamp(MESSAGE_COUNT_MIN, MESSAGE_COUNT_MAX);
    Ok(())
}
