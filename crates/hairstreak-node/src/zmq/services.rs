//! The broker of services behind its ROUTER.

use std::time::Duration;

use hairstreak_base::Message;
use hairstreak_services::broker::{Broker, Options};
use hairstreak_socket::{Options as SocketOptions, PeerInfo, RouterNotify};
use hairstreak_wire::{hsn1, mdp};

use super::driver::Machine;
use super::outbox::SocketOutbox;

/// Maximum number of frames of a message: the routing id, then the broker's frames.
const FRAME_COUNT_MAX: usize = 1 + mdp::FRAME_COUNT_MAX;
/// Messages that wait for one peer in the socket; further ones wait in the broker.
const SEND_COUNT_MAX: usize = 65_536;
/// Their bytes.
const SEND_BYTES_MAX: usize = 16 << 20;
/// The part of the bytes for all peers that may wait in the socket before each peer's share there gets small.
const TIGHT_PART: usize = 4;

impl Machine for Broker {
    fn handle_message(&mut self, now: Duration, message: Message, out: &mut SocketOutbox) {
        Broker::handle_message(self, now, message, out);
    }

    /// A peer's own empty message is no command. The peer begins anew, like one that has just connected.
    fn handle_peer(&mut self, _now: Duration, routing_id: &[u8], peer: &PeerInfo, out: &mut SocketOutbox) {
        let uses_hsn1 = hsn1::is_spoken_by(&peer.properties);
        Broker::handle_peer(self, routing_id, uses_hsn1, out);
    }

    fn handle_gone(&mut self, now: Duration, routing_id: &[u8], out: &mut SocketOutbox) {
        Broker::handle_gone(self, now, routing_id, out);
    }

    fn handle_timeout(&mut self, now: Duration, out: &mut SocketOutbox) {
        Broker::handle_timeout(self, now, out);
    }

    fn next_timeout(&self, now: Duration) -> Option<Duration> {
        Broker::next_timeout(self, now)
    }

    fn begin_batch(&mut self) {
        Broker::begin_batch(self);
    }

    fn end_batch(&mut self, now: Duration, out: &mut SocketOutbox) {
        Broker::end_batch(self, now, out);
    }
}

/// Bytes in the socket, for all peers together, above which each peer's share there gets small.
pub(crate) fn queued_bytes_tight(options: &Options) -> usize {
    options.bytes_max / TIGHT_PART
}

/// Returns the options of the socket. It has room for the maximum number of clients and workers.
pub(crate) fn socket_options(options: &Options) -> SocketOptions {
    SocketOptions {
        connections_max: options.clients_max.saturating_add(options.workers_max),
        frame_count_max: FRAME_COUNT_MAX,
        send_count_max: SEND_COUNT_MAX,
        send_bytes_max: SEND_BYTES_MAX,
        router_mandatory: true,
        router_notify: RouterNotify { connect: true, disconnect: true },
        properties: vec![hsn1::property()],
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
