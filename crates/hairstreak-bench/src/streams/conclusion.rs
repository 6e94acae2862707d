//! The source's question, answered by the figures of this run: network card, kernel sockets or memory?
//!
//! A stream that disturbs another makes its messages cost more processor time, for any number of cores. A comparison
//! shows the disturbed part: over tcp all parts but the card are in use (loopback), over shared memory no kernel socket
//! is in use, between threads of one process only memory is in use.

use super::plan::CONTROL_SIZE;
use crate::frame::Spread;
use crate::sample::{Sample, Scenario, Transport};

/// The processor time of a message with some streams over one transport.
#[derive(Clone, Debug)]
pub struct Control {
    /// The transport.
    pub transport: Transport,
    /// Streams at the same time.
    pub streams: usize,
    /// Samples.
    pub n: usize,
    /// Median rate of all streams together, messages/s.
    pub rate: f64,
    /// User and system seconds of all processes per million messages, median.
    pub cpu_s_per_million: f64,
    /// The kernel's part of that time, in per cent, of all samples together.
    pub kernel_percent: f64,
    /// Rise of the time over that of the fewest streams, in per cent of the medians.
    pub rise_percent: f64,
}

impl Control {
    /// The control of these samples, where a million messages cost `first` seconds with the fewest streams. `None` without a sample.
    pub fn new(scenario: &Scenario, samples: &[Sample], first: f64) -> Option<Control> {
        let cpu = Spread::of(samples.iter().map(Sample::cpu_s_per_million))?.median;
        let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let (all, kernel) = (sum(|sample| sample.usage.cpu_s), sum(|sample| sample.usage.system_s));
        Some(Control {
            transport: scenario.transport,
            streams: scenario.stream_count,
            n: samples.len(),
            rate: Spread::of(samples.iter().map(Sample::rate))?.median,
            cpu_s_per_million: cpu,
            kernel_percent: if all > 0.0 { 100.0 * kernel / all } else { 0.0 },
            rise_percent: 100.0 * (cpu / first - 1.0),
        })
    }
}

/// A rise beyond this is contention, in percent; a smaller one is within the difference between two runs.
pub const RISE_PERCENT_MAX: f64 = 10.0;

/// The load of the run's largest messages on memory.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Bytes of bodies per second, the most that any row of ours had.
    pub bytes_per_s: f64,
    /// Bytes per second that one core copies from memory to memory.
    pub copied_bytes_per_s: f64,
}

/// Sentences about the results of the controls; none if a control is missing.
pub fn conclude(ours: &[Control], load: Load, cores: usize) -> Vec<String> {
    let (Some(tcp), Some(shm), Some(inproc)) =
        (Pair::of(ours, Transport::Tcp), Pair::of(ours, Transport::Shm), Pair::of(ours, Transport::Inproc))
    else {
        return Vec::new();
    };
    let kernel_ns = (tcp.few.cpu_s_per_million - shm.few.cpu_s_per_million) * 1000.0;
    vec![
        format!(
            "From {} to {} streams of {} B the processor time of a message changes by {:+.1}% over tcp, {:+.1}% over \
             shared memory and {:+.1}% between threads (n = {}).",
            tcp.few.streams,
            tcp.many.streams,
            CONTROL_SIZE,
            tcp.many.rise_percent,
            shm.many.rise_percent,
            inproc.many.rise_percent,
            tcp.many.n,
        ),
        "Network card: it took no part; tcp ran over the loopback interface, the controls over no network at all."
            .to_owned(),
        format!(
            "Kernel sockets: {:.0}% of the processor time over tcp is the kernel's, and a message costs {:.0} ns \
             {} over tcp than over shared memory.",
            tcp.few.kernel_percent,
            kernel_ns.abs(),
            if kernel_ns >= 0.0 { "more" } else { "less" },
        ),
        format!(
            "Memory: at most {:.2} GB/s of bodies went through, {:.0}% of the {:.1} GB/s that one core copies here.",
            load.bytes_per_s / 1e9,
            100.0 * load.bytes_per_s / load.copied_bytes_per_s,
            load.copied_bytes_per_s / 1e9,
        ),
        verdict(&tcp, &shm, &inproc, cores),
    ]
}

fn verdict(tcp: &Pair<'_>, shm: &Pair<'_>, inproc: &Pair<'_>, cores: usize) -> String {
    let contends = |pair: &Pair<'_>| pair.many.rise_percent > RISE_PERCENT_MAX;
    match (contends(tcp), contends(shm) || contends(inproc)) {
        (false, false) => format!(
            "So the streams disturb each other nowhere (no rise above {RISE_PERCENT_MAX}%): what bounds their total, \
             {:.2} times that of the fewest, is the processor time of {cores} cores.",
            tcp.many.rate / tcp.few.rate,
        ),
        (true, false) => "So it is the kernel's sockets: the rise is there over tcp and not in the controls."
            .to_owned(),
        (true, true) => {
            "So it is memory, caches and the waiting for a core: the rise is there where no kernel socket takes part."
                .to_owned()
        }
        (false, true) => {
            "So it is memory, caches and the waiting for a core, and only where the kernel's sockets do not outweigh \
             it: the rise is in the controls and not over tcp."
                .to_owned()
        }
    }
}

/// The controls of the fewest and the most streams over one transport.
struct Pair<'a> {
    few: &'a Control,
    many: &'a Control,
}

impl<'a> Pair<'a> {
    fn of(controls: &'a [Control], transport: Transport) -> Option<Self> {
        let of_transport = || controls.iter().filter(|control| control.transport == transport);
        let few = of_transport().min_by_key(|control| control.streams)?;
        let many = of_transport().max_by_key(|control| control.streams)?;
        Some(Self { few, many })
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Load, Scenario, Transport, conclude};
    use crate::frame::usage::Usage;
    use crate::sample::{Calls, CaseName, Sample};

    fn control(transport: Transport, streams: usize, rise_percent: f64) -> Control {
        Control {
            transport,
            streams,
            n: 7,
            rate: 1e6 * streams as f64,
            cpu_s_per_million: 0.05 * (1.0 + rise_percent / 100.0),
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
        let load = Load { bytes_per_s: 1e9, copied_bytes_per_s: 4e9 };
        let sentences = conclude(&controls, load, 2);
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
        let load = Load { bytes_per_s: 1.0, copied_bytes_per_s: 1.0 };
        assert!(conclude(&[control(Transport::Tcp, 1, 0.0)], load, 2).is_empty());
    }

    #[test]
    fn a_rise_is_that_of_the_medians() {
        let samples = [0.1, 0.11, 0.9].map(|cpu_s| {
            let usage = Usage { cpu_s, system_s: cpu_s / 4.0, voluntary_switches: 0, allocations: 0 };
            Sample { message_count: 2000, timed_count: 2000, elapsed_s: 1.0, usage, system_calls: None }
        });
        let (case, calls) = (CaseName::Throughput, vec![Calls::One]);
        let scenario = Scenario { case, transport: Transport::Tcp, size: 8, calls, stream_count: 4 };
        let control = Control::new(&scenario, &samples, 50.0).unwrap();
        assert_eq!(control.cpu_s_per_million, 55.0);
        assert!((control.rise_percent - 10.0).abs() < 1e-9, "{}", control.rise_percent);
        assert!((control.kernel_percent - 25.0).abs() < 1e-9, "{}", control.kernel_percent);
    }
}
