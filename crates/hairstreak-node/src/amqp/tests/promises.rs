//! Answers that wait for the disk: the output to a client while the disk stalls.

use std::path::PathBuf;
use std::time::Duration;

use hairstreak_wire::amqp::{
    FrameKind, HEARTBEAT_FRAME, Method, basic, channel, connection, decode_frame, queue, tx,
};

use super::{FRAME_SIZE, World, login_with, message_to_nobody, method_names};
use crate::config::NodeConfig;

/// A node with a data directory, and a client with an open channel. The disk stalls until the test sets the outcome.
struct Stalled {
    world: World,
    folder: PathBuf,
}

impl Stalled {
    /// `heartbeat`: the interval in seconds.
    fn new(name: &str, heartbeat: u16) -> Stalled {
        let folder = std::env::temp_dir().join(format!("hairstreak-{name}-{}", std::process::id()));
        let mut world = World::with(NodeConfig { data_dir: Some(folder.clone()), ..NodeConfig::default() });
        world.feed(&login_with(heartbeat), usize::MAX);
        world.feed(&encoded(&[Method::ChannelOpen(channel::Open {})]), usize::MAX);
        Stalled { world, folder }
    }

    /// The client declares a durable queue, and goes on at once with a method of the connection.
    fn declare_and(&mut self, method: &Method<'_>) {
        let mut bytes = encoded(&[declare(b"q")]);
        method.encode(0, &mut bytes);
        assert_eq!(self.world.feed(&bytes, usize::MAX), b"");
    }

    /// The disk refuses the queue. The client receives only that error.
    fn expect_refusal(&mut self) {
        self.world.node.end_commit(Some("no disk"));
        let written = self.written();
        let frame = decode_frame(&written, FRAME_SIZE as usize).unwrap().expect("an answer");
        let Ok(Method::ConnectionClose(close)) = Method::decode(frame.payload) else { panic!("{frame:?}") };
        assert_eq!((close.reply_code, frame.size()), (541, written.len()));
        let text = String::from_utf8_lossy(close.reply_text);
        assert_eq!(text, "INTERNAL_ERROR - the definitions cannot be written: no disk");
    }

    fn is_connected(&self) -> bool {
        self.world.node.is_connected(self.world.client)
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
        // A folder left behind does no harm.
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
    // The answer to the first method leaves, and is in one piece of memory with the held answer.
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

fn close() -> Method<'static> {
    Method::ConnectionClose(connection::Close::default())
}

/// Clients whose answers wait behind the refused queue of another client.
#[test]
fn a_client_is_closed_for_the_refusal_of_its_own_object_alone() {
    let bind = |routing_key| {
        let (queue, exchange) = (b"old", b"amq.direct");
        Method::QueueBind(queue::Bind { queue, exchange, routing_key, ..Default::default() })
    };
    let passive = |queue| Method::QueueDeclare(queue::Declare { queue, passive: true, ..Default::default() });
    let get = Method::BasicGet(basic::Get { queue: b"old", no_ack: true });
    let mut stalled = Stalled::new("others", 0);
    stalled.world.feed(&encoded(&[declare(b"old"), bind(b"old"), declare(b"gone")]), usize::MAX);
    stalled.world.node.end_commit(None);
    let names = ["queue.declare-ok", "queue.bind-ok", "queue.declare-ok"];
    assert_eq!(method_names(&stalled.written()), names);
    let go_on = stalled.world.node.refuse_changes();
    let delete = Method::QueueDelete(queue::Delete { queue: b"gone", ..Default::default() });
    let rows = [
        (vec![declare(b"new"), bind(b"new"), delete.clone()], &["connection.close"][..]),
        (vec![declare(b"old"), bind(b"old"), get], &["queue.declare-ok", "queue.bind-ok", "basic.get-empty"]),
        (vec![passive(b"old")], &["queue.declare-ok"]),
        (vec![declare(b"new")], &["connection.close"]),
        (vec![bind(b"new")], &["connection.close"]),
        (vec![delete], &["connection.close"]),
        (vec![passive(b"old"), passive(b"new")], &["connection.close"]),
    ];
    let mut clients = Vec::new();
    for (methods, _) in &rows {
        stalled.world.client = stalled.world.node.connect().unwrap();
        stalled.world.feed(&login_with(0), usize::MAX);
        stalled.world.feed(&encoded(&[Method::ChannelOpen(channel::Open {})]), usize::MAX);
        assert_eq!(stalled.world.feed(&encoded(methods), usize::MAX), b"", "{methods:?}");
        clients.push(stalled.world.client);
    }
    drop(go_on);
    rows.iter().for_each(|_| stalled.world.node.end_commit(None));
    for (client, (methods, expected)) in clients.into_iter().zip(&rows) {
        stalled.world.client = client;
        assert_eq!(method_names(&stalled.written()), *expected, "{methods:?}");
    }
}

#[test]
fn a_client_that_leaves_hears_that_the_disk_refuses_its_queue() {
    let mut stalled = Stalled::new("leaves", 1);
    stalled.declare_and(&close());
    // The client has said its last word, and the disk takes its time.
    for _ in 0..20 {
        stalled.world.node.pass(Duration::from_millis(500));
        assert_eq!(heartbeat_count(&stalled.written()), 1);
    }
    stalled.expect_refusal();
    assert!(!stalled.is_connected());
}

#[test]
fn a_client_that_leaves_hears_all_however_long_the_disk_takes() {
    let mut stalled = Stalled::new("waits", 0);
    stalled.declare_and(&close());
    stalled.world.node.pass(Duration::from_secs(60));
    assert_eq!(stalled.written(), b"");
    stalled.world.node.end_commit(None);
    assert_eq!(method_names(&stalled.written()), ["queue.declare-ok", "connection.close-ok"]);
    // The client ends the stream, for which it has time from now on.
    stalled.world.node.pass(Duration::from_secs(29));
    assert!(stalled.is_connected());
    stalled.world.node.end_input(stalled.world.client);
    assert_eq!(stalled.written(), b"");
    assert!(!stalled.is_connected());
}

#[test]
fn a_client_whose_connection_is_closed_for_an_error_hears_that_the_disk_refuses_its_queue() {
    let mut stalled = Stalled::new("error", 0);
    stalled.declare_and(&Method::TxSelectOk(tx::SelectOk {}));
    // The time for the answer begins with the notice to the client.
    stalled.world.node.pass(Duration::from_secs(60));
    stalled.expect_refusal();
    stalled.world.node.pass(Duration::from_secs(9));
    let mut answer = Vec::new();
    Method::ConnectionCloseOk(connection::CloseOk {}).encode(0, &mut answer);
    stalled.world.feed(&answer, usize::MAX);
    assert!(!stalled.is_connected());
}

#[test]
fn a_client_that_does_not_answer_the_end_is_gone_after_ten_seconds_whoever_held_up_the_end() {
    let mut stalled = Stalled::new("no-answer", 0);
    stalled.declare_and(&Method::TxSelectOk(tx::SelectOk {}));
    stalled.world.node.end_commit(None);
    assert_eq!(method_names(&stalled.written()), ["queue.declare-ok", "connection.close"]);
    stalled.world.node.pass(Duration::from_millis(9_900));
    assert!(stalled.is_connected());
    stalled.world.node.pass(Duration::from_millis(200));
    assert!(!stalled.is_connected());
}

#[test]
fn a_client_that_reads_nothing_is_gone_when_its_time_is_over_whatever_held_up_its_end() {
    for (method, time) in [(close(), 30), (Method::TxSelectOk(tx::SelectOk {}), 10)] {
        let mut stalled = Stalled::new(&format!("deaf-{time}"), 0);
        stalled.declare_and(&method);
        stalled.world.node.pass(Duration::from_secs(60));
        // The answers may leave, and none does.
        stalled.world.node.end_commit(None);
        stalled.world.node.pass(Duration::from_secs(time - 1));
        assert!(stalled.is_connected());
        stalled.world.node.pass(Duration::from_secs(2));
        // The close frame, which the client might still read, is written.
        stalled.written();
        assert!(!stalled.is_connected());
    }
}

#[test]
fn a_client_that_sends_nothing_more_and_a_node_that_stops_wait_for_the_disk_for_five_seconds() {
    let ends: [fn(&mut World); 2] = [|world| world.node.end_input(world.client), |world| world.node.stop()];
    for (number, end) in ends.into_iter().enumerate() {
        for is_refused in [true, false] {
            let mut stalled = Stalled::new(&format!("end-{number}-{is_refused}"), 0);
            assert_eq!(stalled.world.feed(&encoded(&[declare(b"q")]), usize::MAX), b"");
            end(&mut stalled.world);
            stalled.world.node.pass(Duration::from_millis(4_900));
            assert!(stalled.is_connected());
            if is_refused {
                stalled.expect_refusal();
            } else {
                stalled.world.node.pass(Duration::from_millis(200));
                assert_eq!(stalled.written(), b"");
            }
            assert!(!stalled.is_connected());
        }
    }
}
