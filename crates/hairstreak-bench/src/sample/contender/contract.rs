//! The contract of a contender: the traits that each messaging system implements.
//!
//! Everything is generic and static: the timing loops are compiled once per contender, without a call through a table.

use std::fmt::Display;

use anyhow::{Result, anyhow};

use crate::sample::task::{Calls, CaseName, Task, Transport};

/// Returns a function that makes the error of a failed call.
pub fn failed<E: Display>(call: &'static str) -> impl Fn(E) -> anyhow::Error {
    move |error| anyhow!("{call} failed: {error}")
}

/// The settings that a contender needs before it opens anything.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The case to measure. It decides on the mechanism, and on the way in which a limit program waits.
    pub case: CaseName,
    /// The transport.
    pub transport: Transport,
    /// Bytes per message.
    pub size: usize,
    /// The way of calling. If bodies are handed over by reference, a limit program moves no more than a word of each.
    pub calls: Calls,
    /// The libzmq to load.
    pub libzmq: &'a str,
}

impl<'a> Opening<'a> {
    /// The part of `task` that a contender may know.
    pub fn of(task: &'a Task) -> Self {
        Self {
            case: task.case,
            transport: task.transport,
            size: task.size,
            calls: task.calls,
            libzmq: &task.libzmq,
        }
    }
}

/// One messaging system, opened once per process.
pub trait Contender: Sized + Sync {
    /// The sockets of one thread.
    type Component: Component;

    /// Prepares the process.
    fn open(opening: Opening<'_>) -> Result<Self>;

    /// Prepares the calling thread.
    fn component(&self) -> Result<Self::Component>;
}

/// The sockets of one thread.
pub trait Component {
    /// A PUSH end.
    type Sender: Sending;
    /// A PULL end.
    type Receiver: Receiving;
    /// A SUB end.
    type Subscriber: Receiving;
    /// A PUB end.
    type Publisher: Sending;
    /// A DEALER end.
    type Client: Sending + Receiving;
    /// A ROUTER end.
    type Server: Echoing;

    /// Binds a PULL end and gives the endpoint to connect to. `number` distinguishes the endpoints of a sample.
    fn bind_receiver(&self, number: usize) -> Result<(Self::Receiver, String)>;

    /// Binds a PUSH end.
    fn bind_sender(&self, number: usize) -> Result<(Self::Sender, String)>;

    /// Connects a PULL end.
    fn connect_receiver(&self, endpoint: &str) -> Result<Self::Receiver>;

    /// Connects a PUSH end.
    fn connect_sender(&self, endpoint: &str) -> Result<Self::Sender>;

    /// Binds a SUB end that is subscribed to everything.
    fn bind_subscriber(&self, number: usize) -> Result<(Self::Subscriber, String)>;

    /// Connects a PUB end that loses nothing: it waits while a subscriber has no room. All have subscribed when it
    /// is given.
    fn connect_publisher(&self, endpoints: &[String]) -> Result<Self::Publisher>;

    /// Binds a DEALER end.
    fn bind_client(&self, number: usize) -> Result<(Self::Client, String)>;

    /// Connects a ROUTER end that loses nothing.
    fn connect_server(&self, endpoint: &str) -> Result<Self::Server>;
}

/// An end that sends.
pub trait Sending {
    /// Blocks until the other end is there, where the contender can tell.
    fn wait_ready(&mut self) -> Result<()>;

    /// Sends one message, blocking while there is no room.
    fn send(&mut self, body: &[u8]) -> Result<()>;

    /// Sends `count` messages of the same body by the contender's batch call; one by one where it has none.
    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        (0..count).try_for_each(|_| self.send(body))
    }

    /// Sends `count` messages, one call each, all of one body that is made once and handed over by reference,
    /// where the contender has such a thing.
    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<()> {
        (0..count).try_for_each(|_| self.send(body))
    }

    /// Called before the application waits for something else: writes the gathered bytes, if that is its duty.
    fn flush(&mut self) -> Result<()>;
}

/// An end that receives.
pub trait Receiving {
    /// Blocks until the other end is there, where the contender can tell.
    fn wait_ready(&mut self) -> Result<()>;

    /// Blocks for a message and gives its size.
    fn receive(&mut self) -> Result<usize>;

    /// Blocks for at least one message, takes up to `max` by the contender's batch call (one where it has none), and
    /// gives their count; each is of `size` bytes or it is an error.
    fn receive_batch(&mut self, size: usize, _max: usize) -> Result<usize> {
        match self.receive()? {
            received if received == size => Ok(1),
            received => Err(wrong_size(received, size)),
        }
    }
}

/// A ROUTER end.
pub trait Echoing {
    /// Blocks until the other end is there, where the contender can tell.
    fn wait_ready(&mut self) -> Result<()>;

    /// Blocks for a message, sends it back, and gives the size of its body.
    fn echo(&mut self) -> Result<usize>;

    /// Blocks for at least one message, takes up to `max` by the contender's batch call (one where it has none),
    /// sends them back likewise, and gives their count; each body is of `size` bytes or it is an error.
    fn echo_batch(&mut self, size: usize, _max: usize) -> Result<usize> {
        match self.echo()? {
            received if received == size => Ok(1),
            received => Err(wrong_size(received, size)),
        }
    }

    /// Called after the last message: writes the gathered bytes, if that is its duty.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The error for a message of a size that was not sent.
pub fn wrong_size(size: usize, expected: usize) -> anyhow::Error {
    failed("receive")(format!("a message of {size} bytes arrived where {expected} were sent"))
}

/// The endpoint of a unix socket without a file, of this process and `number`.
pub fn abstract_name(number: usize) -> String {
    format!("hairstreak-bench-{}-{number}", std::process::id())
}
