//! `EventLoops`: the threads, and what they share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;

use super::address::Address;
use super::listening::Listening;
use super::mailbox::{Letter, Mailbox};
use super::options::LoopOptions;
use super::protocol::Protocol;
use super::turn::Loop;
use crate::listener::Listener;
use crate::poller::Poller;
use crate::stream::Stream;

/// What the loops share.
pub(super) struct Shared<P: Protocol> {
    pub options: LoopOptions,
    mailboxes: Vec<Mailbox<P>>,
    /// Connections of each loop, those on their way to it among them.
    counts: Vec<AtomicUsize>,
}

impl<P: Protocol> Shared<P> {
    pub fn loop_count(&self) -> usize {
        self.mailboxes.len()
    }

    pub fn mailbox(&self, loop_index: usize) -> &Mailbox<P> {
        &self.mailboxes[loop_index]
    }

    /// Whether one connection more is within the bound.
    pub fn has_room(&self) -> bool {
        self.connection_count() < self.options.connections_max
    }

    pub fn connection_count(&self) -> usize {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// The loop for a new connection: the one that is asked for, or the one with the fewest connections. Counts the connection.
    pub fn place(&self, loop_index: Option<usize>) -> usize {
        let fewest = || {
            let counts = self.counts.iter().enumerate();
            counts.min_by_key(|(_, count)| count.load(Relaxed)).map_or(0, |(index, _)| index)
        };
        let loop_index = loop_index.map_or_else(fewest, |index| index % self.loop_count());
        self.counts[loop_index].fetch_add(1, Relaxed);
        loop_index
    }

    pub fn connection_has_ended(&self, loop_index: usize) {
        self.counts[loop_index].fetch_sub(1, Relaxed);
    }
}

/// Running event loops. Dropping them stops them.
pub struct EventLoops<P: Protocol> {
    handle: Handle<P>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// A way to the loops from any thread.
pub struct Handle<P: Protocol> {
    shared: Arc<Shared<P>>,
}

impl<P: Protocol> Clone for Handle<P> {
    fn clone(&self) -> Handle<P> {
        Handle { shared: Arc::clone(&self.shared) }
    }
}

impl<P: Protocol> EventLoops<P> {
    /// Starts the threads.
    ///
    /// Errors: the system has no descriptor or no thread to give.
    pub fn start(options: LoopOptions) -> io::Result<EventLoops<P>> {
        let loop_count = options.loop_count.max(1);
        let mailboxes = (0..loop_count).map(|_| Ok(Mailbox::new(Poller::new()?)));
        let mailboxes = mailboxes.collect::<io::Result<Vec<_>>>()?;
        let counts = (0..loop_count).map(|_| AtomicUsize::new(0)).collect();
        let name = options.name.clone();
        let shared = Arc::new(Shared { options, mailboxes, counts });
        let mut loops = EventLoops { handle: Handle { shared: Arc::clone(&shared) }, threads: Vec::new() };
        for index in 0..loop_count {
            let shared = Arc::clone(&shared);
            let run = move || Loop::new(shared, index).run();
            loops.threads.push(std::thread::Builder::new().name(format!("{name}-{index}")).spawn(run)?);
        }
        Ok(loops)
    }

    /// A way to the loops from any thread.
    pub fn handle(&self) -> Handle<P> {
        self.handle.clone()
    }

    /// Accepts from `listener`. `accept` makes the protocol of each stream, or closes it.
    pub fn listen(&self, listener: Listener, accept: impl FnMut(&Stream) -> Option<P> + Send + 'static) {
        let listening = Listening::new(listener, Box::new(accept));
        self.handle.put(0, Letter::Listen(listening));
    }

    /// Stops accepting, has every protocol close its connection, and waits until the last connection is over.
    ///
    /// Errors: a loop had failed before.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        (0..self.threads.len()).for_each(|index| self.handle.put(index, Letter::Stop));
        let results: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        // A panic of a thread has been reported by itself.
        results.into_iter().flatten().collect()
    }
}

impl<P: Protocol> Drop for EventLoops<P> {
    fn drop(&mut self) {
        // What failed was said by `stop`, or nobody asked.
        let _ = self.end();
    }
}

impl<P: Protocol> Handle<P> {
    fn put(&self, loop_index: usize, letter: Letter<P>) {
        self.shared.mailbox(loop_index).put(&mut vec![letter]);
    }

    /// Adds a connection to a loop: `loop_index`, or the loop with the fewest connections. The protocol learns
    /// its address when the connection is established.
    pub fn add(&self, loop_index: Option<usize>, stream: Stream, protocol: P) {
        let loop_index = self.shared.place(loop_index);
        self.put(loop_index, Letter::Adopt { stream, protocol: Box::new(protocol) });
    }

    /// Hands mail to a connection.
    pub fn send(&self, to: Address, mail: P::Mail) {
        self.put(to.loop_index(), Letter::Mail { index: to.index, serial: to.serial, mail });
    }

    /// Connections of all loops, those on their way to one among them.
    pub fn connection_count(&self) -> usize {
        self.shared.connection_count()
    }

    /// Connections of each loop.
    pub fn connection_counts(&self) -> Vec<usize> {
        self.shared.counts.iter().map(|count| count.load(Relaxed)).collect()
    }
}
