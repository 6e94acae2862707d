//! The loads: each a preparation, and a step that is repeated while good clients are measured, if the load is a flood.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::super::amqp::Argument::{Long, U32};
use super::super::server::Running;
use super::attacker::Action::{self, *};
use super::attacker::{Attacker, Fields, LETTERS, LETTERS_QUEUE, POLICY_QUEUE, QUEUE};
use super::http::QUEUES_LISTED;

const SHORT: Fields = &[("x-max-length", U32(1))];
/// Queues and messages that live for 500 ms.
const EXPIRING_QUEUES: Fields = &[("x-expires", U32(500))];
const EXPIRING_MESSAGES: Fields = &[("x-message-ttl", U32(500))];
const DEAD_LETTERING: Fields = &[
    ("x-message-ttl", U32(500)),
    ("x-dead-letter-exchange", Long(b"")),
    ("x-dead-letter-routing-key", Long(LETTERS_QUEUE)),
];

/// A load: its name in reports, its preparation, the milliseconds between two steps, and the step of a flood. `{}` in a name
/// stands for the number of idle connections. A slow broker makes the time between steps longer.
#[derive(Debug)]
struct Load(&'static str, &'static [Action], u64, &'static [Action]);

/// All queues of a list over HTTP.
const LISTED: Action = Queues(QUEUES_LISTED, QUEUE, &[]);
const FULL: Action = Publish(100_000);
const BOUND: Action = Bind(20_000, "key");

static OVER_AMQP: [Load; 6] = [
    Load("{} idle connections", &[Idle], 0, &[]),
    Load("1000 connections that sent half a protocol header", &[HalfHeaders(1_000)], 0, &[]),
    Load("200 publishers that owe most of 1 MiB each", &[HalfMessages(200)], 0, &[]),
    Load("20 consumers that never read", &[Queues(20, QUEUE, &[]), DeafConsumers(20)], 0, &[]),
    Load("connections with a malformed frame", &[], 10, &[Malformed(5)]),
    Load("channels, opened and closed", &[], 10, &[Channels(200)]),
];

static OVER_HTTP: [Load; 3] = [
    Load("lists of 10000 queues over HTTP", &[LISTED], 500, &[ListQueues]),
    Load("1000 HTTP clients that sent half a request", &[Requests(1_000, 50)], 0, &[]),
    Load(
        "1000 HTTP clients that ask for 10000 queues and never read",
        &[LISTED, Requests(1_000, 100)],
        0,
        &[],
    ),
];

/// Work on one virtual host must not hold up clients of another one, however large the work is. Each step therefore has a
/// large subject: many patterns, messages, bindings, queues or policies.
static ELSEWHERE: [Load; 9] = [
    Load(
        "policies that go back often in 10000 queues",
        &[Queues(10_000, POLICY_QUEUE, &[])],
        10,
        &[SetPolicy],
    ),
    Load(
        "messages of 2000 keys through 2000 topic patterns",
        &[Queue(SHORT), Exchange("topic"), Bind(2_000, "#.a.#.b")],
        10,
        &[PublishToAll(2_000)],
    ),
    Load("purges of 100000 messages", &[Queue(&[])], 10, &[FULL, Purge(QUEUE)]),
    Load(
        "deletions of a queue with 20000 bindings",
        &[Exchange("direct")],
        10,
        &[Queue(&[]), BOUND, DeleteQueue],
    ),
    Load(
        "deletions of an exchange with 20000 bindings",
        &[Queue(&[])],
        10,
        &[Exchange("direct"), BOUND, DeleteExchange],
    ),
    Load("deletions of a virtual host with 5000 queues", &[], 10, &[SpareHost(5_000)]),
    Load("5000 queues that expire at once", &[], 1000, &[OtherQueues(5_000, EXPIRING_QUEUES)]),
    Load("100000 messages that expire at once", &[Queue(EXPIRING_MESSAGES)], 1000, &[FULL]),
    Load(
        "100000 messages that become dead letters at once",
        &[Queues(1, LETTERS, &[]), Queue(DEAD_LETTERING)],
        1000,
        &[Purge(LETTERS), FULL],
    ),
];

/// A load on a broker.
#[derive(Debug)]
pub struct Kind<'a> {
    load: &'static Load,
    server: &'a Running,
    idle_count: u32,
    /// The load is in a virtual host of its own. Good clients must have short round trips beside such a load.
    pub is_elsewhere: bool,
}

/// Returns the loads that `server` can meet.
pub fn kinds(server: &Running, idle_count: u32) -> Vec<Kind<'_>> {
    let tables: [(&'static [Load], bool); 3] = [(&OVER_AMQP, false), (&OVER_HTTP, false), (&ELSEWHERE, true)];
    let tables = tables.into_iter().take(if server.http.is_some() { 3 } else { 1 });
    let loads = tables.flat_map(|(loads, is_elsewhere)| loads.iter().map(move |load| (load, is_elsewhere)));
    loads.map(|(load, is_elsewhere)| Kind { load, server, idle_count, is_elsewhere }).collect()
}

impl Kind<'_> {
    /// The name in reports.
    pub fn text(&self) -> String {
        let place = if self.is_elsewhere { " (another virtual host)" } else { "" };
        self.load.0.replace("{}", &self.idle_count.to_string()) + place
    }

    /// Does `work` beside the load, then ends the load with all its connections, queues and virtual hosts. Returns the rate of
    /// a flood per second, too: malformed frames, channels, lists, or steps of an attack.
    ///
    /// Errors: the broker has stopped a flood.
    pub fn beside<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, Option<f64>)> {
        let Load(_, preparation, interval_ms, step) = *self.load;
        let (interval, is_over) = (Duration::from_millis(interval_ms), AtomicBool::new(false));
        let mut attacker = Attacker::new(self.server, self.idle_count, self.is_elsewhere)?;
        attacker.act(preparation, 0)?;
        let flood = || -> Result<f64> {
            let (start, mut steps) = (Instant::now(), 0);
            while !is_over.load(Relaxed) {
                steps += 1;
                attacker.act(step, steps)?;
                thread::sleep((interval * steps).saturating_sub(start.elapsed()));
            }
            let count = if let [Malformed(count) | Channels(count)] = step { *count } else { 1 };
            Ok(f64::from(steps * count) / start.elapsed().as_secs_f64())
        };
        let (worked, flooded) = thread::scope(|scope| {
            let flood = (!step.is_empty()).then(|| scope.spawn(flood));
            let end = EndOfFlood(&is_over);
            let worked = work();
            drop(end);
            (worked, flood.map(|flood| flood.join()).transpose())
        });
        let rate = flooded.map_err(|_| anyhow!("a thread of this process panicked"))?.transpose()?;
        attacker.clean_up()?;
        Ok((worked?, rate))
    }
}

/// Ends the flood when dropped, also by a panic.
struct EndOfFlood<'a>(&'a AtomicBool);

impl Drop for EndOfFlood<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "in and out beside {}, {}", self.text(), self.server.kind.text())
    }
}
