//! `Cluster`: the four agents of a benchmark, and one run with them.
//!
//! ```text
//!             node A                      node B
//!   sender A ---------> receiver A   sender B ---------> receiver B: its memory, or its broker's .B queue
//!        \_______________ controller ______________/
//! ```
//!
//! Orders go to both nodes before the answers are awaited, so that both work at the same time.

use std::fmt;
use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow, ensure};
use serde::de::DeserializeOwned;

use super::agent_link::AgentLink;
use super::fabric::{OwnFabric, as_sender};
use crate::frame::name;
use crate::h3::agent::Order;
use crate::h3::contender::{Contender, NODES, Target};
use crate::h3::data::{Arrivals, HEADER_SIZE, Tally};
use crate::h3::plan::{Plan, Row, Side};

/// All agents.
#[derive(Debug)]
pub struct Cluster {
    senders: [AgentLink; 2],
    receivers: [AgentLink; 2],
}

/// A run to be made.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The contender.
    pub contender: Contender,
    /// The row of Table 1.
    pub row: Row,
    /// The number of the run, from 1.
    pub number: u32,
}

/// The outcome of a run on a node: its arrivals, its verified messages, and whether its broker has written messages to disk.
pub type Node = (Arrivals, Tally, bool);

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} B, run {}", self.contender, self.row.size, self.number)
    }
}

impl Cluster {
    /// Reaches the agents of `hosts`, and starts the others here. They attach to `fabric`.
    pub fn start(
        hosts: &[(Side, SocketAddr)],
        rabbitmq: &str,
        fabric: Option<&OwnFabric>,
    ) -> Result<Cluster> {
        let agent = |side: Side, node: usize| {
            let given: Vec<SocketAddr> =
                hosts.iter().filter(|host| host.0 == side).map(|host| host.1).collect();
            let address = given.get(node % given.len().max(1)).copied();
            let place = address.map_or_else(String::new, |address| format!(" at {address}"));
            let name = format!("{} {}{place}", name(&side), NODES[node]);
            AgentLink::open(name, address, rabbitmq, fabric.map(|fabric| fabric.place(side, node)))
        };
        let side = |side| -> Result<[AgentLink; 2]> { Ok([agent(side, 0)?, agent(side, 1)?]) };
        Ok(Cluster { senders: side(Side::Sender)?, receivers: side(Side::Receiver)? })
    }

    /// Returns whether both receivers have RabbitMQ.
    pub fn has_rabbitmq(&self) -> bool {
        self.receivers.iter().all(|receiver| receiver.host.has_rabbitmq)
    }

    /// All agents, senders first.
    pub fn agents(&self) -> impl Iterator<Item = &AgentLink> {
        self.senders.iter().chain(&self.receivers)
    }

    /// Makes a run and verifies every message of it.
    ///
    /// Errors: an agent is gone, or could not do its part. An agent that is gone is the reason why others fail.
    pub fn measure(&mut self, plan: &Plan, run: &Run) -> Result<[Node; 2]> {
        let outcome = self.transmit(plan, run).and_then(|arrivals| self.verify(run, arrivals));
        outcome.map_err(|error| match self.agents().find(|agent| agent.is_gone()) {
            Some(agent) => anyhow!("{} is gone", agent.name),
            None => error,
        })
    }

    fn transmit(&mut self, plan: &Plan, run: &Run) -> Result<[Arrivals; 2]> {
        let Run { contender, row, .. } = *run;
        let Contender { transport, target } = contender;
        let window_ns = plan.window_ns(contender.time());
        let to = |node: usize| (format!("h3.{}", name(&transport)), format!("{}.{}", row.size, NODES[node]));
        let mut queues: [Option<String>; 2] = [None, None];
        if let Some(broker) = target.broker() {
            let memory_bytes = plan.node_bytes();
            let open = |node: usize| Ok(Order::Open { broker, transport, node: NODES[node], memory_bytes });
            order(&mut self.receivers, open)?;
            queues = answers(&mut self.receivers)?;
        }
        if let Target::Hairstreak | Target::Rabbitmq = target {
            order(&mut self.senders, |node| {
                let no_broker = || format!("no broker listens over {}", name(&transport));
                let endpoint = as_sender(queues[node].as_deref().with_context(no_broker)?, node)?;
                Ok(Order::Publish { endpoint, to: to(node), flow: plan.flow(row, contender), window_ns })
            })?;
            return answers(&mut self.senders);
        }
        order(&mut self.receivers, |node| {
            let room = plan.flow(row, contender).count_max * (row.size + HEADER_SIZE) as u64;
            Ok(match target {
                Target::Across => Order::Receive { transport, room, window_ns },
                _ => Order::Relay { transport, to: to(node), size: row.size, window_ns },
            })
        })?;
        let listeners: [String; 2] = answers(&mut self.receivers)?;
        order(&mut self.senders, |node| {
            let endpoint = as_sender(&listeners[node], node)?;
            Ok(Order::Send { endpoint, flow: plan.flow(row, contender) })
        })?;
        // A receiver that fails is the reason why its sender fails, too.
        let arrivals = answers(&mut self.receivers)?;
        answers::<Arrivals>(&mut self.senders)?;
        Ok(arrivals)
    }

    /// Compares the messages of each sender with those in the receiver's memory or queue.
    fn verify(&mut self, run: &Run, arrivals: [Arrivals; 2]) -> Result<[Node; 2]> {
        let key = fastrand::u64(..);
        for agents in [&mut self.senders, &mut self.receivers] {
            order(agents, |node| Ok(Order::Tally { key, count: arrivals[node].count }))?;
        }
        let [a, b]: [(Tally, bool); 2] = answers(&mut self.receivers)?;
        let [sent_a, sent_b]: [(Tally, bool); 2] = answers(&mut self.senders)?;
        compare(run, NODES[0], sent_a.0, a.0)?;
        compare(run, NODES[1], sent_b.0, b.0)?;
        let [arrivals_a, arrivals_b] = arrivals;
        Ok([(arrivals_a, a.0, a.1), (arrivals_b, b.0, b.1)])
    }
}

/// Sends an order to the agent of each node.
fn order(agents: &mut [AgentLink; 2], of: impl Fn(usize) -> Result<Order>) -> Result<()> {
    let mut agents = agents.iter_mut().enumerate();
    agents.try_for_each(|(node, agent)| agent.order(&of(node).with_context(|| agent.name.clone())?))
}

/// Waits for the answers of both nodes.
fn answers<T: DeserializeOwned>([a, b]: &mut [AgentLink; 2]) -> Result<[T; 2]> {
    Ok([a.answer()?, b.answer()?])
}

fn compare(run: &Run, node: char, sent: Tally, arrived: Tally) -> Result<()> {
    let text = |tally: Tally| {
        let Tally { count, bytes, digest } = tally;
        format!("{count} messages of {bytes} bytes in all (digest {digest:x})")
    };
    ensure!(sent == arrived, "{run}, node {node}: sent {}, arrived {}", text(sent), text(arrived));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h3::contender::Transport;

    #[test]
    fn a_run_whose_messages_differ_is_an_error_that_says_which_and_how() {
        let row = Row { size: 8, paper_count: 10, scale: 1.0, count: 10, runs: 1 };
        let contender = Contender { transport: Transport::Shm, target: Target::Across };
        let run = Run { contender, row, number: 2 };
        let sent = Tally { count: 10, bytes: 80, digest: 0xabc };
        assert!(compare(&run, 'B', sent, sent).is_ok());
        for arrived in
            [Tally { count: 9, ..sent }, Tally { bytes: 81, ..sent }, Tally { digest: 0xabd, ..sent }]
        {
            let error = compare(&run, 'B', sent, arrived).unwrap_err().to_string();
            let expected = "shm across the transport, 8 B, run 2, node B: sent 10 messages of 80 bytes in all (digest abc), arrived ";
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
