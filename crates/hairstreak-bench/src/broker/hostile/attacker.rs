//! `Attacker`: the actions of loads, by a guest in the virtual host `/` or in a virtual host of the load's own.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Result;

use super::super::amqp::Argument::{Short, Table, U8, U16};
use super::super::amqp::*;
use super::super::server::Running;
use super::http;

/// The virtual host of an attacker, and another one that is created and deleted in turns.
const HOST: &str = "hostile";
const SPARE_HOST: &str = "hostile-spare";
const EXCHANGE: &str = "hostile";
/// The first part of the names of queues.
pub const QUEUE: &str = "hostile.";
/// The first part of the name of the queue that takes dead letters, and its name.
pub const LETTERS: &str = "hostile.letters.";
pub const LETTERS_QUEUE: &[u8] = b"hostile.letters.0";
/// The first part of the names of queues with policies. A pattern that backtracks often takes long to match it.
pub const POLICY_QUEUE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const POLICY_PATTERN: &str = r"(?=(a+))\\1+$";
/// The policies that are set in turns.
const POLICY_COUNT: u32 = 20;
/// The size of a body of which a publisher sends only the beginning, of 128 KiB.
const HALF_BODY_SIZE: usize = 1 << 20;
const HALF_SIZE: usize = HALF_BODY_SIZE / 8;
/// The messages that wait for each consumer that does not read.
const DEAF_MESSAGE_COUNT: usize = 1_000;
const DEAF_BODY_SIZE: usize = 16 << 10;
/// Bits of queue.declare and queue.bind: the broker sends no answer.
const DECLARE_NO_WAIT: u8 = 16;
const BIND_NO_WAIT: u8 = 1;

/// The fields of a table.
pub type Fields = &'static [(&'static str, Argument<'static>)];

/// An action. Bindings, messages and deletions concern the first queue named [`QUEUE`], the queue. Connections stay
/// open.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Opens the idle connections, with a channel each.
    Idle,
    /// Opens connections that send half of the protocol header.
    HalfHeaders(u32),
    /// Opens publishers that send the beginning of a message.
    HalfMessages(u32),
    /// Opens a consumer that does not read for each queue, and publishes messages for it.
    DeafConsumers(u32),
    /// Logs in, sends a frame with a wrong end, waits for the refusal, and disconnects.
    Malformed(u32),
    /// Opens and closes channels, many in one write, and reads the answers.
    Channels(u32),
    /// Lists all queues over HTTP.
    ListQueues,
    /// Opens connections that send a part of a request for all queues, in hundredths, and do not read an answer.
    Requests(u32, usize),
    /// Declares the queue with these arguments.
    Queue(Fields),
    /// Declares a number of queues whose names begin with the text, with these arguments.
    Queues(u32, &'static str, Fields),
    /// Declares a number of queues, with other names in each step.
    OtherQueues(u32, Fields),
    /// Declares the exchange, of this type.
    Exchange(&'static str),
    /// Binds the queue a number of times, with keys that begin with the text.
    Bind(u32, &'static str),
    /// Publishes a number of messages to the queue.
    Publish(u32),
    /// Publishes a message with a number of keys to the exchange.
    PublishToAll(u32),
    /// Purges the first queue whose name begins like that.
    Purge(&'static str),
    /// Deletes the queue.
    DeleteQueue,
    /// Deletes the exchange.
    DeleteExchange,
    /// Sets one of some policies in turns, each time with another length.
    SetPolicy,
    /// Creates another virtual host with a number of queues, and deletes it.
    SpareHost(u32),
}

use Action::*;

/// A client that follows the steps of a load.
#[derive(Debug)]
pub struct Attacker<'a> {
    server: &'a Running,
    host: &'static str,
    idle_count: u32,
    /// The channel for everything that needs one channel only.
    channel: Link,
    /// Connections that stay open.
    open: Vec<Box<dyn Debug + Send>>,
    /// Queues that were declared.
    queue_count: u32,
}

impl<'a> Attacker<'a> {
    /// An attacker of `server`. If it is elsewhere, it creates its virtual host.
    pub fn new(server: &'a Running, idle_count: u32, is_elsewhere: bool) -> Result<Attacker<'a>> {
        let host = if is_elsewhere { HOST } else { "/" };
        if is_elsewhere {
            http::create_host(server, HOST)?;
        }
        let channel = Link::open_in(server.address, host)?;
        Ok(Attacker { server, host, idle_count, channel, open: Vec::new(), queue_count: 0 })
    }

    /// Does these actions as part of the step that has this number.
    pub fn act(&mut self, actions: &[Action], number: u32) -> Result<()> {
        actions.iter().try_for_each(|&action| self.act_once(action, number))
    }

    fn act_once(&mut self, action: Action, number: u32) -> Result<()> {
        let queue = queue_name(QUEUE, 0);
        match action {
            Idle => self.open_links(self.idle_count, &[])?,
            HalfHeaders(count) => self.open_streams(self.server.address, count, &PROTOCOL_HEADER[..4])?,
            HalfMessages(count) => {
                let message = publish(QUEUE, &vec![0; HALF_BODY_SIZE], &self.channel);
                self.open_links(count, &message[..HALF_SIZE])?;
            }
            DeafConsumers(count) => {
                for number in 0..count {
                    let queue = queue_name(QUEUE, number);
                    let mut consumer = Link::open(self.server.address)?;
                    consumer.consume(&queue, true)?;
                    self.open.push(Box::new(consumer));
                    let message = publish(&queue, &vec![0; DEAF_BODY_SIZE], &self.channel);
                    (0..DEAF_MESSAGE_COUNT).try_for_each(|_| self.channel.stream.write_all(&message))?;
                }
                self.channel.settle(&[])?;
            }
            Malformed(count) => {
                for _ in 0..count {
                    let mut link = Link::open_small(self.server.address)?;
                    link.stream.write_all(&[BODY, 0, 1, 0, 0, 0, 1, 7, 0])?;
                    link.stream.set_read_timeout(Some(Duration::from_secs(1)))?;
                    // The answer of the broker does not matter here.
                    let _ = link.stream.read(&mut [0; 512]);
                }
            }
            Channels(count) => {
                let mut frames = Vec::new();
                for channel in (2..).take(count as usize) {
                    push_method(&mut frames, channel, CHANNEL_OPEN, &[Short("")]);
                    push_method(&mut frames, channel, CHANNEL_CLOSE, &[U16(200), Short(""), U16(0), U16(0)]);
                }
                self.channel.stream.write_all(&frames)?;
                self.channel.skip_answers(2 * count)?;
            }
            ListQueues => http::list_queues(self.server)?,
            Requests(count, percent) => {
                let request = http::list_request();
                let part = &request.as_bytes()[..request.len() * percent / 100];
                self.open_streams(http::address(self.server)?, count, part)?;
            }
            Queue(fields) => self.declare_queues(1, QUEUE, fields)?,
            Queues(count, name, fields) => self.declare_queues(count, name, fields)?,
            OtherQueues(count, fields) => {
                self.declare_queues(count, &format!("{QUEUE}{number}."), fields)?;
            }
            Exchange(kind) => self.channel.declare_exchange(EXCHANGE, kind)?,
            Bind(count, key) => {
                let mut frames = Vec::new();
                for number in 0..count {
                    let (key, wait) = (format!("{key}.{number}"), U8(BIND_NO_WAIT));
                    let arguments = [U16(0), Short(&queue), Short(EXCHANGE), Short(&key), wait, EMPTY_TABLE];
                    push_method(&mut frames, CHANNEL, QUEUE_BIND, &arguments);
                }
                self.channel.settle(&frames)?;
            }
            Publish(count) => {
                let frame = publish(&queue, &[7; 16], &self.channel);
                self.channel.settle(&frame.repeat(count as usize))?;
            }
            PublishToAll(count) => {
                let (mut frames, keys) = (Vec::new(), (0..count).map(|key| format!("a.a.a.b.a.a.b.{key}")));
                push_publish_to_all(&mut frames, (EXCHANGE, "a"), keys);
                self.channel.settle(&frames)?;
            }
            Purge(name) => self.channel.purge_queue(&queue_name(name, 0))?,
            DeleteQueue => self.channel.delete_queue(&queue)?,
            DeleteExchange => self.channel.delete_exchange(EXCHANGE)?,
            SetPolicy => {
                let (name, length) = (number % POLICY_COUNT, 10 + number);
                let definition = format!(r#"{{"max-length":{length}}}"#);
                let body = format!(
                    r#"{{"pattern":"{POLICY_PATTERN}","definition":{definition},"priority":{name}}}"#
                );
                http::change(self.server, "PUT", &format!("policies/{HOST}/p{name}"), &body)?;
            }
            SpareHost(count) => {
                http::create_host(self.server, SPARE_HOST)?;
                let mut link = Link::open_in(self.server.address, SPARE_HOST)?;
                link.settle(&queue_declarations(count, QUEUE, &[]))?;
                http::delete_host(self.server, SPARE_HOST)?;
            }
        }
        Ok(())
    }

    /// Ends all connections, and deletes the queues or the virtual host.
    pub fn clean_up(mut self) -> Result<()> {
        self.open.clear();
        if self.host == HOST {
            return http::delete_host(self.server, HOST);
        }
        for number in 0..self.queue_count {
            self.channel.delete_queue(&queue_name(QUEUE, number))?;
        }
        Ok(())
    }

    fn declare_queues(&mut self, count: u32, name: &str, fields: Fields) -> Result<(), AmqpError> {
        self.queue_count = count;
        self.channel.settle(&queue_declarations(count, name, fields))
    }

    /// Opens connections with a channel each that send these bytes and nothing else.
    fn open_links(&mut self, count: u32, bytes: &[u8]) -> Result<()> {
        for _ in 0..count {
            let mut link = Link::open_small(self.server.address)?;
            link.stream.write_all(bytes)?;
            self.open.push(Box::new(link));
        }
        Ok(())
    }

    /// Opens connections that send these bytes and nothing else.
    fn open_streams(&mut self, address: SocketAddr, count: u32, bytes: &[u8]) -> Result<()> {
        for _ in 0..count {
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(bytes)?;
            self.open.push(Box::new(stream));
        }
        Ok(())
    }
}

fn queue_declarations(count: u32, name: &str, fields: Fields) -> Vec<u8> {
    let mut frames = Vec::new();
    for number in 0..count {
        let name = queue_name(name, number);
        let arguments = [U16(0), Short(&name), U8(DECLARE_NO_WAIT), Table(fields)];
        push_method(&mut frames, CHANNEL, QUEUE_DECLARE, &arguments);
    }
    frames
}

/// The frames of a message to a queue.
fn publish(queue: &str, body: &[u8], link: &Link) -> Vec<u8> {
    let mut frames = Vec::new();
    push_publish(&mut frames, ("", queue), body, link.frame_size_max);
    frames
}

fn queue_name(name: &str, number: u32) -> String {
    format!("{name}{number}")
}
