//! Attacks from a virtual host of the attacker's own: the rows, each a preparation and a step that is repeated.
//!
//! Work on one virtual host must not hold up clients of another one, however much the work is. Each step therefore has a large
//! subject: many patterns, messages, bindings, queues or policies.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use super::super::amqp::{
    AmqpError, Argument, CHANNEL, Link, QUEUE_BIND, QUEUE_DECLARE, push_method, push_publish,
    push_publish_to_all,
};
use super::http;

/// The attacker's virtual host, and another one that is created and deleted in turns.
const HOST: &str = "hostile";
const SPARE_HOST: &str = "hostile-spare";
const EXCHANGE: &str = "hostile";
const QUEUE: &str = "hostile";
/// The queue that takes dead letters.
const LETTERS: &str = "hostile.letters";
/// The queues in the virtual host of policies, and the policies that are set in turns.
const POLICY_QUEUE_COUNT: u32 = 10_000;
const POLICY_COUNT: u32 = 20;
/// A pattern that goes back often in the names of these queues.
const POLICY_PATTERN: &str = r"(?=(a+))\\1+$";
/// Patterns of the topic exchange, and routing keys of each message.
const PATTERN_COUNT: u32 = 2_000;
const KEY_COUNT: u32 = 2_000;
const MESSAGE_COUNT: u32 = 100_000;
const BINDING_COUNT: u32 = 20_000;
const QUEUE_COUNT: u32 = 5_000;
/// The time that queues and messages live.
const LIFE_MS: u32 = 500;
/// Time between two steps that have something expire.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two steps of other attacks. A slow broker makes the time longer.
const INTERVAL: Duration = Duration::from_millis(10);

/// Bits of queue.declare and queue.bind: the broker sends no answer.
const DECLARE_NO_WAIT: u8 = 16;
const BIND_NO_WAIT: u8 = 1;

/// A row: an attack that is repeated while good clients are measured.
#[derive(Debug)]
pub struct Attack {
    /// The name in reports.
    pub text: &'static str,
    /// The time between two steps.
    pub interval: Duration,
    prepare: fn(&mut Attacker) -> Result<(), AmqpError>,
    step: fn(&mut Attacker, u32) -> Result<(), AmqpError>,
}

/// All rows.
pub static ATTACKS: [Attack; 9] = [
    Attack {
        text: "policies that go back often in 10000 queues",
        interval: INTERVAL,
        prepare: |attacker| attacker.declare_queues(POLICY_QUEUE_COUNT, &"a".repeat(40), &[]),
        step: set_policy,
    },
    Attack {
        text: "messages of 2000 keys through 2000 topic patterns",
        interval: INTERVAL,
        prepare: |attacker| {
            attacker.declare_queues(1, QUEUE, &number_field("x-max-length", 1))?;
            attacker.link.declare_exchange(EXCHANGE, "topic")?;
            attacker.bind(PATTERN_COUNT, "#.a.#.b")
        },
        step: |attacker, _| {
            let keys: Vec<_> = (0..KEY_COUNT).map(|key| format!("a.a.a.b.a.a.b.{key}")).collect();
            let mut frames = Vec::new();
            push_publish_to_all(&mut frames, CHANNEL, (EXCHANGE, "a"), &keys);
            attacker.write(&frames)
        },
    },
    Attack {
        text: "purges of 100000 messages",
        interval: INTERVAL,
        prepare: |attacker| attacker.declare_queues(1, QUEUE, &[]),
        step: |attacker, _| {
            attacker.publish(MESSAGE_COUNT)?;
            attacker.link.purge_queue(&queue_name(QUEUE, 0))
        },
    },
    Attack {
        text: "deletions of a queue with 20000 bindings",
        interval: INTERVAL,
        prepare: |attacker| attacker.link.declare_exchange(EXCHANGE, "direct"),
        step: |attacker, _| {
            attacker.declare_queues(1, QUEUE, &[])?;
            attacker.bind(BINDING_COUNT, "key")?;
            attacker.link.delete_queue(&queue_name(QUEUE, 0))
        },
    },
    Attack {
        text: "deletions of an exchange with 20000 bindings",
        interval: INTERVAL,
        prepare: |attacker| attacker.declare_queues(1, QUEUE, &[]),
        step: |attacker, _| {
            attacker.link.declare_exchange(EXCHANGE, "direct")?;
            attacker.bind(BINDING_COUNT, "key")?;
            attacker.link.delete_exchange(EXCHANGE)
        },
    },
    Attack {
        text: "deletions of a virtual host with 5000 queues",
        interval: INTERVAL,
        prepare: |_| Ok(()),
        step: |attacker, _| {
            let mut spare = Attacker::enter(SPARE_HOST, attacker.address, attacker.http)?;
            spare.declare_queues(QUEUE_COUNT, QUEUE, &[])?;
            delete(SPARE_HOST, attacker.http)
        },
    },
    Attack {
        text: "5000 queues that expire at once",
        interval: EXPIRY_INTERVAL,
        prepare: |_| Ok(()),
        step: |attacker, number| {
            attacker.declare_queues(
                QUEUE_COUNT,
                &format!("{QUEUE}.{number}"),
                &number_field("x-expires", LIFE_MS),
            )
        },
    },
    Attack {
        text: "100000 messages that expire at once",
        interval: EXPIRY_INTERVAL,
        prepare: |attacker| attacker.declare_queues(1, QUEUE, &number_field("x-message-ttl", LIFE_MS)),
        step: |attacker, _| attacker.publish(MESSAGE_COUNT),
    },
    Attack {
        text: "100000 messages that become dead letters at once",
        interval: EXPIRY_INTERVAL,
        prepare: |attacker| {
            attacker.declare_queues(1, LETTERS, &[])?;
            let fields = [
                number_field("x-message-ttl", LIFE_MS),
                text_field("x-dead-letter-exchange", ""),
                text_field("x-dead-letter-routing-key", &queue_name(LETTERS, 0)),
            ];
            attacker.declare_queues(1, QUEUE, &fields.concat())
        },
        step: |attacker, _| {
            attacker.link.purge_queue(&queue_name(LETTERS, 0))?;
            attacker.publish(MESSAGE_COUNT)
        },
    },
];

/// A connection to a virtual host of its own.
pub struct Attacker {
    link: Link,
    address: SocketAddr,
    http: SocketAddr,
}

impl Attacker {
    /// Creates the virtual host and prepares the attack there.
    pub fn start(attack: &Attack, address: SocketAddr, http: SocketAddr) -> Result<Attacker, AmqpError> {
        let mut attacker = Self::enter(HOST, address, http)?;
        (attack.prepare)(&mut attacker)?;
        Ok(attacker)
    }

    fn enter(host: &str, address: SocketAddr, http: SocketAddr) -> Result<Attacker, AmqpError> {
        http::change(http, "PUT", &format!("vhosts/{host}"), "{}")?;
        let all = r#"{"configure":".*","write":".*","read":".*"}"#;
        http::change(http, "PUT", &format!("permissions/{host}/guest"), all)?;
        Ok(Attacker { link: Link::open_in(address, host)?, address, http })
    }

    /// Does the step of the attack that has this number.
    pub fn step(&mut self, attack: &Attack, number: u32) -> Result<(), AmqpError> {
        (attack.step)(self, number)
    }

    /// Writes frames, and waits until the broker has handled them.
    fn write(&mut self, frames: &[u8]) -> Result<(), AmqpError> {
        self.link.stream.write_all(frames)?;
        self.link.await_channel()
    }

    /// Declares queues with these fields of a table as arguments.
    fn declare_queues(&mut self, count: u32, name: &str, fields: &[u8]) -> Result<(), AmqpError> {
        let mut frames = Vec::new();
        for number in 0..count {
            let name = queue_name(name, number);
            let arguments = [
                Argument::U16(0),
                Argument::Short(&name),
                Argument::U8(DECLARE_NO_WAIT),
                // A table has the form of a long string.
                Argument::Long(fields),
            ];
            push_method(&mut frames, CHANNEL, QUEUE_DECLARE, &arguments);
        }
        self.write(&frames)
    }

    /// Binds the queue with keys that begin like that.
    fn bind(&mut self, count: u32, key: &str) -> Result<(), AmqpError> {
        let (mut frames, queue) = (Vec::new(), queue_name(QUEUE, 0));
        for number in 0..count {
            let key = format!("{key}.{number}");
            let arguments = [
                Argument::U16(0),
                Argument::Short(&queue),
                Argument::Short(EXCHANGE),
                Argument::Short(&key),
                Argument::U8(BIND_NO_WAIT),
                Argument::EmptyTable,
            ];
            push_method(&mut frames, CHANNEL, QUEUE_BIND, &arguments);
        }
        self.write(&frames)
    }

    /// Publishes messages to the queue.
    fn publish(&mut self, count: u32) -> Result<(), AmqpError> {
        let mut frame = Vec::new();
        push_publish(&mut frame, CHANNEL, ("", &queue_name(QUEUE, 0)), &[7; 16], self.link.frame_size_max);
        self.write(&frame.repeat(count as usize))
    }
}

/// Deletes the attacker's virtual host.
pub fn clean_up(http: SocketAddr) -> Result<(), AmqpError> {
    delete(HOST, http)
}

fn delete(host: &str, http: SocketAddr) -> Result<(), AmqpError> {
    http::change(http, "DELETE", &format!("vhosts/{host}"), "")
}

/// Sets a policy whose pattern goes back often, one of several in turns, each time with another length.
fn set_policy(attacker: &mut Attacker, number: u32) -> Result<(), AmqpError> {
    let (name, length) = (number % POLICY_COUNT, 10 + number);
    let body = format!(
        r#"{{"pattern":"{POLICY_PATTERN}","definition":{{"max-length":{length}}},"priority":{name}}}"#
    );
    http::change(attacker.http, "PUT", &format!("policies/{HOST}/p{name}"), &body)
}

fn queue_name(name: &str, number: u32) -> String {
    format!("{name}{number}")
}

/// A field of a table: a number.
fn number_field(name: &str, value: u32) -> Vec<u8> {
    [&[name.len() as u8], name.as_bytes(), b"I", &value.to_be_bytes()[..]].concat()
}

/// A field of a table: a text.
fn text_field(name: &str, value: &str) -> Vec<u8> {
    let size = (value.len() as u32).to_be_bytes();
    [&[name.len() as u8], name.as_bytes(), b"S", &size[..], value.as_bytes()].concat()
}
