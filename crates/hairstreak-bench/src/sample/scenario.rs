//! What is sampled and over what: a case over a transport at a size.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::task::{Calls, CaseName};

/// What the messages travel over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface, two processes.
    Tcp,
    /// A unix socket with an abstract name, two processes.
    Ipc,
    /// Shared memory, two processes; libzmq, which has none, over a unix socket.
    Shm,
    /// Between threads of one process.
    Inproc,
}

impl Transport {
    /// Its name in endpoints, reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ipc => "ipc",
            Self::Shm => "shm",
            Self::Inproc => "inproc",
        }
    }
}

/// One case over one transport at one size; its contenders are measured in turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What is measured.
    pub case: CaseName,
    /// Over what.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// The ways of calling that get a row each.
    pub calls: Vec<Calls>,
    /// Independent pairs of sockets that do it at the same time, each with threads of its own.
    pub stream_count: usize,
}

impl Scenario {
    /// In words, for progress and errors.
    pub fn text(&self) -> String {
        let text = format!("{} {} {} B", self.case.text(), self.transport.text(), self.size);
        if self.stream_count == 1 { text } else { format!("{text}, {} streams", self.stream_count) }
    }
}
