//! `Calibration`: the figures of a machine, and the errors of measuring them. Their file is TOML, with one `[[tcp]]` for
//! each size of message:
//!
//! ```text
//! cores = 2
//! wake_up_ns = 58000
//! gather_ns = 50000        longest time that a link gathers after a write
//! gather_bytes = 65536     largest number of bytes that a link gathers
//!
//! [[tcp]]
//! size = 64
//! send_alone_ns = 5200.0   the sender's time on a core, for a message that travels alone
//! receive_alone_ns = ...
//! send_ns = ...            the same for one of many messages
//! receive_ns = ...
//! latency_ns = ...
//! ```

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hairstreak_model::{CORES_MAX, LinkCost, Links, Network, Pipeline, PipelineError, TIME_MAX};
use hairstreak_socket::{BindError, ConnectError, OpenError, RecvError, SendError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest file of a calibration, in bytes.
pub const FILE_SIZE_MAX: u64 = 1 << 20;

/// An error of reading a calibration file.
#[derive(Debug, Error)]
pub enum CalibrationFileError {
    /// The file cannot be read.
    #[error("{}: cannot read the calibration: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is no calibration.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
}

/// An error of measuring a machine.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// A socket could not be opened.
    #[error("cannot open a socket: {0}")]
    Open(#[from] OpenError),
    /// An endpoint could not be bound.
    #[error("cannot listen: {0}")]
    Bind(#[from] BindError),
    /// An endpoint could not be connected to.
    #[error("cannot connect: {0}")]
    Connect(#[from] ConnectError),
    /// A message was not sent.
    #[error("cannot send: {0}")]
    Send(#[from] SendError),
    /// A message did not arrive.
    #[error("a message did not come: {0}")]
    Receive(#[from] RecvError),
    /// A measuring thread could not be started, or panicked.
    #[error("a measuring thread failed: {0}")]
    Thread(String),
    /// The figures are impossible, for example because a clock does not advance.
    #[error("the measured figures are impossible: {0}")]
    Figures(#[from] hairstreak_model::LinksError),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    cores: u32,
    wake_up_ns: u64,
    gather_ns: u64,
    gather_bytes: u64,
    tcp: Vec<WrittenCost>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenCost {
    size: u64,
    send_alone_ns: f64,
    receive_alone_ns: f64,
    send_ns: f64,
    receive_ns: f64,
    latency_ns: f64,
}

/// The measured figures of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Number of cores.
    pub cores: u32,
    /// Delay of a sleeper's wake-up.
    pub wake_up: Duration,
    /// The costs of messages over tcp.
    pub links: Links,
}

impl Calibration {
    /// Reads and checks the file `path`.
    pub fn load(path: &Path) -> Result<Calibration, CalibrationFileError> {
        let unreadable = |source| CalibrationFileError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let mut file = std::fs::File::open(path).map_err(unreadable)?.take(FILE_SIZE_MAX + 1);
        file.read_to_string(&mut text).map_err(unreadable)?;
        let malformed = |reason: String| {
            let reason = reason.replace('\n', " ").trim_end().to_owned();
            CalibrationFileError::Malformed { path: path.to_owned(), reason }
        };
        if text.len() as u64 > FILE_SIZE_MAX {
            return Err(malformed(format!("a calibration has at most {FILE_SIZE_MAX} bytes")));
        }
        Calibration::parse(&text).map_err(malformed)
    }

    /// Reads and checks the content of a file. [`Calibration::load`] adds the name of the file to errors.
    fn parse(text: &str) -> Result<Calibration, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if !(1..=CORES_MAX).contains(&written.cores) {
            return Err(format!("cores = {}, allowed are 1 to {CORES_MAX}", written.cores));
        }
        for (key, ns) in [("wake_up_ns", written.wake_up_ns), ("gather_ns", written.gather_ns)] {
            if Duration::from_nanos(ns) > TIME_MAX {
                return Err(format!("{key} is longer than {} s", TIME_MAX.as_secs()));
            }
        }
        let costs = written.tcp.into_iter().map(|cost| LinkCost {
            size: cost.size,
            send_alone_ns: cost.send_alone_ns,
            receive_alone_ns: cost.receive_alone_ns,
            send_ns: cost.send_ns,
            receive_ns: cost.receive_ns,
            latency_ns: cost.latency_ns,
        });
        let gather = Duration::from_nanos(written.gather_ns);
        let links = Links::new(costs.collect(), gather, written.gather_bytes);
        let links = links.map_err(|error| format!("[[tcp]]: {error}"))?;
        Ok(Calibration { cores: written.cores, wake_up: Duration::from_nanos(written.wake_up_ns), links })
    }

    /// Returns the content of a file that [`Calibration::load`] reads.
    pub fn to_toml(&self) -> String {
        let tcp = self.links.costs().iter().map(|cost| WrittenCost {
            size: cost.size,
            send_alone_ns: cost.send_alone_ns.round(),
            receive_alone_ns: cost.receive_alone_ns.round(),
            send_ns: cost.send_ns.round(),
            receive_ns: cost.receive_ns.round(),
            latency_ns: cost.latency_ns.round(),
        });
        let written = Written {
            cores: self.cores,
            wake_up_ns: self.wake_up.as_nanos() as u64,
            gather_ns: self.links.gather().as_nanos() as u64,
            gather_bytes: self.links.gather_bytes(),
            tcp: tcp.collect(),
        };
        // INVARIANT: TOML has whole numbers and finite floats, and there is nothing else in it.
        toml::to_string(&written).expect("a calibration is TOML")
    }

    /// Returns the pipeline on this machine. Cores or a fabric that the pipeline states itself remain.
    ///
    /// # Errors
    ///
    /// The machine has more cores than a pipeline may have.
    pub fn apply(&self, pipeline: Pipeline) -> Result<Pipeline, PipelineError> {
        // The instances on a fabric are not all on this machine.
        if matches!(pipeline.network(), Network::Fabric(_)) {
            return Ok(pipeline);
        }
        let pipeline = match pipeline.cores() {
            Some(_) => pipeline,
            None => pipeline.with_cores(self.cores)?,
        };
        pipeline.with_network(Network::Links(self.links.clone()))?.with_wake_up(self.wake_up)
    }
}

/// Returns the middle value, or the mean of the two middle values; 0 without values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => (low + high) / 2.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cores = 2\nwake_up_ns = 58000\ngather_ns = 50000\ngather_bytes = 65536\n\n[[tcp]]\n\
                        size = 64\nsend_alone_ns = 5200.0\nreceive_alone_ns = 4100.0\nsend_ns = 90.0\n\
                        receive_ns = 60.0\nlatency_ns = 15000.0\n";

    #[test]
    fn a_calibration_survives_its_file() {
        let calibration = Calibration::parse(TEXT).unwrap();
        assert_eq!(calibration.wake_up, Duration::from_micros(58));
        assert_eq!(calibration.links.cost(64).send_alone_ns, 5200.0);
        assert_eq!(calibration.to_toml(), TEXT);
    }

    #[test]
    fn what_is_no_calibration_is_refused_by_name() {
        for (from, to, named) in [
            ("cores = 2", "cores = 0", "cores = 0, allowed are 1 to 4096"),
            ("cores = 2", "", "missing field `cores`"),
            ("cores = 2", "cores = 2\ncolour = 1", "unknown field `colour`"),
            ("wake_up_ns = 58000", "wake_up_ns = 9000000000000", "wake_up_ns is longer than 3600 s"),
            ("latency_ns = 15000.0", "latency_ns = -1.0", "[[tcp]]: size = 64: latency_ns is no time"),
        ] {
            let refusal = Calibration::parse(&TEXT.replace(from, to)).unwrap_err();
            assert!(refusal.contains(named), "{to:?} was refused by {refusal:?}");
        }
        let refusal = Calibration::load(Path::new("/nowhere/machine.toml")).unwrap_err().to_string();
        assert!(refusal.starts_with("/nowhere/machine.toml: cannot read the calibration"), "{refusal}");
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(vec![7.0]), 7.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
