//! `EventLoops`: the threads, and `Handle`: the way to them.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::listening::Listening;
use super::loop_set::LoopSet;
use super::mailbox::{Address, Letter, Mailbox};
use super::options::LoopOptions;
use super::protocol::Protocol;
use super::turn::Loop;
use crate::listener::Listener;
use crate::poller::Poller;
use crate::stream::Stream;

/// Running event loops. Dropping them stops them.
pub struct EventLoops<P: Protocol> {
    handle: Handle<P>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// A way to the loops from any thread.
pub struct Handle<P: Protocol> {
    loops: Arc<LoopSet<Letter<P, P::Mail>>>,
}

impl<P: Protocol> Clone for Handle<P> {
    fn clone(&self) -> Handle<P> {
        Handle { loops: Arc::clone(&self.loops) }
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
        let name = options.name.clone();
        let set = Arc::new(LoopSet::new(options, mailboxes));
        let mut loops = EventLoops { handle: Handle { loops: Arc::clone(&set) }, threads: Vec::new() };
        for index in 0..loop_count {
            let set = Arc::clone(&set);
            let run = move || {
                let on_failure = set.options.on_failure.clone();
                let result = panic::catch_unwind(AssertUnwindSafe(|| Loop::new(set, index).run()));
                if !matches!(result, Ok(Ok(()))) {
                    on_failure.call();
                }
                result.unwrap_or_else(|cause| panic::resume_unwind(cause))
            };
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
        // `stop` has reported the failures, or the owner did not ask for them.
        let _ = self.end();
    }
}

impl<P: Protocol> Handle<P> {
    fn put(&self, loop_index: usize, letter: Letter<P, P::Mail>) {
        self.loops.mailbox(loop_index).put(&mut vec![letter]);
    }

    /// Adds a connection to a loop: `loop_index`, or the loop with the fewest connections. The protocol learns
    /// its address when the connection is established.
    pub fn add(&self, loop_index: Option<usize>, stream: Stream, protocol: P) {
        let loop_index = self.loops.place(loop_index);
        self.put(loop_index, Letter::Adopt { stream, protocol: Box::new(protocol) });
    }

    /// Hands mail to a connection.
    pub fn send(&self, to: Address, mail: P::Mail) {
        self.put(to.loop_index(), Letter::Mail { to, mail });
    }

    /// Releases held output of a connection ([`OutgoingBuffer::release`](hairstreak_base::OutgoingBuffer::release)), whether its protocol has closed
    /// it or not. The protocol is not called until bytes are written. Mail that was sent before arrives before.
    pub fn release(&self, to: Address, ticket: u64) {
        self.put(to.loop_index(), Letter::Release { to, ticket });
    }

    /// Changes [`LoopOptions::connections_max`] for streams that are accepted from here on. Connections beyond the bound stay.
    pub fn set_connections_max(&self, connections_max: usize) {
        self.loops.set_connections_max(connections_max);
    }

    /// Connections of all loops, those on their way to one among them.
    pub fn connection_count(&self) -> usize {
        self.loops.connection_counts().sum()
    }

    /// Connections of each loop.
    pub fn connection_counts(&self) -> Vec<usize> {
        self.loops.connection_counts().collect()
    }
}
