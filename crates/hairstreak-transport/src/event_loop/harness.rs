//! `Harness`: a loop without threads, sockets and a clock, for tests of a protocol.
//!
//! A test hands in the bytes of the peers, takes the bytes for them, and sets the time. The harness calls the protocol as a loop does, and only when the
//! test asks for it. So a run can be repeated.

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::BlockPool;

use super::context::Context;
use super::loop_set::{LoopSet, Post};
use super::mailbox::{Address, Letter, Mailbox};
use super::options::LoopOptions;
use super::protocol::{End, Protocol};
use super::table::{Entry, Phase, Table};
use super::turn::{call_entry, end_entry};
use crate::connection::{Connection, Read};
use crate::poller::{Poller, Readiness};
use crate::stream::Stream;

/// A loop without a thread. Addresses name its connections.
pub struct Harness<P: Protocol> {
    loops: LoopSet<Letter<P, P::Mail>>,
    post: Post<Letter<P, P::Mail>>,
    pool: Arc<BlockPool>,
    table: Table<P>,
    now: Instant,
}

impl<P: Protocol> Harness<P> {
    /// A loop without connections.
    ///
    /// Errors: the system has no descriptor to give.
    pub fn new(now: Instant) -> io::Result<Harness<P>> {
        let options = LoopOptions { loop_count: 1, ..LoopOptions::default() };
        let loops = LoopSet::new(options, vec![Mailbox::new(Poller::new()?)]);
        let (post, table) = (Post::new(1, 0), Table::new(0));
        Ok(Harness { loops, post, pool: BlockPool::new(), table, now })
    }

    /// The time of the loop.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A connection begins. Returns its address.
    ///
    /// Errors: the system has no descriptor to give.
    pub fn add(&mut self, protocol: P) -> io::Result<Address> {
        // The stream stands for one. Nothing is read from it or written to it.
        let (stream, _) = Stream::pair()?;
        self.loops.place(None);
        let connection = Connection::new(stream, &self.pool, self.now, self.now);
        let index = self.table.add(connection, protocol);
        self.call(index, |protocol, context| protocol.handle_start(context));
        Ok(self.table.get(index).map(|entry| entry.address).unwrap_or_default())
    }

    /// The protocol of a connection that is not over.
    pub fn protocol(&self, at: Address) -> Option<&P> {
        self.entry(at).map(|entry| &entry.protocol)
    }

    /// The protocols of all connections that are not over.
    pub fn protocols(&self) -> impl Iterator<Item = &P> {
        self.table
            .indexes()
            .into_iter()
            .filter_map(|index| self.table.get(index))
            .map(|entry| &entry.protocol)
    }

    /// Returns `true` if the protocol reads: the connection is neither paused nor closed, and has room.
    pub fn is_reading(&self, at: Address) -> bool {
        self.entry(at).is_some_and(|entry| {
            let connection = &entry.connection;
            let is_open = entry.phase == Phase::Open && !connection.is_input_over();
            is_open && !connection.is_paused() && !connection.input.is_full()
        })
    }

    /// Bytes that have come and that the protocol has not used.
    pub fn unread_bytes(&self, at: Address) -> usize {
        self.entry(at).map_or(0, |entry| entry.connection.input.unread().len())
    }

    /// Lets one read find `bytes`. Returns the number of bytes taken: 0 if the protocol does not read.
    pub fn read(&mut self, at: Address, bytes: &[u8]) -> usize {
        let Some(index) = self.find(at).filter(|_| !bytes.is_empty() && self.is_reading(at)) else {
            return 0;
        };
        let Some(entry) = self.table.get_mut(index) else { return 0 };
        let Entry { connection, protocol, .. } = entry;
        let body = protocol.body_to_read().filter(|_| connection.input.unread().is_empty());
        let is_body = body.is_some();
        let read = match body {
            Some((body, size_max)) => {
                let bytes = &bytes[..bytes.len().min(size_max)];
                body.fill(|room| Ok(fill(room, bytes)))
            }
            None => connection.input.fill(|room| Ok(fill(room, bytes))),
        };
        let Ok(Read::Bytes(size)) = connection.note_read(read) else { return 0 };
        if is_body {
            self.call(index, |protocol, context| protocol.handle_body_bytes(size, context));
        } else {
            self.call(index, |protocol, context| protocol.handle_bytes(context));
        }
        if let Some(entry) = self.table.get_mut(index) {
            entry.connection.rest();
        }
        size
    }

    /// The peer takes at most `size_max` bytes of the output that is not held, which are appended to `into`. A connection that the protocol has closed is over
    /// when the peer has all of the output.
    pub fn write(&mut self, at: Address, size_max: usize, into: &mut Vec<u8>) {
        let Some(index) = self.find(at) else { return };
        let Some(entry) = self.table.get_mut(index) else { return };
        let end = into.len().saturating_add(size_max);
        let output = &mut entry.connection.output;
        while into.len() < end && !output.is_empty() {
            let written = output.write_with(|slices| {
                let before = into.len();
                for slice in slices {
                    let room = end - into.len();
                    into.extend_from_slice(&slice[..slice.len().min(room)]);
                }
                Ok(into.len() - before)
            });
            if !written.is_ok_and(|(count, _)| count > 0) {
                break;
            }
        }
        self.tell_written(index);
        let entry = self.table.get(index);
        if entry.is_some_and(|entry| entry.phase == Phase::Draining && entry.connection.output.is_empty()) {
            self.end(index, End::Closed);
        }
    }

    /// The peer sends nothing more.
    pub fn end_input(&mut self, at: Address) {
        let Some(index) = self.find(at) else { return };
        let Some(entry) = self.table.get_mut(index) else { return };
        let event = Readiness { token: 0, readable: true, writable: false, ended: true };
        entry.connection.on_event(&event);
        if entry.connection.is_paused() {
            self.call(index, |protocol, context| protocol.handle_peer_end(context));
        } else if matches!(entry.connection.note_read(Ok((0, false))), Ok(Read::End)) {
            self.call(index, |protocol, context| protocol.handle_input_end(context));
        }
    }

    /// The connection breaks.
    pub fn break_off(&mut self, at: Address) {
        if let Some(index) = self.find(at) {
            self.end(index, End::Failed(io::ErrorKind::ConnectionReset.into()));
        }
    }

    /// Stops the loop.
    pub fn stop(&mut self) {
        for index in self.table.indexes() {
            self.call(index, |protocol, context| protocol.handle_stop(context));
        }
    }

    /// Time passes. Protocols whose time has come are called.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        let now = self.now;
        for index in self.table.indexes() {
            let due = self.table.get(index).and_then(|entry| entry.protocol.poll_timeout());
            if due.is_some_and(|due| due <= now) {
                self.call(index, |protocol, context| protocol.handle_timeout(context));
            }
        }
    }

    /// Mail comes from a thread that is no loop.
    pub fn send(&mut self, to: Address, mail: P::Mail) {
        self.post.put(to.loop_index(), Letter::Mail { to, mail });
    }

    /// Held output of a connection may leave.
    pub fn release(&mut self, to: Address, ticket: u64) {
        self.post.put(to.loop_index(), Letter::Release { to, ticket });
    }

    /// Gives the deferred protocols their turn, then delivers the mail and the releases under way. Mail caused by these
    /// calls waits for the next delivery. Returns the number of calls and letters.
    pub fn deliver_mail(&mut self) -> usize {
        let mut deferred = self.table.indexes();
        deferred.retain(|index| {
            self.table.get_mut(*index).is_some_and(|entry| std::mem::take(&mut entry.is_deferred))
        });
        for index in &deferred {
            self.call(*index, |protocol, context| protocol.handle_deferred(context));
        }
        let count = self.post.own.len();
        for _ in 0..count {
            match self.post.own.pop_front() {
                Some(Letter::Mail { to, mail }) => {
                    if let Some(index) = self.find(to) {
                        self.call(index, |protocol, context| protocol.handle_mail(mail, context));
                    }
                }
                Some(Letter::Release { to, ticket }) => {
                    if let Some(index) = self.find(to)
                        && let Some(entry) = self.table.get_mut(index)
                    {
                        entry.connection.output.release(ticket);
                        self.call(index, |protocol, context| protocol.handle_released(context));
                    }
                }
                _ => {}
            }
        }
        deferred.len() + count
    }

    fn find(&self, at: Address) -> Option<usize> {
        self.table.find(at.index, at.serial)
    }

    fn entry(&self, at: Address) -> Option<&Entry<P>> {
        self.table.get(self.find(at)?)
    }

    fn tell_written(&mut self, index: usize) {
        let Some(entry) = self.table.get_mut(index) else { return };
        let written = entry.connection.output.written_bytes();
        if std::mem::replace(&mut entry.written_told, written) != written {
            self.call(index, |protocol, context| protocol.handle_written(context));
        }
    }

    fn call(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut P, &mut Context<'_, P, P::Mail>) -> Result<(), P::Error>,
    ) {
        let Some(entry) = self.table.get_mut(index).filter(|entry| entry.phase == Phase::Open) else {
            return;
        };
        let mut patience = Duration::ZERO;
        let time = (self.now, &mut patience);
        let (result, wish) = call_entry(entry, &self.loops, &mut self.post, time, act);
        entry.is_deferred |= wish.defers;
        match result {
            Ok(()) if wish.closes => entry.phase = Phase::Draining,
            Ok(()) if wish.resumes || wish.yields => self.resume(index, wish.yields),
            Ok(()) => {}
            Err(error) => self.end(index, End::Protocol(error)),
        }
    }

    /// The protocol takes the bytes that are in the buffer already. One that has yielded is called whether or not there are any.
    fn resume(&mut self, index: usize, has_yielded: bool) {
        let Some(entry) = self.table.get_mut(index) else { return };
        if has_yielded || !entry.connection.input.unread().is_empty() {
            self.call(index, |protocol, context| protocol.handle_bytes(context));
        }
    }

    fn end(&mut self, index: usize, end: End<P::Error>) {
        let Some(mut entry) = self.table.remove(index) else { return };
        let mut patience = Duration::ZERO;
        let time = (self.now, &mut patience);
        end_entry(&mut entry, &self.loops, &mut self.post, time, end);
        self.loops.connection_has_ended(0);
    }
}

/// Copies into `room` as many bytes as it takes. Returns the filled part.
fn fill<'a>(room: &'a mut [MaybeUninit<u8>], bytes: &[u8]) -> &'a mut [u8] {
    let count = room.len().min(bytes.len());
    room[..count].write_copy_of_slice(&bytes[..count])
}
