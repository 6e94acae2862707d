//! `Client`: one client of the node, with the bytes to be sent, its way to read, and its view of the node.

use std::io;

use hairstreak_node::AmqpHarness;
use hairstreak_transport::event_loop::Address;
use hairstreak_wire::amqp::{Method, PROTOCOL_HEADER, channel, connection};

use crate::input::Input;
use crate::view::{Seen, View};

/// The highest channel number of a client that says nothing else.
const CHANNEL_MAX: u16 = 7;
/// The highest channel number of a client that wants few.
const FEW_CHANNELS: u16 = 3;
/// The frame sizes that clients agree on.
const FRAME_SIZES: [u32; 4] = [4_096, 131_072, 8_192, 40_000];
/// So many bytes are sent in pieces however small.
const SMALL_PIECES_BYTES: usize = 4_096;

pub struct Client {
    address: Address,
    /// The bytes to be sent.
    pub wire: Vec<u8>,
    pub view: View,
    pub frame_size_max: usize,
    /// The most bytes of one read of the node.
    pub piece: usize,
    /// Nothing is sent for now.
    pub is_corked: bool,
    /// Nothing is read for now.
    pub is_deaf: bool,
    /// Nothing is sent that the protocol needs first: no login, no channel.open, no close-ok.
    pub is_careless: bool,
    /// The client has opened the channel and does not know better.
    opened: [bool; CHANNEL_MAX as usize + 1],
    is_ended: bool,
}

impl Client {
    /// A client that has said nothing.
    pub fn connect(node: &mut AmqpHarness) -> io::Result<Client> {
        let mut client = Client {
            address: node.connect()?,
            wire: Vec::new(),
            view: View::new(None),
            frame_size_max: FRAME_SIZES[0] as usize,
            piece: usize::MAX,
            is_corked: false,
            is_deaf: false,
            is_careless: true,
            opened: [false; CHANNEL_MAX as usize + 1],
            is_ended: false,
        };
        client.view.calls.forgo();
        Ok(client)
    }

    /// A client that logs in, as the input has it.
    pub fn log_in(node: &mut AmqpHarness, input: &mut Input<'_>) -> io::Result<Client> {
        let mut client = Client::connect(node)?;
        client.is_careless = false;
        let mut flags = input.flags();
        let capabilities = [flags.next(), flags.next(), flags.next()];
        let frame_max = FRAME_SIZES[usize::from(flags.next()) + 2 * usize::from(flags.next())];
        let tune_ok = connection::TuneOk {
            channel_max: if flags.next() { FEW_CHANNELS } else { CHANNEL_MAX },
            frame_max,
            heartbeat: if flags.next() { 2 } else { 0 },
        };
        client.frame_size_max = frame_max as usize;
        client.view = View::new(Some(client.frame_size_max));
        client.wire.extend_from_slice(&PROTOCOL_HEADER);
        client.put(
            0,
            &Method::ConnectionStartOk(crate::frames::start_ok(b"PLAIN", b"\0guest\0guest", capabilities)),
        );
        client.put(0, &Method::ConnectionTuneOk(tune_ok));
        client.put(0, &Method::ConnectionOpen(connection::Open { virtual_host: b"/" }));
        Ok(client)
    }

    /// Puts a method of the client behind the bytes to be sent, and channel.open before it if need be.
    pub fn put(&mut self, number: u16, method: &Method<'_>) {
        let is_of_connection = method.id().0 == connection::Open::ID.0;
        if number > FEW_CHANNELS || (number == 0) != is_of_connection {
            self.view.calls.forgo();
        }
        if let Method::ChannelOpen(_) = method {
            if self.opened.get_mut(usize::from(number)).is_some_and(|opened| std::mem::replace(opened, true))
            {
                self.view.calls.forgo();
            }
        } else {
            self.open(number);
        }
        if let Method::ChannelClose(_) = method
            && let Some(opened) = self.opened.get_mut(usize::from(number))
        {
            *opened = false;
        }
        self.view.calls.send(number, method);
        method.encode(number, &mut self.wire);
    }

    /// Puts channel.open behind the bytes to be sent, if the channel is not open.
    pub fn open(&mut self, number: u16) {
        let Some(opened) = self.opened.get_mut(usize::from(number)).filter(|_| number > 0) else { return };
        if !std::mem::replace(opened, true) && !self.is_careless {
            let open = Method::ChannelOpen(channel::Open {});
            open.encode(number, &mut self.wire);
            self.view.calls.send(number, &open);
        }
    }

    pub fn is_connected(&self, node: &AmqpHarness) -> bool {
        !self.is_ended && node.is_connected(self.address)
    }

    /// Sends what the node reads of the wire.
    pub fn send(&mut self, node: &mut AmqpHarness) {
        let mut at = 0;
        while at < self.wire.len() {
            // Small pieces of much take long and show nothing new.
            let piece = if at > SMALL_PIECES_BYTES { self.piece.max(SMALL_PIECES_BYTES) } else { self.piece };
            let end = self.wire.len().min(at.saturating_add(piece));
            let count = node.read(self.address, &self.wire[at..end]);
            at += count;
            // A node that reads uses each whole frame, so that the rest has no more bytes than one frame.
            let is_idle = node.is_running(self.address) && node.is_reading(self.address);
            assert!(!is_idle || node.unread_bytes(self.address) <= self.frame_size_max.max(65_535));
            if count == 0 {
                break;
            }
        }
        self.wire.drain(..at);
        if !node.is_connected(self.address) {
            self.wire.clear();
        }
    }

    /// Reads at most `size_max` bytes of what the node has written. Returns how many there were.
    pub fn receive(&mut self, node: &mut AmqpHarness, size_max: usize, checks_bodies: bool) -> usize {
        let mut written = Vec::new();
        node.write(self.address, size_max, &mut written);
        for seen in self.view.take(&written, checks_bodies) {
            let answer = match seen {
                Seen::ChannelClose(number) => {
                    if let Some(opened) = self.opened.get_mut(usize::from(number)) {
                        *opened = false;
                    }
                    (number, Method::ChannelCloseOk(channel::CloseOk {}))
                }
                Seen::ConnectionClose => (0, Method::ConnectionCloseOk(connection::CloseOk {})),
            };
            if !self.is_careless {
                answer.1.encode(answer.0, &mut self.wire);
            }
        }
        written.len()
    }

    /// All that the client has sent is answered, if the node has used all of it and the client has read all of the answer.
    pub fn check(&self, node: &AmqpHarness) {
        let is_settled = self.wire.is_empty() && !self.is_deaf && !self.is_careless;
        if is_settled && node.is_reading(self.address) && node.unread_bytes(self.address) == 0 {
            self.view.check();
        }
    }

    /// The client sends nothing more, or is gone at once.
    pub fn leave(&mut self, node: &mut AmqpHarness, breaks: bool) {
        if breaks {
            node.break_off(self.address);
        } else {
            node.end_input(self.address);
        }
        self.is_ended = true;
    }

    /// The node has ended the connection, or was told to. The rest is read, and ends with a whole frame.
    pub fn end(&mut self, node: &mut AmqpHarness, checks_bodies: bool) {
        while self.receive(node, usize::MAX, checks_bodies) > 0 {}
        self.view.end();
        node.break_off(self.address);
    }
}
