//! Sessions of AMQP: whatever three clients of one node send, in whatever pieces and at whatever time, the node writes well-formed frames
//! that may come when they come, holds memory in proportion to what was sent, and nothing is left when the clients are gone.
//!
//! An input is a list of commands. Most are methods and messages that are likely to mean something; others are steps of the handshake, any
//! bytes, changes of bytes, and what else happens to a connection.
//!
//! - `input`: choices from bytes; `frames`, `setups`: what clients send; `client`: one client; `calls`: what is to be answered
//! - `view`: what a client sees, and what must hold of it
#![no_main]

mod calls;
mod client;
mod frames;
mod input;
mod setups;
mod view;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use hairstreak_broker::vhost::Limits;
use hairstreak_node::{AmqpConfig, AmqpHarness, NodeConfig};
use hairstreak_testkit::MeasuredAllocator;
use hairstreak_wire::amqp::{Method, channel, queue};
use libfuzzer_sys::fuzz_target;
use client::Client;
use input::Input;

#[global_allocator]
static ALLOCATOR: MeasuredAllocator = MeasuredAllocator;

const CLIENTS: usize = 3;
/// The most bytes that one input has the clients send, whether the node takes them or not.
const SENT_MAX: usize = 1 << 22;
/// The memory of a node with nothing in it, its pools among it.
const EMPTY_MEMORY: usize = 8 << 20;
/// Bytes that each byte sent may cost.
const COST_PER_BYTE: usize = 64;
/// The most that a host without messages holds: the segment that is written next, and room for the numbers of messages.
const EMPTY_HOST_MEMORY: usize = 3 << 20;
/// A watermark that some messages reach: a host that has had one message keeps one segment of 1 MiB.
const LOW_WATERMARK: usize = 1_300_000;

/// The settings that all inputs share. The defaults ask the system for its memory, which takes its time.
static CONFIG: LazyLock<NodeConfig> = LazyLock::new(|| {
    let amqp = AmqpConfig { message_size_max: 600 << 10, ..AmqpConfig::default() };
    NodeConfig { amqp, ..NodeConfig::default() }
});

/// A node and its clients.
struct World {
    node: AmqpHarness,
    clients: Vec<Option<Client>>,
    /// Mail between connections waits for its own command.
    is_lazy: bool,
    /// Bytes were sent that are no frames of `frames`: bodies and names of queues may be any.
    is_raw: bool,
    sent: usize,
    /// Queues that the clients have been told of.
    queues: BTreeSet<Vec<u8>>,
}

fuzz_target!(|bytes: &[u8]| {
    let before = MeasuredAllocator::begin();
    let mut input = Input::new(bytes);
    let mut world = World::new(&mut input);
    while !input.is_empty() && world.sent < SENT_MAX {
        world.step(&mut input);
    }
    let sent = world.sent;
    world.finish();
    let used = MeasuredAllocator::peak() - before;
    assert!(used <= EMPTY_MEMORY + COST_PER_BYTE * sent, "{used} bytes of memory for {sent} bytes sent");
});

impl World {
    fn new(input: &mut Input<'_>) -> World {
        let mut flags = input.flags();
        let memory_watermark = if flags.next() { LOW_WATERMARK } else { 1 << 30 };
        let limits = if flags.next() {
            Limits {
                queues_max: 4,
                declared_bytes_max: 8_192,
                channels_max: 5,
                consumers_per_channel_max: 2,
                unacknowledged_per_channel_max: 3,
                messages_max: 12,
                slice_max: 2,
                steps_max: 8,
            }
        } else {
            Limits::default()
        };
        let config = CONFIG.clone();
        let amqp = AmqpConfig { memory_watermark, limits, ..config.amqp };
        World {
            node: AmqpHarness::new(&NodeConfig { amqp, ..config }).expect("descriptors"),
            clients: (0..CLIENTS).map(|_| None).collect(),
            is_lazy: false,
            is_raw: false,
            sent: 0,
            queues: BTreeSet::new(),
        }
    }

    /// One command of one client.
    fn step(&mut self, input: &mut Input<'_>) {
        let command = input.byte();
        let who = input.byte();
        let number = usize::from(who & 3) % CLIENTS;
        let channel = [1, 2, 3, 1, 2, 7, 0, 9][usize::from(who >> 2 & 7)];
        self.revive(number, input);
        let World { node, clients, .. } = self;
        let Some(client) = &mut clients[number] else { return };
        let before = client.wire.len();
        match command {
            0..=29 => setups::put_setup(client, channel, input),
            30..=89 => frames::put_method(client, channel, input),
            90..=169 => frames::put_message(client, channel, input),
            170..=189 => {
                // The same message a few times.
                client.open(channel);
                let start = client.wire.len();
                frames::put_message(client, channel, input);
                let message = client.wire[start..].to_vec();
                let count = usize::from(input.byte() % 32).min((1 << 18) / message.len());
                client.view.calls.repeat(channel, count as u64);
                (0..count).for_each(|_| client.wire.extend_from_slice(&message));
            }
            190..=194 => {
                self.is_raw = true;
                client.view.calls.forgo();
                client.wire.extend_from_slice(input.bytes());
            }
            195..=202 => {
                // A method with one byte changed.
                self.is_raw = true;
                client.view.calls.forgo();
                frames::put_method(client, channel, input);
                let at = before + usize::from(input.byte()) % (client.wire.len() - before);
                client.wire[at] = input.byte();
            }
            203..=206 => {
                // A message with one byte changed, or cut.
                self.is_raw = true;
                client.view.calls.forgo();
                frames::put_message(client, channel, input);
                let at = before + usize::from(input.short()) % (client.wire.len() - before);
                match input.byte() {
                    0 => client.wire.truncate(at),
                    byte => client.wire[at] = byte,
                }
            }
            207..=209 => {
                client.view.calls.forgo();
                frames::put_handshake(client, input);
            }
            210 => {
                client.view.calls.forgo();
                frames::put_handshake(client, input);
                let step = client.wire[before..].to_vec();
                let count = usize::from(input.short()).min((1 << 16) / step.len().max(1));
                (0..count).for_each(|_| client.wire.extend_from_slice(&step));
            }
            211..=213 => {
                self.leave(number, input.below(2) == 0);
            }
            214..=215 => {
                self.leave(number, true);
                self.clients[number] = Some(Client::connect(&mut self.node).expect("descriptors"));
            }
            216..=219 => client.piece = input.pick(&[1, 3, 8, 100, 4_096, 65_536, usize::MAX]),
            220..=223 => client.is_corked = !client.is_corked,
            224..=227 => client.is_deaf = !client.is_deaf,
            228 => {
                client.is_careless = !client.is_careless;
                client.view.calls.forgo();
            }
            229..=231 => self.is_lazy = !self.is_lazy,
            232..=236 => node.settle(),
            237..=240 => {
                let size_max = usize::from(input.short()) * 16;
                client.receive(node, size_max, !self.is_raw);
            }
            241..=248 => {
                let millis = input.pick(&[1, 2, 50, 100, 1_000, 5_000, 11_000, 70_000]);
                node.pass(Duration::from_millis(millis));
            }
            249 if input.byte() == 1 => node.stop(),
            _ => {}
        }
        if let Some(client) = &self.clients[number] {
            self.sent += client.wire.len().saturating_sub(before);
        }
        self.exchange();
        self.share_addresses();
        self.clients.iter().flatten().for_each(|client| client.check(&self.node));
    }

    /// A client that answers directly has the address from its own application.
    fn share_addresses(&mut self) {
        let mut views = self.clients.iter().flatten().map(|client| &client.view.reply_to);
        let Some(address) = views.find(|address| address.len() > frames::REPLY_TO.len()).cloned() else {
            return;
        };
        for client in self.clients.iter_mut().flatten().filter(|client| client.view.reply_to.is_empty()) {
            client.view.reply_to = address.clone();
        }
    }

    /// The client connects if it is not there.
    fn revive(&mut self, number: usize, input: &mut Input<'_>) {
        if self.clients[number].as_ref().is_some_and(|client| client.is_connected(&self.node)) {
            return;
        }
        self.leave(number, true);
        self.clients[number] = Some(Client::log_in(&mut self.node, input).expect("descriptors"));
    }

    /// All clients send and read, as far as each of them does.
    fn exchange(&mut self) {
        // Bytes that are read now have one answer at most: a close.
        for _ in 0..2 {
            for client in self.clients.iter_mut().flatten().filter(|client| !client.is_corked) {
                client.send(&mut self.node);
            }
            if !self.is_lazy {
                self.node.settle();
            }
            for client in self.clients.iter_mut().flatten().filter(|client| !client.is_deaf) {
                client.receive(&mut self.node, usize::MAX, !self.is_raw);
            }
        }
    }

    fn leave(&mut self, number: usize, breaks: bool) {
        let Some(client) = &mut self.clients[number] else { return };
        self.queues.append(&mut client.view.queues);
        client.leave(&mut self.node, breaks);
        if !breaks {
            client.end(&mut self.node, !self.is_raw);
        }
        self.clients[number] = None;
    }

    /// The clients leave, and then nothing is to be settled, and without queues nothing is held.
    fn finish(mut self) {
        (0..CLIENTS).for_each(|number| self.leave(number, number == 1));
        self.node.settle();
        let figures = self.node.figures();
        assert_eq!(figures.counts.unacknowledged, 0, "deliveries of clients that are gone");
        assert_eq!(figures.told_bytes, figures.memory_bytes, "memory of clients that are gone");
        // Time for what expires, dead letters, and memory that is not needed.
        for _ in 0..50 {
            self.node.pass(Duration::from_secs(12));
        }
        let mut client = Client::log_in(&mut self.node, &mut Input::new(&[])).expect("descriptors");
        self.queues.extend(["a", "b", "c", "d", "e"].map(|name| name.as_bytes().to_vec()));
        for queue in &self.queues {
            client.put(1, &Method::ChannelOpen(channel::Open {}));
            client.put(1, &Method::QueueDelete(queue::Delete { queue, ..Default::default() }));
            client.send(&mut self.node);
            client.receive(&mut self.node, usize::MAX, !self.is_raw);
            client.put(1, &Method::ChannelClose(channel::Close::default()));
            client.send(&mut self.node);
            client.receive(&mut self.node, usize::MAX, !self.is_raw);
        }
        client.leave(&mut self.node, true);
        for _ in 0..5 {
            self.node.pass(Duration::from_secs(12));
        }
        let figures = self.node.figures();
        assert_eq!(figures.told_bytes, figures.memory_bytes, "memory that is left");
        if !self.is_raw {
            assert_eq!(figures.counts.ready, 0, "messages without queues");
            assert!(
                figures.memory_bytes <= EMPTY_HOST_MEMORY,
                "{} bytes of no messages",
                figures.memory_bytes
            );
        }
    }
}
