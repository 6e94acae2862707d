//! The source's question, answered by the figures of this run: network card, kernel sockets or memory?
//!
//! A stream that disturbs another makes its messages cost more processor time, for any number of cores. A comparison
//! shows the disturbed part: over tcp all parts but the card are in use (loopback), over shared memory no kernel socket
//! is in use, between threads of one process only memory is in use.

use super::plan::{CONTROL_SIZE, CONTROL_TRANSPORTS};
use crate::frame::{Row, Spread, Value, name, rate, short};
use crate::sample::{ContenderName, Sample, Subject, Transport};

/// The processor time of a message with some streams over one transport.
#[derive(Clone, Debug)]
pub struct Control {
    /// The contender, the transport, and the streams at the same time.
    pub subject: Subject,
    /// Samples.
    pub n: usize,
    /// Median rate of all streams together, messages/s.
    pub rate: f64,
    /// User and system seconds of all processes per million messages.
    pub cpu_s_per_million: Spread,
    /// The kernel's part of that time, in per cent, of all samples together.
    pub kernel_percent: f64,
    /// Rise of the time over that of the fewest streams, in per cent of the medians.
    pub rise_percent: f64,
}

impl Control {
    /// The control of these samples, beside the control with the fewest streams, if there is one before. `None` without a sample.
    pub fn new(subject: &Subject, samples: &[Sample], fewest: Option<&Control>) -> Option<Control> {
        let cpu = Sample::spread(samples, Sample::cpu_s_per_million)?;
        let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let (all, kernel) = (sum(|sample| sample.usage.cpu_s), sum(|sample| sample.usage.system_s));
        let first = fewest.map_or(cpu, |fewest| fewest.cpu_s_per_million);
        Some(Control {
            subject: subject.clone(),
            n: samples.len(),
            rate: Sample::spread(samples, Sample::rate)?.median,
            cpu_s_per_million: cpu,
            kernel_percent: if all > 0.0 { 100.0 * kernel / all } else { 0.0 },
            rise_percent: 100.0 * (cpu.median / first.median - 1.0),
        })
    }

    /// The row of the table.
    pub fn row(&self) -> Row {
        Row::default()
            .show("contender", "contender", Value::text(self.subject.contender.text()))
            .show("transport", "over", Value::text(name(&self.subject.transport)))
            .show("size", "size", Value::count(self.subject.size))
            .show("streams", "streams", Value::count(self.subject.stream_count))
            .show("n", "n", Value::count(self.n))
            .keep("messages", Value::count(self.subject.message_count))
            .show("rate", "messages/s", Value::figure(self.rate, rate))
            .show("cpu_s_per_million", "cpu s/M [min-max]", Value::spread(self.cpu_s_per_million, short))
            .show("kernel_percent", "kernel", Value::percent(self.kernel_percent))
            .show("rise_percent", "rise", Value::figure(self.rise_percent, |rise| format!("{rise:+.1}%")))
    }
}

/// A rise beyond this is contention, in percent; a smaller one is within the difference between two runs.
pub const RISE_PERCENT_MAX: f64 = 10.0;

/// Sentences about the controls of ours. There are none if a control is missing. `bodies` are the bytes of bodies per second
/// of the row of ours that had the most, `copied` the bytes per second that one core copies from memory to memory.
pub fn conclude(controls: &[Control], bodies: f64, copied: f64, cores: usize) -> Vec<String> {
    let pairs = CONTROL_TRANSPORTS.map(|transport| Pair::of(controls, transport));
    let [Some(tcp), Some(shm), Some(inproc)] = pairs else { return Vec::new() };
    let [few, many] = [tcp.few, tcp.many].map(|control| control.subject.stream_count);
    let (n, kernel_percent) = (tcp.many.n, tcp.few.kernel_percent);
    let [tcp_rise, shm_rise, inproc_rise] = [&tcp, &shm, &inproc].map(|pair| pair.many.rise_percent);
    let kernel_ns = (tcp.few.cpu_s_per_million.median - shm.few.cpu_s_per_million.median) * 1000.0;
    let (cost_ns, more) = (kernel_ns.abs(), if kernel_ns >= 0.0 { "more" } else { "less" });
    let (bodies, copied) = (bodies / 1e9, copied / 1e9);
    vec![
        format!(
            "From {few} to {many} streams of {CONTROL_SIZE} B the processor time of a message changes by \
             {tcp_rise:+.1}% over tcp, {shm_rise:+.1}% over shared memory and {inproc_rise:+.1}% between threads (n = {n})."
        ),
        "Network card: it took no part; tcp ran over the loopback interface, the controls over no network at all."
            .to_owned(),
        format!(
            "Kernel sockets: {kernel_percent:.0}% of the processor time over tcp is the kernel's, and a message costs \
             {cost_ns:.0} ns {more} over tcp than over shared memory."
        ),
        format!(
            "Memory: at most {bodies:.2} GB/s of bodies went through, {:.0}% of the {copied:.1} GB/s that one core copies here.",
            100.0 * bodies / copied
        ),
        verdict(&tcp, &shm, &inproc, cores),
    ]
}

fn verdict(tcp: &Pair<'_>, shm: &Pair<'_>, inproc: &Pair<'_>, cores: usize) -> String {
    let contends = |pair: &Pair<'_>| pair.many.rise_percent > RISE_PERCENT_MAX;
    let cause = match (contends(tcp), contends(shm) || contends(inproc)) {
        (false, false) => {
            return format!(
                "So the streams disturb each other nowhere (no rise above {RISE_PERCENT_MAX}%): what bounds their total, \
                 {:.2} times that of the fewest, is the processor time of {cores} cores.",
                tcp.many.rate / tcp.few.rate,
            );
        }
        (true, false) => "the kernel's sockets: the rise is there over tcp and not in the controls.",
        (true, true) => {
            "memory, caches and the waiting for a core: the rise is there where no kernel socket takes part."
        }
        (false, true) => {
            "memory, caches and the waiting for a core, and only where the kernel's sockets do not outweigh it: \
             the rise is in the controls and not over tcp."
        }
    };
    format!("So it is {cause}")
}

/// The controls of the fewest and the most streams over one transport.
struct Pair<'a> {
    few: &'a Control,
    many: &'a Control,
}

impl<'a> Pair<'a> {
    fn of(controls: &'a [Control], transport: Transport) -> Option<Self> {
        let is_it = |control: &&Control| {
            control.subject.contender == ContenderName::Ours && control.subject.transport == transport
        };
        let few = controls.iter().filter(is_it).min_by_key(|control| control.subject.stream_count)?;
        let many = controls.iter().filter(is_it).max_by_key(|control| control.subject.stream_count)?;
        Some(Self { few, many })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::usage::Usage;
    use crate::sample::CaseName;

    fn control(transport: Transport, streams: usize, rise_percent: f64) -> Control {
        let median = 0.05 * (1.0 + rise_percent / 100.0);
        let subject = Subject::of_limit(CaseName::Throughput, transport, 8);
        let subject = Subject { contender: ContenderName::Ours, stream_count: streams, ..subject };
        Control {
            subject,
            n: 7,
            rate: 1e6 * streams as f64,
            cpu_s_per_million: Spread { median, min: median, max: median },
            kernel_percent: 40.0,
            rise_percent,
        }
    }

    fn verdict_of(tcp: f64, shm: f64, inproc: f64) -> String {
        let rises = [(Transport::Tcp, tcp), (Transport::Shm, shm), (Transport::Inproc, inproc)];
        let controls: Vec<Control> = rises
            .iter()
            .flat_map(|&(transport, rise)| [control(transport, 1, 0.0), control(transport, 4, rise)])
            .collect();
        let sentences = conclude(&controls, 1e9, 4e9, 2);
        assert!(sentences[3].contains("1.00 GB/s of bodies went through, 25%"), "{}", sentences[3]);
        sentences.last().cloned().unwrap_or_default()
    }

    #[test]
    fn flat_processor_time_is_no_contention() {
        let text = verdict_of(9.9, -3.0, 4.0);
        assert!(text.contains("nowhere") && text.contains("4.00 times"), "{text}");
    }

    #[test]
    fn a_rise_over_tcp_alone_is_the_kernels_sockets() {
        assert!(verdict_of(10.1, 0.0, 0.0).contains("it is the kernel's sockets"));
    }

    #[test]
    fn a_rise_where_there_is_no_kernel_socket_is_memory() {
        assert!(verdict_of(30.0, 0.0, 20.0).contains("it is memory"));
        assert!(verdict_of(0.0, 20.0, 0.0).contains("it is memory"));
    }

    #[test]
    fn without_a_control_there_is_no_conclusion() {
        assert!(conclude(&[control(Transport::Tcp, 1, 0.0)], 1.0, 1.0, 2).is_empty());
    }

    #[test]
    fn a_rise_is_that_of_the_medians() {
        let samples = [0.1, 0.11, 0.9].map(|cpu_s| {
            let usage = Usage { cpu_s, system_s: cpu_s / 4.0, voluntary_switches: 0, allocations: 0 };
            Sample { message_count: 2000, timed_count: 2000, elapsed_s: 1.0, usage, system_calls: None }
        });
        let subject = Subject::of_limit(CaseName::Throughput, Transport::Tcp, 8);
        let fewest = Control::new(&subject, &samples[..1], None).unwrap();
        assert_eq!((fewest.cpu_s_per_million.median, fewest.rise_percent), (50.0, 0.0));
        let control = Control::new(&subject, &samples, Some(&fewest)).unwrap();
        assert_eq!(control.cpu_s_per_million.median, 55.0);
        assert!((control.rise_percent - 10.0).abs() < 1e-9, "{}", control.rise_percent);
        assert!((control.kernel_percent - 25.0).abs() < 1e-9, "{}", control.kernel_percent);
    }
}
