//! The contract of a contender: the traits that each messaging system implements.
//!
//! Everything is generic and static: the timing loops are compiled once per contender, without a call through a table.
//! The patterns of `hairstreak_socket` stand for the types of sockets, also of another system.

use std::fmt::Display;

use anyhow::Result;
pub use hairstreak_socket::pipeline::{PullPattern, PushPattern};
pub use hairstreak_socket::pubsub::{PubPattern, SubPattern};
pub use hairstreak_socket::reqrep::{DealerPattern, RouterPattern};

use crate::sample::task::{Subject, Transport};

/// Returns a function that makes the error of a failed call.
pub fn failed<E: Display>(call: &'static str) -> impl Fn(E) -> anyhow::Error {
    move |error| anyhow::anyhow!("{call} failed: {error}")
}

/// One messaging system, opened once per process. A SUB is subscribed to everything. A PUB and a ROUTER lose nothing:
/// they wait while a peer has no room.
pub trait Contender:
    Opens<PushPattern, End: Sending>
    + Opens<PullPattern, End: Receiving>
    + Opens<PubPattern, End: Sending>
    + Opens<SubPattern, End: Receiving>
    + Opens<DealerPattern, End: Sending + Receiving>
    + Opens<RouterPattern, End: Echoing>
    + Sized
    + Sync
{
    /// Prepares the process. The subject decides on the mechanism, and on the way in which a limit program waits. If
    /// bodies are handed over by reference, a limit program moves no more than a word of each.
    fn open(subject: &Subject) -> Result<Self>;
}

/// A contender that opens ends of the socket type `P`, each for the calling thread.
pub trait Opens<P> {
    /// Such an end.
    type End: End;

    /// Binds an end and returns the endpoint to connect to. `number` distinguishes the endpoints of a sample.
    fn bind(&self, number: usize) -> Result<(Self::End, String)>;

    /// Connects an end. Where it is a PUB, all have subscribed when it is returned.
    fn connect(&self, endpoints: &[String]) -> Result<Self::End>;
}

/// An end of any socket type.
pub trait End {
    /// Blocks until the other end is there, where the contender can tell.
    fn wait_ready(&mut self) -> Result<()> {
        Ok(())
    }

    /// Called after the last message, and before the application waits for something else: writes the gathered bytes,
    /// if that is the duty of the application.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// An end that sends.
pub trait Sending: End {
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
}

/// An end that receives.
pub trait Receiving: End {
    /// Blocks for a message and gives its size.
    fn receive(&mut self) -> Result<usize>;

    /// Blocks for at least one message, takes up to `max` by the contender's batch call (one where it has none), and
    /// gives their count; each is of `size` bytes or it is an error.
    fn receive_batch(&mut self, size: usize, _max: usize) -> Result<usize> {
        check_size(self.receive()?, size)?;
        Ok(1)
    }
}

/// A ROUTER end.
pub trait Echoing: End {
    /// Blocks for a message, sends it back, and gives the size of its body.
    fn echo(&mut self) -> Result<usize>;

    /// Blocks for at least one message, takes up to `max` by the contender's batch call (one where it has none),
    /// sends them back likewise, and gives their count; each body is of `size` bytes or it is an error.
    fn echo_batch(&mut self, size: usize, _max: usize) -> Result<usize> {
        check_size(self.echo()?, size)?;
        Ok(1)
    }
}

/// Refuses a message of a size that was not sent.
#[inline]
pub fn check_size(size: usize, expected: usize) -> Result<()> {
    if size == expected {
        return Ok(());
    }
    Err(failed("receive")(format!("a message of {size} bytes arrived where {expected} were sent")))
}

/// The endpoint at which socket `number` of this process binds.
pub fn endpoint(transport: Transport, number: usize) -> String {
    let name = abstract_name(number);
    match transport {
        Transport::Tcp => "tcp://127.0.0.1:*".to_owned(),
        Transport::Ipc => format!("ipc://@{name}"),
        Transport::Shm => format!("shm://{name}"),
        Transport::Inproc => format!("inproc://{name}"),
    }
}

/// The name of a unix socket without a file, of this process and `number`.
pub fn abstract_name(number: usize) -> String {
    format!("hairstreak-bench-{}-{number}", std::process::id())
}
