//! `Report`: everything that a benchmark has shown, as a value that becomes JSON.

use hairstreak_transport::vortex::FabricFacts;
use serde::Serialize;

use super::comparison::{Difference, Gain};
use super::record::Record;
use crate::h3::contender::Transport;
use crate::h3::plan::{Plan, VORTEX_SCALE};
use crate::run::Run;

/// The report. Field names are an interface: programs read them.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Always `h3`.
    pub benchmark: &'static str,
    /// The controller's machine and build.
    #[serde(flatten)]
    pub run: Run,
    /// The asked scale.
    pub scale: f64,
    /// Bytes of messages that a run may have, on both nodes together.
    pub memory_bytes: u64,
    /// The agents and their machines.
    pub agents: Vec<Agent>,
    /// The simulated Data Vortex, if one was measured.
    pub fabric: Option<FabricShape>,
    /// Table 1 as it was run.
    pub sizes: Vec<Size>,
    /// All runs.
    pub records: Vec<Record>,
    /// Transports beside tcp, by size.
    pub gains: Vec<Gain>,
    /// Table 2: the rate across a transport and into queues, by size.
    pub differences: Vec<Difference>,
}

/// An agent.
#[derive(Debug, Serialize)]
pub struct Agent {
    /// Its role and place.
    pub name: String,
    /// Its processor, cores and kernel.
    pub machine: String,
}

/// The fabric of the vortex runs.
#[derive(Debug, Serialize)]
pub struct FabricShape {
    /// Heights of each switch.
    pub heights: u32,
    /// Angles of each switch.
    pub angles: u32,
    /// Switches side by side.
    pub networks: u32,
    /// The length of a slot, in nanoseconds of the fabric's time.
    pub slot_ns: f64,
    /// The part of the other transports' messages that vortex runs have.
    pub scale: f64,
}

/// A row of Table 1.
#[derive(Debug, Serialize)]
pub struct Size {
    /// Bytes of a message.
    pub size: usize,
    /// Messages of a run in the paper.
    pub paper_count: u64,
    /// The scale of this row: the asked one, or what memory lets.
    pub scale: f64,
    /// Messages of a run at this scale.
    pub planned_count: u64,
    /// Runs.
    pub runs: u32,
}

impl Report {
    /// The report of `records`.
    pub fn new(
        run: Run,
        plan: &Plan,
        memory_bytes: u64,
        machines: Vec<(String, String)>,
        fabric: Option<FabricFacts>,
        records: Vec<Record>,
    ) -> Report {
        let sizes = plan.rows.iter().map(|row| Size {
            size: row.size,
            paper_count: row.paper_count,
            scale: row.scale,
            planned_count: row.count,
            runs: row.runs,
        });
        Report {
            benchmark: "h3",
            run,
            scale: plan.scale,
            memory_bytes,
            agents: machines.into_iter().map(|(name, machine)| Agent { name, machine }).collect(),
            fabric: fabric.map(|facts| FabricShape {
                heights: facts.heights,
                angles: facts.angles,
                networks: facts.networks,
                slot_ns: facts.slot_picoseconds as f64 / 1e3,
                scale: VORTEX_SCALE,
            }),
            sizes: sizes.collect(),
            gains: Gain::all(&records),
            differences: Difference::all(&records),
            records,
        }
    }

    /// The transports, in the order of their runs.
    pub fn transports(&self) -> Vec<Transport> {
        let mut transports = Vec::new();
        for record in &self.records {
            if !transports.contains(&record.transport) {
                transports.push(record.transport);
            }
        }
        transports
    }

    /// The records of a size.
    pub fn of_size(&self, size: usize) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.size == size)
    }
}
