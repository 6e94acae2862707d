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
use crate::h3::agent::{Arrivals, Flow, Order};
use crate::h3::contender::{Contender, NODES, Target};
use crate::h3::data::{HEADER_SIZE, Tally};
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

/// The outcome of a run on both nodes.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Arrivals by node.
    pub arrivals: [Arrivals; 2],
    /// Verified messages and bytes by node.
    pub tallies: [Tally; 2],
    /// A broker has written messages to disk.
    pub has_spilled: bool,
}

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
    pub fn measure(&mut self, plan: &Plan, run: &Run) -> Result<Outcome> {
        let outcome = self.transmit(plan, run).and_then(|arrivals| self.verify(run, arrivals));
        outcome.map_err(|error| match self.agents().find(|agent| agent.is_gone()) {
            Some(agent) => anyhow!("{} is gone", agent.name),
            None => error,
        })
    }

    fn transmit(&mut self, plan: &Plan, run: &Run) -> Result<[Arrivals; 2]> {
        let Run { contender, row: Row { size, .. }, .. } = *run;
        let Contender { transport, target } = contender;
        let extent = plan.extent(run.row, contender);
        let window_ns = plan.window_ns(contender.time());
        let to = |node: usize| (transport.exchange(), format!("{size}.{}", NODES[node]));
        // No two senders or runs have the same messages.
        let flow = || Flow { size, seed: fastrand::u64(..), extent };
        let mut queues: [Option<String>; 2] = [None, None];
        if let Some(broker) = target.broker() {
            let memory_bytes = plan.node_bytes();
            let open = |node: usize| Ok(Order::Open { broker, transport, node: NODES[node], memory_bytes });
            order(&mut self.receivers, open)?;
            queues = answers(&mut self.receivers)?;
        }
        if let Target::Hairstreak | Target::Rabbitmq = target {
            order(&mut self.senders, |node| {
                let endpoint = queues[node].as_deref();
                let endpoint =
                    endpoint.with_context(|| format!("no broker listens over {}", name(&transport)))?;
                let endpoint = as_sender(endpoint, node)?;
                Ok(Order::Publish { endpoint, to: to(node), flow: flow(), window_ns })
            })?;
            return answers(&mut self.senders);
        }
        order(&mut self.receivers, |node| {
            let room = extent.count_max * (size + HEADER_SIZE) as u64;
            Ok(match target {
                Target::Across => Order::Receive { transport, room, window_ns },
                _ => Order::Relay { transport, to: to(node), size, window_ns },
            })
        })?;
        let listeners: [String; 2] = answers(&mut self.receivers)?;
        order(&mut self.senders, |node| {
            Ok(Order::Send { endpoint: as_sender(&listeners[node], node)?, flow: flow() })
        })?;
        // A receiver that fails is the reason why its sender fails, too.
        let arrivals = answers(&mut self.receivers)?;
        answers::<Arrivals>(&mut self.senders)?;
        Ok(arrivals)
    }

    /// Compares the messages of each sender with those in the receiver's memory or queue.
    fn verify(&mut self, run: &Run, arrivals: [Arrivals; 2]) -> Result<Outcome> {
        let key = fastrand::u64(..);
        order(&mut self.senders, |_| Ok(Order::Tally { key }))?;
        order(&mut self.receivers, |node| {
            Ok(match run.contender.target {
                Target::Across => Order::Tally { key },
                _ => Order::Drain { key, count: arrivals[node].count },
            })
        })?;
        let arrived: [(Tally, bool); 2] = answers(&mut self.receivers)?;
        let sent: [(Tally, bool); 2] = answers(&mut self.senders)?;
        for (node, (sent, arrived)) in sent.iter().zip(&arrived).enumerate() {
            compare(run, NODES[node], sent.0, arrived.0)?;
        }
        let has_spilled = arrived.iter().any(|(_, has_spilled)| *has_spilled);
        Ok(Outcome { arrivals, tallies: arrived.map(|(tally, _)| tally), has_spilled })
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
