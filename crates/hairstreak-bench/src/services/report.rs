//! The report: what was measured where, as a value that becomes JSON or tables.
//!
//! Field names are an interface: programs read them. A field that could not be measured is null.

use serde::Serialize;

use super::plan::Row;
use super::sample::Sample;
use super::task::Scheme;
use crate::rival::RIVAL_NAME;
use crate::run::Run;
use crate::statistics::Spread;

/// Everything one run of the benchmark has to say.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `services`.
    pub benchmark: &'static str,
    /// What ran where.
    #[serde(flatten)]
    pub run: Run,
    /// The rows.
    pub cases: Vec<Case>,
    /// What became of the targets, in sentences.
    pub conclusion: Vec<String>,
}

/// One row.
#[derive(Debug, Serialize)]
pub struct Case {
    /// `tripping` or `services`.
    pub case: &'static str,
    /// `sync` or `async`.
    pub mode: &'static str,
    /// Workers.
    pub workers: u8,
    /// Requests of a sample.
    pub requests: u64,
    /// What the rates count.
    pub unit: &'static str,
    /// Repeats of each contender.
    pub n: usize,
    /// Who was measured, ours first.
    pub contenders: Vec<Figures>,
    /// Rate of ours over that of the rival, where both are.
    pub ratio: Option<f64>,
    /// What the ratio has to be, if this row has a target.
    pub target_ratio: Option<f64>,
    /// The row in words.
    #[serde(skip)]
    text: String,
}

/// What a contender did.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// `hairstreak` or the rival's name.
    pub contender: &'static str,
    /// Requests a second.
    pub rate: Spread,
    /// From the first request to the last reply, in seconds.
    pub real_s: Spread,
    /// What its processes used.
    pub processes: Vec<Consumption>,
}

/// What the processes of a role used, all workers taken together.
#[derive(Debug, Serialize)]
pub struct Consumption {
    /// `all`, `broker`, `workers` or `client`.
    pub role: &'static str,
    /// As `real_s` above, of client, or all in one; how long the others were there.
    pub real_s: Spread,
    /// User time, in seconds.
    pub user_s: Spread,
    /// System time, in seconds.
    pub system_s: Spread,
}

/// The samples of one row, by contender.
#[derive(Debug, Default)]
pub struct Evidence {
    samples: Vec<(Scheme, Vec<Sample>)>,
}

impl Evidence {
    /// One more.
    pub fn add(&mut self, scheme: Scheme, sample: Sample) {
        match self.samples.iter_mut().find(|(other, _)| *other == scheme) {
            Some((_, samples)) => samples.push(sample),
            None => self.samples.push((scheme, vec![sample])),
        }
    }
}

impl Case {
    /// The row that `evidence` supports; `None` without any.
    pub fn new(row: Row, evidence: &Evidence) -> Option<Self> {
        let (_, samples) = evidence.samples.first()?;
        let requests = samples.first()?.request_count;
        let contenders: Vec<Figures> =
            evidence.samples.iter().filter_map(|(scheme, samples)| Figures::new(*scheme, samples)).collect();
        let rate_of = |is_rival: bool| {
            let found = contenders.iter().find(|figures| (figures.contender == RIVAL_NAME) == is_rival);
            found.map(|figures| figures.rate.median)
        };
        Some(Self {
            case: row.case.text(),
            mode: row.mode.text(),
            workers: row.worker_count,
            requests,
            unit: "requests/s",
            n: samples.len(),
            ratio: rate_of(false).zip(rate_of(true)).map(|(ours, rival)| ours / rival),
            contenders,
            target_ratio: row.target(),
            text: row.text(),
        })
    }

    /// What became of the row's target.
    pub fn verdict(&self) -> Option<String> {
        let (ratio, target) = (self.ratio?, self.target_ratio?);
        let verdict = if ratio >= target { "reached" } else { "missed" };
        Some(format!("{}: {ratio:.2}x {RIVAL_NAME}, target {target}x: {verdict}.", self.text))
    }
}

impl Figures {
    fn new(scheme: Scheme, samples: &[Sample]) -> Option<Self> {
        let roles = samples.first()?.processes.iter().map(|(role, _)| *role);
        let processes = roles.filter_map(|role| Consumption::new(role, samples)).collect();
        Some(Self {
            contender: scheme.owner(),
            rate: Spread::of(samples.iter().map(Sample::rate))?,
            real_s: Spread::of(samples.iter().map(|sample| sample.elapsed_s))?,
            processes,
        })
    }
}

impl Consumption {
    fn new(role: &'static str, samples: &[Sample]) -> Option<Self> {
        let all = samples.iter().flat_map(|sample| &sample.processes);
        let of_role: Vec<_> =
            all.filter(|(other, _)| *other == role).map(|(_, measured)| *measured).collect();
        let usages = of_role.iter().map(|measured| measured.usage);
        Some(Self {
            role,
            real_s: Spread::of(of_role.iter().map(|measured| measured.elapsed_s))?,
            // A sum of which a part is taken off again may be a little less than nothing.
            user_s: Spread::of(usages.clone().map(|usage| (usage.cpu_s - usage.system_s).max(0.0)))?,
            system_s: Spread::of(usages.map(|usage| usage.system_s))?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Case, Evidence, Row, Sample, Scheme};
    use crate::services::task::{Measurement, Mode, ServiceCase};
    use crate::usage::Usage;

    fn sample(elapsed_s: f64) -> Sample {
        let used = |elapsed_s, cpu_s| Measurement {
            elapsed_s,
            usage: Usage { cpu_s, system_s: 0.25, voluntary_switches: 0, allocations: 0 },
        };
        let processes = vec![("broker", used(9.0, elapsed_s)), ("client", used(elapsed_s, 0.5))];
        Sample { request_count: 1000, elapsed_s, processes }
    }

    pub fn case(ours_s: &[f64], rival_s: &[f64]) -> Option<Case> {
        let mut evidence = Evidence::default();
        ours_s.iter().for_each(|&s| evidence.add(Scheme::Proxy, sample(s)));
        rival_s.iter().for_each(|&s| evidence.add(Scheme::LibzmqProxy, sample(s)));
        Case::new(Row { case: ServiceCase::Tripping, mode: Mode::Sync, worker_count: 1 }, &evidence)
    }

    #[test]
    fn a_ratio_is_that_of_the_medians_and_has_a_verdict() {
        let reached = case(&[1.0, 4.0, 2.0], &[5.0]).unwrap();
        assert_eq!((reached.n, reached.ratio, reached.requests), (3, Some(2.5), 1000));
        assert_eq!(reached.verdict().unwrap(), "tripping sync: 2.50x libzmq, target 2.5x: reached.");
        let missed = case(&[2.0], &[4.8]).unwrap();
        assert_eq!(missed.verdict().unwrap(), "tripping sync: 2.40x libzmq, target 2.5x: missed.");
    }

    #[test]
    fn who_is_alone_has_no_ratio() {
        for alone in [case(&[1.0], &[]), case(&[], &[1.0])] {
            let json = serde_json::to_value(alone.unwrap()).unwrap();
            assert!(json["ratio"].is_null() && json["contenders"].as_array().unwrap().len() == 1);
        }
        assert!(case(&[], &[]).is_none());
    }

    #[test]
    fn each_role_has_its_seconds() {
        let case = case(&[1.0, 4.0, 2.0], &[]).unwrap();
        let [broker, client] = &case.contenders[0].processes[..] else { panic!("{case:?}") };
        assert_eq!((broker.role, broker.user_s.median, broker.user_s.max), ("broker", 1.75, 3.75));
        assert_eq!((client.role, client.user_s.median, client.system_s.median), ("client", 0.25, 0.25));
        assert_eq!((broker.real_s.median, client.real_s.median), (9.0, 2.0));
    }
}
