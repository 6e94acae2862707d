//! `Backlog`: persistent messages of 1 KiB in durable queues, from their publishers until consumers take them.
//!
//! A broker that stalls ends the work with an error: each read and write of a client has a bound, and so has the whole.

use std::env;
use std::fmt;

use anyhow::{Result, ensure};
use rustix::fs::statvfs;

use super::amqp::{Link, SILENCE_MAX};
use super::client;
use super::server::Running;
use super::task::{Flow, Role, Task, queue_name};

/// Bytes of a body.
pub const BODY_SIZE: u32 = 1024;
/// Connections that publish, and connections that consume. Each publishes to its part of the queues in turns.
pub const CONNECTION_COUNT: u32 = 10;
/// Publishes of a connection that may be without their confirm.
const CONFIRM_WINDOW: u32 = 1_000;
/// Deliveries that are acknowledged at once.
const ACK_EACH: u32 = 50;
/// Bytes of files for each byte of a body, and beside them.
const FILE_BYTES_MAX: u64 = 2;
const SPARE_BYTES: u64 = 512 << 20;
/// Messages a second; a slower broker fails.
const RATE_MIN: f64 = 2_000.0;

/// Messages, and the queues that they are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Messages, a multiple of the number of connections.
    pub message_count: u64,
    /// Queues.
    pub queue_count: u32,
}

impl Backlog {
    /// The bytes of all bodies.
    pub fn bytes(self) -> u64 {
        self.message_count * u64::from(BODY_SIZE)
    }

    /// Declares the queues and publishes the messages until each is confirmed. Returns the seconds.
    pub fn fill(self, server: &Running) -> Result<f64> {
        let (room, flow) = (statvfs(env::temp_dir())?, self.flow(0));
        let (free, most) = (room.f_bavail * room.f_frsize, self.bytes() * FILE_BYTES_MAX + SPARE_BYTES);
        ensure!(free >= most, "the disk has {} GiB free, and {self} may take {}", free >> 30, most >> 30);
        flow.declare(&mut Link::open(server.address)?)?;
        self.work(server, Role::Producer, flow)
    }

    /// Consumes all messages and acknowledges them. Returns the seconds until the last message came.
    pub fn drain(self, server: &Running) -> Result<f64> {
        let elapsed_s = self.work(server, Role::Consumer, self.flow(CONNECTION_COUNT))?;
        self.check(server, 0)?;
        Ok(elapsed_s)
    }

    /// Checks the number of messages in all queues.
    pub fn check(self, server: &Running, expected: u64) -> Result<()> {
        let mut link = Link::open(server.address)?;
        let counts = (0..self.queue_count).map(|queue| link.count_messages(&queue_name(queue)));
        let found: u64 = counts.sum::<Result<u32, _>>()?.into();
        ensure!(found == expected, "{found} messages are in the queues instead of {expected}");
        Ok(())
    }

    fn flow(self, consumer_count: u32) -> Flow {
        Flow {
            body_size: BODY_SIZE,
            queue_count: self.queue_count,
            is_durable: true,
            is_persistent: true,
            producer_count: CONNECTION_COUNT,
            consumer_count,
            confirm_window: Some(CONFIRM_WINDOW),
            ack_each: Some(ACK_EACH),
            is_stored: true,
            duration_s: SILENCE_MAX.as_secs_f64() + self.message_count as f64 / RATE_MIN,
            message_count_max: self.message_count / u64::from(CONNECTION_COUNT),
            ..Flow::default()
        }
    }

    fn work(self, server: &Running, role: Role, flow: Flow) -> Result<f64> {
        let task = Task { role, address: server.address, flow, cores: None };
        let measured = client::work(&task, &mut client::open(&task)?)?;
        let (count, duration_s) = (measured.message_count, flow.duration_s);
        ensure!(count == self.message_count, "{count} messages in {duration_s:.0} s: {self} are too many");
        Ok(measured.end_ns.saturating_sub(measured.begin_ns) as f64 / 1e9)
    }
}

impl fmt::Display for Backlog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues = if self.queue_count == 1 { "queue" } else { "queues" };
        write!(out, "{} messages of 1 KiB in {} {queues}", self.message_count, self.queue_count)
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_node::{AmqpConfig, NodeConfig, Server};

    use super::super::server::ServerKind;
    use super::{Backlog, Running};

    #[test]
    fn a_backlog_stays_until_all_of_it_is_consumed() {
        let amqp = AmqpConfig { bind: Some(vec!["tcp://127.0.0.1:0".to_owned()]), ..AmqpConfig::default() };
        let node = Server::start(NodeConfig { amqp, ..NodeConfig::default() }).unwrap();
        let endpoint = node.amqp_endpoints()[0].to_string();
        let address = endpoint.trim_start_matches("tcp://").parse().unwrap();
        let server = Running::at(ServerKind::Node, address, None);
        for queue_count in [1, 25] {
            let backlog = Backlog { message_count: 3_000, queue_count };
            backlog.fill(&server).unwrap();
            backlog.check(&server, 3_000).unwrap();
            let error = backlog.check(&server, 2_999).unwrap_err();
            assert_eq!(error.to_string(), "3000 messages are in the queues instead of 2999");
            backlog.drain(&server).unwrap();
            backlog.check(&server, 0).unwrap();
        }
    }
}
