//! `Desk`: takes messages from the socket to the state machine, and lends it the socket for what it has to say.
//!
//! One thread, which never waits for a peer: what a peer has no room for the machine keeps, within its limits.
//! Everything that is here is taken before the thread sleeps, so that what goes to one peer goes in one write.

use std::time::{Duration, Instant};

use hairstreak_base::Frame;
use hairstreak_broker::service::{Broker, Options, Outbox, Sent};
use hairstreak_socket::{
    Message, Options as SocketOptions, Outgoing, RecvError, Router, RouterNotify, SendError,
};
use hairstreak_wire::numbered::Numbered;

/// Messages that are taken before time is looked at.
const BATCH_COUNT_MAX: usize = 1024;
/// Frames before a body, the routing id among them.
const HEAD_COUNT_MAX: usize = 8;
/// Messages that wait for one peer in the socket; further ones wait in the broker.
const SEND_COUNT_MAX: usize = 65_536;
/// Their bytes.
const SEND_BYTES_MAX: usize = 16 << 20;
/// Bytes that wait for one peer in the socket while there are many for all.
const SEND_BYTES_TIGHT: usize = 256 << 10;
/// There are many when they are so large a part of what may wait in all.
const TIGHT_PART: usize = 4;
/// How often they are counted.
const WEIGH_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct Desk {
    post: Post,
    broker: Broker,
    started: Instant,
    bytes_max: usize,
    next_weighing: Duration,
}

impl Desk {
    pub(crate) fn new(router: Router, id: [u8; 16], options: Options) -> Desk {
        let bytes_max = options.bytes_max;
        let (broker, post) = (Broker::new(id, options), Post { router, is_tight: false });
        Desk { post, broker, started: Instant::now(), bytes_max, next_weighing: Duration::ZERO }
    }

    /// Serves until the socket is closed.
    pub(crate) fn run(mut self) {
        let mut messages = Vec::new();
        loop {
            let received = match self.broker.next_timeout(self.started.elapsed()) {
                Some(due) => {
                    let timeout = due.saturating_sub(self.started.elapsed());
                    self.post.router.recv_many_timeout(&mut messages, BATCH_COUNT_MAX, timeout)
                }
                None => self.post.router.recv_many(&mut messages, BATCH_COUNT_MAX),
            };
            let now = self.started.elapsed();
            if let Err(RecvError::Closed | RecvError::Forked) = received {
                return;
            }
            self.weigh(now);
            self.broker.begin_batch();
            for message in messages.iter_mut().map(std::mem::take) {
                self.take(now, message);
            }
            messages.clear();
            if self.broker.next_timeout(now).is_some_and(|due| due <= now) {
                self.broker.handle_timeout(now, &mut self.post);
            }
            self.broker.end_batch(now, &mut self.post);
        }
    }

    /// Looks whether much waits in the socket: a peer that reads nothing has some of it, and many such peers as much as there is
    /// for all.
    fn weigh(&mut self, now: Duration) {
        if now >= self.next_weighing {
            self.next_weighing = now + WEIGH_INTERVAL;
            self.post.is_tight = self.post.router.stats().queued_bytes > self.bytes_max / TIGHT_PART;
        }
    }

    fn take(&mut self, now: Duration, message: Message) {
        let Some(routing_id) = notice(&message) else {
            return self.broker.handle_message(now, message, &mut self.post);
        };
        match self.post.router.peer(routing_id) {
            // Whoever has come by now: what the name stood for before is over.
            Some(peer) => {
                self.broker.handle_peer(routing_id, Numbered::of(&peer.properties).is_some(), &mut self.post);
            }
            None => self.broker.handle_gone(now, routing_id, &mut self.post),
        }
    }
}

/// The routing id of a peer that came or went: an empty message says so. What a peer itself sends is never one frame that is
/// empty, or nobody's loss: it is looked up.
fn notice(message: &Message) -> Option<&[u8]> {
    match message.as_frames() {
        [routing_id, empty] if empty.size() == 0 => Some(routing_id.as_bytes()),
        _ => None,
    }
}

/// The socket as the state machine sees it.
struct Post {
    router: Router,
    /// Much waits in it for all peers.
    is_tight: bool,
}

impl Outbox for Post {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Frame]) -> Sent {
        if self.is_tight && self.router.peer(peer).is_some_and(|peer| peer.queued_bytes > SEND_BYTES_TIGHT) {
            return Sent::Full;
        }
        let mut frames = [peer; HEAD_COUNT_MAX];
        frames[1..=head.len()].copy_from_slice(head);
        let head = &frames[..=head.len()];
        let outgoing = if body.is_empty() { Outgoing::Frames(head) } else { Outgoing::Headed { head, body } };
        match self.router.try_send(outgoing) {
            Ok(()) => Sent::Done,
            Err(SendError::WouldBlock) => Sent::Full,
            // It had room as it came, with another head.
            Err(SendError::TooLarge { .. } | SendError::TooManyFrames { .. }) => Sent::Never,
            Err(_) => Sent::Gone,
        }
    }
}

/// Of the socket that services are served on: there is room for as many connections as there may be clients and workers.
pub(crate) fn socket_options(options: &Options) -> SocketOptions {
    SocketOptions {
        connections_max: options.clients_max.saturating_add(options.workers_max),
        send_count_max: SEND_COUNT_MAX,
        send_bytes_max: SEND_BYTES_MAX,
        router_mandatory: true,
        router_notify: RouterNotify { connect: true, disconnect: true },
        properties: vec![Numbered.to_property()],
        linger_ms: 1_000,
        handshake_timeout_ms: 10_000,
        heartbeat_ms: 1_000,
        heartbeat_timeout_ms: 10_000,
        yield_us: 100,
        // It never does anything else for long.
        gather_us: 5_000,
        ..SocketOptions::default()
    }
}
