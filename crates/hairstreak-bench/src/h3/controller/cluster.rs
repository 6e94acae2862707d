//! `Cluster`: the four agents of a benchmark, and one run with them.
//!
//! ```text
//!             node A                      node B
//!   sender A ---------> receiver A   sender B ---------> receiver B: its memory, or its broker's .B queue
//!        \_______________ controller ______________/
//! ```
//!
//! Orders go to both nodes before the answers are awaited, so that both work at the same time.

use std::io;

use super::agent_link::{AgentLink, LocalAgent};
use super::error::H3Error;
use super::fabric::{OwnFabric, as_sender};
use super::host::{HostRole, Side};
use super::random::random_number;
use crate::h3::agent::{Arrivals, Flow, Order, Reply};
use crate::h3::contender::{self, NODES, Node, Target, Transport};
use crate::h3::data::{HEADER_SIZE, Tally};
use crate::h3::plan::{Extent, Plan, Row};

/// All agents.
#[derive(Debug)]
pub struct Cluster {
    senders: [AgentLink; 2],
    receivers: [AgentLink; 2],
    /// They end last.
    _local: Vec<LocalAgent>,
}

/// A run to be made.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Across this transport.
    pub transport: Transport,
    /// To this target.
    pub target: Target,
    /// The row of Table 1.
    pub row: Row,
    /// Its number, from 1.
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

impl Run {
    /// For people.
    pub fn text(&self) -> String {
        let Run { transport, target, row, number } = self;
        format!("{} {}, {} B, run {number}", transport.text(), target.words(), row.size)
    }

    /// Length of its windows in nanoseconds of their time.
    pub fn window_ns(&self, plan: &Plan) -> u64 {
        plan.window_ns(self.transport.time(self.target))
    }
}

impl Cluster {
    /// Reaches the agents of `hosts`, and starts the others here. They attach to `fabric`.
    pub fn start(hosts: &[HostRole], rabbitmq: &str, fabric: Option<&OwnFabric>) -> Result<Cluster, H3Error> {
        let mut local = Vec::new();
        let mut side = |side: Side| -> Result<[AgentLink; 2], H3Error> {
            let given: Vec<&HostRole> = hosts.iter().filter(|host| host.side == side).collect();
            let mut link = |index: usize| {
                let name = format!("{} {}", side.text(), NODES[index]);
                let vortex = fabric.map(|fabric| fabric.place(side, index));
                match given.get(index % given.len().max(1)) {
                    Some(host) => {
                        AgentLink::connect(format!("{name} at {}", host.address), host.address, vortex)
                    }
                    None => {
                        let agent = LocalAgent::start(rabbitmq)?;
                        let link = AgentLink::connect(name, agent.address, vortex);
                        local.push(agent);
                        link
                    }
                }
            };
            Ok([link(0)?, link(1)?])
        };
        let (senders, receivers) = (side(Side::Sender)?, side(Side::Receiver)?);
        Ok(Cluster { senders, receivers, _local: local })
    }

    /// The least memory that a host can give.
    pub fn memory_bytes(&self) -> u64 {
        self.agents().map(|agent| agent.memory_bytes).min().unwrap_or_default()
    }

    /// Whether both receivers have RabbitMQ.
    pub fn has_rabbitmq(&self) -> bool {
        self.receivers.iter().all(|receiver| receiver.has_rabbitmq)
    }

    /// Each agent and its machine.
    pub fn machines(&self) -> Vec<(String, String)> {
        self.agents().map(|agent| (agent.name.clone(), agent.machine.clone())).collect()
    }

    fn agents(&self) -> impl Iterator<Item = &AgentLink> {
        self.senders.iter().chain(&self.receivers)
    }

    /// Makes a run and verifies every message of it.
    ///
    /// Errors: an agent is gone, or could not do its part. An agent that is gone is the reason why others fail.
    pub fn measure(&mut self, plan: &Plan, run: &Run) -> Result<Outcome, H3Error> {
        self.measure_with(plan, run).map_err(|error| match self.agents().find(|agent| agent.is_gone()) {
            Some(agent) => H3Error::Gone(agent.name.clone()),
            None => error,
        })
    }

    fn measure_with(&mut self, plan: &Plan, run: &Run) -> Result<Outcome, H3Error> {
        let extent = plan.extent(run.row, run.transport, run.target);
        let arrivals = match run.target {
            Target::Across => self.send_across(plan, run, extent)?,
            Target::Hairstreak | Target::Rabbitmq => self.publish(plan, run, extent)?,
            Target::RabbitmqLoopback => self.relay(plan, run, extent)?,
        };
        self.verify(run, arrivals)
    }

    fn send_across(&mut self, plan: &Plan, run: &Run, extent: Extent) -> Result<[Arrivals; 2], H3Error> {
        let room = extent.count_max * (run.row.size + HEADER_SIZE) as u64;
        let order = Order::Receive { transport: run.transport, room, window_ns: run.window_ns(plan) };
        self.receive(&order, run, extent)
    }

    fn relay(&mut self, plan: &Plan, run: &Run, extent: Extent) -> Result<[Arrivals; 2], H3Error> {
        self.open(plan, run)?;
        let order =
            Order::Relay { transport: run.transport, size: run.row.size, window_ns: run.window_ns(plan) };
        self.receive(&order, run, extent)
    }

    /// Has the receivers do `order`, and the senders send to them.
    fn receive(&mut self, order: &Order, run: &Run, extent: Extent) -> Result<[Arrivals; 2], H3Error> {
        for receiver in &mut self.receivers {
            receiver.order(order)?;
        }
        let mut endpoints = Vec::new();
        for receiver in &mut self.receivers {
            match receiver.reply()? {
                Reply::Bound { endpoint } => endpoints.push(endpoint),
                other => return Err(receiver.surprised(&other)),
            }
        }
        for (index, (sender, endpoint)) in self.senders.iter_mut().zip(endpoints).enumerate() {
            let endpoint = as_sender(&endpoint, index).map_err(|error| failed(sender, error))?;
            sender.order(&Order::Send { endpoint, flow: flow(run, extent)? })?;
        }
        // A receiver that fails is the reason why its sender fails, too.
        let mut arrivals = [Arrivals::default(), Arrivals::default()];
        for (receiver, arrivals) in self.receivers.iter_mut().zip(&mut arrivals) {
            match receiver.reply()? {
                Reply::Received(received) => *arrivals = received,
                other => return Err(receiver.surprised(&other)),
            }
        }
        for sender in &mut self.senders {
            match sender.reply()? {
                Reply::Sent(_) => {}
                other => return Err(sender.surprised(&other)),
            }
        }
        Ok(arrivals)
    }

    /// Opens the queue of each node. Returns where their brokers listen.
    fn open(&mut self, plan: &Plan, run: &Run) -> Result<Vec<String>, H3Error> {
        let Some(broker) = run.target.broker() else { return Ok(Vec::new()) };
        for (receiver, node) in self.receivers.iter_mut().zip(NODES) {
            let memory_bytes = plan.node_bytes;
            receiver.order(&Order::Open { broker, transport: run.transport, node, memory_bytes })?;
        }
        let mut endpoints = Vec::new();
        for receiver in &mut self.receivers {
            match receiver.reply()? {
                Reply::Opened { endpoint } => endpoints.push(endpoint),
                other => return Err(receiver.surprised(&other)),
            }
        }
        // The relay publishes to its own broker, whatever that listens on.
        Ok(endpoints.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn publish(&mut self, plan: &Plan, run: &Run, extent: Extent) -> Result<[Arrivals; 2], H3Error> {
        let endpoints = self.open(plan, run)?;
        for ((sender, endpoint), node) in self.senders.iter_mut().zip(endpoints).zip(NODES) {
            if endpoint.is_empty() {
                let agent = self.receivers[node as usize].name.clone();
                return Err(H3Error::Unserved { agent, transport: run.transport.text() });
            }
            let endpoint = as_sender(&endpoint, node as usize).map_err(|error| failed(sender, error))?;
            sender.order(&Order::Publish {
                endpoint,
                exchange: run.transport.exchange(),
                key: contender::routing_key(run.row.size, node),
                flow: flow(run, extent)?,
                window_ns: run.window_ns(plan),
            })?;
        }
        let mut arrivals = [Arrivals::default(), Arrivals::default()];
        for (sender, arrivals) in self.senders.iter_mut().zip(&mut arrivals) {
            match sender.reply()? {
                Reply::Sent(sent) => *arrivals = sent,
                other => return Err(sender.surprised(&other)),
            }
        }
        Ok(arrivals)
    }

    /// Compares what each sender has sent with what is in the receiver's memory or queue.
    fn verify(&mut self, run: &Run, arrivals: [Arrivals; 2]) -> Result<Outcome, H3Error> {
        let key = random_number()?;
        for sender in &mut self.senders {
            sender.order(&Order::Tally { key })?;
        }
        for (receiver, arrivals) in self.receivers.iter_mut().zip(&arrivals) {
            receiver.order(&match run.target {
                Target::Across => Order::Tally { key },
                _ => Order::Drain { key, count: arrivals.count },
            })?;
        }
        let (mut tallies, mut has_spilled) = ([Tally::default(); 2], false);
        for (receiver, tally) in self.receivers.iter_mut().zip(&mut tallies) {
            match receiver.reply()? {
                Reply::Tally(arrived) => *tally = arrived,
                Reply::Drained { tally: arrived, has_spilled: spilled } => {
                    *tally = arrived;
                    has_spilled |= spilled;
                }
                other => return Err(receiver.surprised(&other)),
            }
        }
        for ((sender, &arrived), node) in self.senders.iter_mut().zip(&tallies).zip(NODES) {
            match sender.reply()? {
                Reply::Tally(sent) => compare(run, node, sent, arrived)?,
                other => return Err(sender.surprised(&other)),
            }
        }
        Ok(Outcome { arrivals, tallies, has_spilled })
    }
}

fn failed(agent: &AgentLink, error: io::Error) -> H3Error {
    H3Error::Agent { agent: agent.name.clone(), error }
}

fn compare(run: &Run, node: Node, sent: Tally, arrived: Tally) -> Result<(), H3Error> {
    match sent == arrived {
        true => Ok(()),
        false => Err(H3Error::Different { run: run.text(), node, sent, arrived }),
    }
}

/// The messages of one sender: no two senders or runs have the same.
fn flow(run: &Run, extent: Extent) -> Result<Flow, H3Error> {
    let Extent { count_min, count_max, duration_ns, time } = extent;
    let seed = random_number()?;
    Ok(Flow { size: run.row.size, seed, count_min, count_max, duration_ns, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_messages_differ_is_an_error_that_says_which_and_how() {
        let row = Row { size: 8, paper_count: 10, scale: 1.0, count: 10, runs: 1 };
        let run = Run { transport: Transport::Shm, target: Target::Across, row, number: 2 };
        let sent = Tally { count: 10, bytes: 80, digest: 0xabc };
        assert!(compare(&run, Node::B, sent, sent).is_ok());
        for arrived in
            [Tally { count: 9, ..sent }, Tally { bytes: 81, ..sent }, Tally { digest: 0xabd, ..sent }]
        {
            let error = compare(&run, Node::B, sent, arrived).unwrap_err().to_string();
            let expected = "shm across the transport, 8 B, run 2, node B: sent 10 messages of 80 bytes in all (digest abc), arrived ";
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
