//! Calibration: what a chunk costs in each stage and on the way between them, measured on chunks that are no part
//! of the run, and the model that predicts the run from it.
//!
//! A stage is timed twice: alone, as the monolith meets it, and with every core busy, as in the butterfly (cores
//! share caches, and some are halves of one). Time is time on a core, so that what else the machine is doing during
//! the calibration is not taken for the job's. A link is timed by sending messages of the size in question
//! through one; what both of its ends compute counts, because they share the cores with the stages.

use std::fmt;
use std::thread;
use std::time::Duration;

use hairstreak_model::{Distribution, Pipeline, Stage, Times};
use hairstreak_socket::{Context, Pull, Push};
use rustix::time::{ClockId, clock_gettime};

use crate::extract::extract;
use crate::failure::Failure;
use crate::reduce::reduce;

/// How often the chunks are gone through for a measurement.
const ROUNDS: u32 = 2;
/// How often they are sent through a link for a measurement.
const LINK_ROUNDS: u32 = 10;

/// A message that takes this long will never come.
const LINK_TIMEOUT: Duration = Duration::from_secs(10);

/// What a chunk costs.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    /// Both stages one after the other, nothing else running.
    pub monolith: Duration,
    /// Stage one, all cores busy.
    pub extract: Duration,
    /// Stage two, all cores busy.
    pub reduce: Duration,
    /// Getting a chunk to stage one.
    pub to_extract: Duration,
    /// Getting its features one link further; there are two between the stages.
    pub features: Duration,
    /// Getting its line from stage two.
    pub from_reduce: Duration,
}

impl Calibration {
    /// Measures with `chunks`, on that many cores.
    pub fn measure(chunks: &[Vec<u8>], cores: usize) -> Result<Calibration, Failure> {
        // Once unmeasured: the first round meets cold caches and an untouched heap.
        time_stages(chunks)?;
        let alone = time_stages(chunks)?;
        let busy = time_stages_on_all(chunks, cores)?;
        let features: Vec<Vec<u8>> = chunks.iter().map(|chunk| extract(chunk)).collect::<Result<_, _>>()?;
        let lines: Vec<Vec<u8>> =
            features.iter().map(|features| reduce(features)).collect::<Result<_, _>>()?;
        Ok(Calibration {
            monolith: alone.0 + alone.1,
            extract: busy.0,
            reduce: busy.1,
            to_extract: time_link(chunks)?,
            features: time_link(&features)?,
            from_reduce: time_link(&lines)?,
        })
    }

    /// The butterfly as the model sees it, with that many instances of each stage.
    pub fn pipeline(&self, instances: u32, cores: u32) -> Result<Pipeline, hairstreak_model::PipelineError> {
        let stage = |name: &str, receive, process, send| Stage {
            name: name.to_owned(),
            instances,
            times: Times { receive, process, send, serial: Duration::ZERO, cpu: receive + process + send },
            distribution: Distribution::Constant,
        };
        Pipeline::new(vec![
            stage("extract", self.to_extract, self.extract, self.features),
            stage("reduce", self.features, self.reduce, self.from_reduce),
        ])?
        .with_monolith(self.monolith)?
        .with_cores(cores)
    }
}

/// One line, times for one chunk.
impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let links = self.to_extract + 2 * self.features + self.from_reduce;
        write!(
            f,
            "a chunk takes {:.2} ms in one thread alone; {:.2} ms to extract and {:.2} ms to reduce with all cores busy; \
             {:.2} ms for the messages",
            milliseconds(self.monolith),
            milliseconds(self.extract),
            milliseconds(self.reduce),
            milliseconds(links),
        )
    }
}

/// What a chunk takes in each stage, on average.
fn time_stages(chunks: &[Vec<u8>]) -> Result<(Duration, Duration), Failure> {
    let (mut extracting, mut reducing) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..ROUNDS {
        for chunk in chunks {
            let started = cpu_time(ClockId::ThreadCPUTime);
            let features = extract(chunk)?;
            let extracted = cpu_time(ClockId::ThreadCPUTime);
            reduce(&features)?;
            extracting += extracted - started;
            reducing += cpu_time(ClockId::ThreadCPUTime) - extracted;
        }
    }
    let count = ROUNDS * chunks.len().max(1) as u32;
    Ok((extracting / count, reducing / count))
}

/// As [`time_stages`], while each of so many cores does the same.
fn time_stages_on_all(chunks: &[Vec<u8>], cores: usize) -> Result<(Duration, Duration), Failure> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(|| time_stages(chunks))).collect();
        let mut sum = (Duration::ZERO, Duration::ZERO);
        for thread in threads {
            let (extracting, reducing) = thread.join().map_err(|_| "a calibrating thread panicked")??;
            sum = (sum.0 + extracting, sum.1 + reducing);
        }
        Ok((sum.0 / cores as u32, sum.1 / cores as u32))
    })
}

/// The time on a core that a message costs both ends of a link together, on average.
fn time_link(messages: &[Vec<u8>]) -> Result<Duration, Failure> {
    let pull = Pull::new(&Context::new())?;
    let endpoint = pull.bind("tcp://127.0.0.1:*")?.to_string();
    let started = cpu_time(ClockId::ProcessCPUTime);
    thread::scope(|scope| {
        let sender = scope.spawn(|| -> Result<(), Failure> {
            let push = Push::new(&Context::new())?;
            push.connect(&endpoint)?;
            (0..LINK_ROUNDS).try_for_each(|_| messages.iter().try_for_each(|message| push.send(message)))?;
            Ok(())
        });
        for _ in 0..LINK_ROUNDS as usize * messages.len() {
            pull.recv_timeout(LINK_TIMEOUT)?;
        }
        sender.join().map_err(|_| "the calibrating sender panicked")?
    })?;
    Ok((cpu_time(ClockId::ProcessCPUTime) - started) / (LINK_ROUNDS * messages.len().max(1) as u32))
}

/// The time spent on cores so far, by this thread or the process.
fn cpu_time(whose: ClockId) -> Duration {
    let time = clock_gettime(whose);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
