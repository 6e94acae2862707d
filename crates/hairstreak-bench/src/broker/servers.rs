//! The brokers of a run: who is there, started once and used in turns.

use std::net::Ipv4Addr;

use super::amqp::{AmqpError, Link};
use super::plan::{Plan, Row};
use super::server::{RABBITMQ_NAME, Running, ServerError, ServerKind, ServerTask, is_installed};
use crate::arguments::BrokerSettings;
use crate::cores::CoreRange;
use crate::rival::Rival;

/// The brokers of a run, and how they are started.
#[derive(Debug)]
pub struct Servers<'a> {
    settings: &'a BrokerSettings,
    /// The compared brokers; ours first.
    pub kinds: Vec<ServerKind>,
    running: Vec<(Option<u32>, Running)>,
}

impl<'a> Servers<'a> {
    /// Finds out who is there, and notes who is not.
    pub fn new(settings: &'a BrokerSettings, notes: &mut Vec<String>) -> Servers<'a> {
        let mut kinds = Vec::new();
        match settings.no_node {
            true => notes.push("our node was left out".to_owned()),
            false => kinds.push(ServerKind::Node),
        }
        match (settings.no_rival, is_installed(&settings.rabbitmq)) {
            (true, _) => notes.push(format!("{RABBITMQ_NAME} was left out")),
            (false, true) => kinds.push(ServerKind::RabbitMq),
            (false, false) => notes.push(format!(
                "no {RABBITMQ_NAME} here ({} is not there; Debian's package is rabbitmq-server)",
                settings.rabbitmq
            )),
        }
        kinds.push(ServerKind::Limit);
        Servers { settings, kinds, running: Vec::new() }
    }

    /// Starts a broker of its own, or takes the node that runs already.
    pub fn start_one(&self, kind: ServerKind, loop_count: Option<u32>) -> Result<Running, ServerError> {
        if let (ServerKind::Node, None, Some(address)) = (kind, loop_count, self.settings.node) {
            return Ok(Running::elsewhere(address, self.settings.node_process));
        }
        let cores = loop_count.map(|count| CoreRange { start: 0, end: count as usize });
        let rabbitmq = self.settings.rabbitmq.clone();
        Running::start(&ServerTask {
            kind,
            loop_count,
            cores,
            rabbitmq,
            host: Ipv4Addr::LOCALHOST.into(),
            memory_bytes: None,
        })
    }

    /// Starts all that the rows of `plan` need.
    pub fn start(&mut self, plan: &Plan) -> Result<(), ServerError> {
        for &row in &plan.rows {
            for kind in self.contenders(row) {
                if self.find(kind, row.loop_count).is_none() {
                    let running = self.start_one(kind, row.loop_count)?;
                    self.running.push((row.loop_count, running));
                }
            }
        }
        Ok(())
    }

    /// The brokers that `row` measures.
    pub fn contenders(&self, row: Row) -> Vec<ServerKind> {
        self.kinds.iter().copied().filter(|kind| row.contenders().contains(kind)).collect()
    }

    /// The broker that has been started for a row with so many event loops.
    pub fn find(&self, kind: ServerKind, loop_count: Option<u32>) -> Option<&Running> {
        let is_it = |(loops, running): &&(Option<u32>, Running)| *loops == loop_count && running.kind == kind;
        self.running.iter().find(is_it).map(|(_, running)| running)
    }

    /// Name and version of the rival, as the rival says.
    pub fn rival(&self) -> Result<Option<Rival>, AmqpError> {
        let running = self.find(ServerKind::RabbitMq, None);
        let version =
            running.map(|running| Link::open(running.address)).transpose()?.map(|link| link.version);
        Ok(version.map(|version| Rival { name: RABBITMQ_NAME, version }))
    }
}
