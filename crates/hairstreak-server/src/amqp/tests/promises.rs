//! Answers that wait for the disk: what a client hears while the disk stalls.

use std::path::PathBuf;
use std::time::Duration;

use hairstreak_wire::amqp::{FrameKind, HEARTBEAT_FRAME, Method, channel, decode_frame, queue};

use super::{FRAME_SIZE, World, login_with, message_to_nobody, method_names};
use crate::operator::DataPlace;

/// A node with a data directory, and a client with an open channel. The disk stalls until the test says how it went on.
struct Stalled {
    world: World,
    folder: PathBuf,
}

impl Stalled {
    /// `heartbeat`: the interval in seconds.
    fn new(name: &str, heartbeat: u16) -> Stalled {
        let folder = std::env::temp_dir().join(format!("hairstreak-{name}-{}", std::process::id()));
        let data = DataPlace { path: folder.clone(), node_name: "test@here".into() };
        let mut world = World::with_data(Some(&data));
        world.feed(&login_with(heartbeat), usize::MAX);
        world.feed(&encoded(&[Method::ChannelOpen(channel::Open {})]), usize::MAX);
        Stalled { world, folder }
    }

    /// All that the node has written.
    fn written(&mut self) -> Vec<u8> {
        let mut written = Vec::new();
        self.world.node.write(self.world.client, usize::MAX, &mut written);
        written
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        // A folder that is left over does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn encoded(methods: &[Method<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    methods.iter().for_each(|method| method.encode(1, &mut bytes));
    bytes
}

fn declare(queue: &[u8]) -> Method<'_> {
    Method::QueueDeclare(queue::Declare { queue, durable: true, ..Default::default() })
}

/// The frames of heartbeats, of which all else is nothing.
fn heartbeat_count(mut written: &[u8]) -> usize {
    let mut count = 0;
    while let Some(frame) = decode_frame(written, FRAME_SIZE as usize).unwrap() {
        assert_eq!(frame.kind, FrameKind::Heartbeat);
        count += 1;
        written = &written[frame.size()..];
    }
    count
}

#[test]
fn heartbeats_go_out_while_an_answer_waits_for_the_disk() {
    const LOOKS: usize = 20;
    let mut stalled = Stalled::new("heartbeats", 1);
    let world = &mut stalled.world;
    // The answer to the first method leaves, and is in one piece of memory with the one that is held.
    let flow = Method::ChannelFlow(channel::Flow { active: true });
    assert_eq!(method_names(&world.feed(&encoded(&[flow, declare(b"q")]), usize::MAX)), ["channel.flow-ok"]);
    let mut heartbeats = 0;
    for _ in 0..LOOKS {
        // The client is alive.
        stalled.world.feed(&HEARTBEAT_FRAME, usize::MAX);
        stalled.world.node.pass(Duration::from_millis(500));
        heartbeats += heartbeat_count(&stalled.written());
    }
    assert!(heartbeats >= LOOKS - 1, "{heartbeats}");
    stalled.world.node.end_commit(None);
    assert_eq!(method_names(&stalled.written()), ["queue.declare-ok"]);
}

#[test]
fn a_client_is_not_blamed_for_answers_that_wait_for_the_disk_however_many_they_are() {
    const MESSAGE_COUNT: usize = 2_000;
    let mut stalled = Stalled::new("unread", 1);
    let Stalled { world, .. } = &mut stalled;
    world.feed(&encoded(&[declare(b"q")]), usize::MAX);
    let bytes = message_to_nobody().repeat(MESSAGE_COUNT);
    let mut at = 0;
    while at < bytes.len() && world.node.is_reading(world.client) {
        at += world.node.read(world.client, &bytes[at..]);
    }
    assert!(at < bytes.len(), "answers that are held are bounded");
    for _ in 0..4 * 60 {
        stalled.world.node.pass(Duration::from_millis(500));
        heartbeat_count(&stalled.written());
    }
    stalled.world.node.end_commit(None);
    let names = method_names(&stalled.written());
    assert_eq!(names[..2], ["queue.declare-ok", "basic.return"]);
    assert!(stalled.world.node.is_reading(stalled.world.client));
}
