//! Why there is no report.

use std::io;

use hairstreak_chart::ChartError;
use hairstreak_transport::vortex::FabricError;

use crate::h3::contender::Node;
use crate::h3::data::Tally;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum H3Error {
    /// An agent could not be started or reached.
    #[error("{agent}: {error}")]
    Agent {
        /// Which.
        agent: String,
        /// The system's error.
        error: io::Error,
    },
    /// There is no fabric.
    #[error("the fabric: {0}")]
    Fabric(FabricError),
    /// An agent ended the conversation.
    #[error("{0} is gone")]
    Gone(String),
    /// An agent could not do what it was told.
    #[error("{agent}: {reason}")]
    Failed {
        /// Which.
        agent: String,
        /// In its own words.
        reason: String,
    },
    /// An agent answered something else than it was asked.
    #[error("{agent} answered {line:?}")]
    Reply {
        /// Which.
        agent: String,
        /// What it said.
        line: String,
    },
    /// The broker of a node does not speak AMQP over a transport.
    #[error("{agent}: its broker does not listen over {transport}")]
    Unserved {
        /// Which.
        agent: String,
        /// Over this transport.
        transport: &'static str,
    },
    /// The messages that arrived differ from those that were sent.
    #[error(
        "{run}, node {node}: sent {} messages of {} bytes in all (digest {:x}), arrived {} of {} (digest {:x})",
        sent.count, sent.bytes, sent.digest, arrived.count, arrived.bytes, arrived.digest
    )]
    Different {
        /// The run.
        run: String,
        /// The node.
        node: Node,
        /// By the sender.
        sent: Tally,
        /// By the receiver.
        arrived: Tally,
    },
    /// A run has no window.
    #[error("{0}: everything arrived at once, so that there is no rate; raise --scale or --memory")]
    NoWindow(String),
    /// There is nothing to measure.
    #[error("{0}")]
    Nothing(String),
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(io::Error),
    /// A file could not be written.
    #[error("cannot write {file}: {error}")]
    Write {
        /// Which.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// A chart could not be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The report is no JSON.
    #[error("cannot write the report: {0}")]
    Json(#[from] serde_json::Error),
}
