//! The report: what was measured where, as a value that becomes JSON, tables and charts.
//!
//! Field names are an interface: programs read them. A field that could not be measured is null.

use serde::Serialize;

use super::plan::TRANSPORT;
use crate::comparison::Comparison;
use crate::run::Run;
use crate::sample::{Calls, Sample, Transport};
use crate::statistics::{Spread, mean};

/// Everything one run of the benchmark has to say.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `streams`.
    pub benchmark: &'static str,
    /// What ran where.
    #[serde(flatten)]
    pub run: Run,
    /// The rows: sizes, and for each the numbers of streams.
    pub cases: Vec<Case>,
    /// Processor time per message, by transport and number of streams.
    pub controls: Vec<Control>,
    /// What the controls say, in sentences.
    pub conclusion: Vec<String>,
    /// The files that hold the charts.
    pub charts: Vec<String>,
}

/// One row: some streams at one size.
#[derive(Debug, Serialize)]
pub struct Case {
    /// Always `streams`.
    pub case: &'static str,
    /// Over what.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// Streams at the same time.
    pub streams: usize,
    /// How the sockets are called.
    pub calls: Calls,
    /// What the rates count: messages of all streams together.
    pub unit: &'static str,
    /// Repeats of each contender.
    pub n: usize,
    /// Messages of each stream.
    pub messages: u64,
    /// Ours and the rival, means, as the source has them.
    #[serde(flatten)]
    pub rates: Comparison,
    /// Megabits of bodies per second, ours.
    pub ours_mbit: f64,
    /// Megabits of bodies per second, the rival's.
    pub rival_mbit: Option<f64>,
    /// There is no limit program of this case.
    pub limit: Option<f64>,
    /// User and system seconds of all processes per million messages, median, ours.
    pub cpu_s_per_million: f64,
    /// The same of the rival.
    pub rival_cpu_s_per_million: Option<f64>,
}

impl Case {
    /// The row that the samples support; `None` without one of ours.
    pub fn new(
        size: usize,
        streams: usize,
        messages: u64,
        ours: &[Sample],
        rival: &[Sample],
    ) -> Option<Self> {
        let rates = |samples: &[Sample]| {
            // The mean in its place.
            let median = mean(samples.iter().map(Sample::rate))?;
            Some(Spread { median, ..Spread::of(samples.iter().map(Sample::rate))? })
        };
        let cpu = |samples: &[Sample]| {
            Spread::of(samples.iter().map(Sample::cpu_s_per_million)).map(|spread| spread.median)
        };
        let mbit = |rate: f64| rate * size as f64 * 8.0 / 1e6;
        let rates = Comparison::new(rates(ours)?, rates(rival));
        Some(Self {
            case: "streams",
            transport: TRANSPORT,
            size,
            streams,
            calls: Calls::One,
            unit: "messages/s",
            n: ours.len(),
            messages,
            ours_mbit: mbit(rates.ours),
            rival_mbit: rates.rival.map(mbit),
            rates,
            limit: None,
            cpu_s_per_million: cpu(ours)?,
            rival_cpu_s_per_million: cpu(rival),
        })
    }
}

/// Processor time of a message with some streams over one transport.
#[derive(Clone, Debug, Serialize)]
pub struct Control {
    /// Whose: `hairstreak` or the rival's name.
    pub contender: &'static str,
    /// Over what.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// Streams at the same time.
    pub streams: usize,
    /// Repeats.
    pub n: usize,
    /// Messages of each stream.
    pub messages: u64,
    /// Median rate of all streams together, messages/s.
    pub rate: f64,
    /// User and system seconds of all processes per million messages, median.
    pub cpu_s_per_million: f64,
    /// Cheapest repeat.
    pub cpu_s_per_million_min: f64,
    /// Dearest repeat.
    pub cpu_s_per_million_max: f64,
    /// The kernel's part of it, in percent, of all repeats together.
    pub kernel_percent: f64,
    /// By how much it is above that of the fewest streams, in percent of the medians.
    pub rise_percent: f64,
}

impl Control {
    /// The control that the samples support, its rise still 0; `None` without a sample.
    pub fn new(
        contender: &'static str,
        transport: Transport,
        size: usize,
        streams: usize,
        messages: u64,
        samples: &[Sample],
    ) -> Option<Self> {
        let cpu = Spread::of(samples.iter().map(Sample::cpu_s_per_million))?;
        let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let all = sum(|sample| sample.usage.cpu_s);
        let kernel = sum(|sample| sample.usage.system_s);
        Some(Self {
            contender,
            transport,
            size,
            streams,
            n: samples.len(),
            messages,
            rate: Spread::of(samples.iter().map(Sample::rate))?.median,
            cpu_s_per_million: cpu.median,
            cpu_s_per_million_min: cpu.min,
            cpu_s_per_million_max: cpu.max,
            kernel_percent: if all > 0.0 { 100.0 * kernel / all } else { 0.0 },
            rise_percent: 0.0,
        })
    }

    /// States its rise over `first`, the control of the fewest streams.
    pub fn rising_from(mut self, first: f64) -> Self {
        self.rise_percent = 100.0 * (self.cpu_s_per_million / first - 1.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Control, Transport};
    use crate::sample::Sample;
    use crate::usage::Usage;

    fn sample(elapsed_s: f64, cpu_s: f64) -> Sample {
        let usage = Usage { cpu_s, system_s: cpu_s / 4.0, voluntary_switches: 0, allocations: 0 };
        Sample { message_count: 2000, timed_count: 2000, elapsed_s, usage, system_calls: None }
    }

    #[test]
    fn rates_of_a_row_are_averaged() {
        let samples = [sample(1.0, 0.1), sample(2.0, 0.1), sample(4.0, 0.1)];
        let case = Case::new(125, 2, 1000, &samples, &samples[..1]).unwrap();
        assert_eq!(
            (case.rates.ours, case.rates.ours_min, case.rates.ours_max),
            (3500.0 / 3.0, 500.0, 2000.0)
        );
        assert_eq!((case.rival_mbit, case.cpu_s_per_million), (Some(2.0), 50.0));
        assert_eq!(case.rates.ratio, Some(3500.0 / 3.0 / 2000.0));
    }

    #[test]
    fn a_row_without_a_rival_has_null_in_its_place() {
        let json = serde_json::to_value(Case::new(8, 1, 1000, &[sample(1.0, 0.1)], &[])).unwrap();
        for field in ["rival", "rival_min", "rival_max", "rival_mbit", "rival_name", "ratio", "limit"] {
            assert!(json[field].is_null(), "{field}");
        }
    }

    #[test]
    fn a_rise_is_that_of_the_medians() {
        let samples = [sample(1.0, 0.1), sample(1.0, 0.11), sample(1.0, 0.9)];
        let control =
            Control::new("hairstreak", Transport::Tcp, 8, 4, 500, &samples).unwrap().rising_from(50.0);
        assert_eq!(control.cpu_s_per_million, 55.0);
        assert!((control.rise_percent - 10.0).abs() < 1e-9, "{}", control.rise_percent);
        assert!((control.kernel_percent - 25.0).abs() < 1e-9, "{}", control.kernel_percent);
    }
}
