//! Rate at which the broker asks its peers for a sign of life. ZMTP 3.1 peers count the requests; their frames are written by
//! hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hairstreak_services::OpenGate;
use hairstreak_services::broker::{Broker, Options};
use hairstreak_socket::{Context, Options as SocketOptions, Router};
use hairstreak_testkit::until;
use hairstreak_wire::zmtp::frame::{SHORT_HEADER_SIZE, decode_header};
use hairstreak_wire::zmtp::{Command, Greeting, command};

use super::PATIENCE;
use crate::zmq::driver::Driver;
use crate::zmq::outbox::SocketOutbox;
use crate::zmq::services::socket_options as services_socket_options;

/// Between two PINGs to a worker that does nothing else than answer them.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(600);
/// PINGs to a worker, in the time of which a peer that is pinged as often had some.
const SOME: usize = 10;

/// A broker of services at a ROUTER.
struct Served {
    router: Router,
    place: String,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn new(idle: Duration) -> Served {
        // Workers of plain MDP may be silent here.
        let options = Options { heartbeat_ms: 600_000, ..Options::default() };
        let heartbeat_ms = HEARTBEAT.as_millis() as u64;
        let socket_options = SocketOptions { heartbeat_ms, ..services_socket_options(&options) };
        let router = Router::with_options(&Context::new(), socket_options).unwrap();
        let place = router.bind("tcp://127.0.0.1:*").unwrap().to_string();
        let outbox = SocketOutbox::new(router.clone()).with_idle_heartbeat(idle);
        let driver = Driver::new(Broker::new([1; 16], options, Box::new(OpenGate)), outbox);
        Served { router, place, thread: Some(thread::spawn(move || driver.run())) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.router.clone().close();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

/// A DEALER that answers PINGs and counts them.
struct Peer {
    stream: TcpStream,
    ping_count: Arc<AtomicUsize>,
    messages: Receiver<Vec<Vec<u8>>>,
}

impl Peer {
    fn new(served: &Served, name: &str) -> Peer {
        let mut stream = TcpStream::connect(served.place.strip_prefix("tcp://").unwrap()).unwrap();
        let mut greeting = Greeting::encode("NULL", false);
        stream.write_all(&greeting).unwrap();
        let mut ready = Vec::new();
        command::encode_ready(
            &mut ready,
            &[property("Socket-Type", "DEALER"), property("Identity", name)].concat(),
        );
        stream.write_all(&ready).unwrap();
        stream.read_exact(&mut greeting).unwrap();

        let ping_count = Arc::new(AtomicUsize::new(0));
        let (tell, messages) = channel();
        let (mut near, count) = (stream.try_clone().unwrap(), Arc::clone(&ping_count));
        thread::spawn(move || {
            let mut frames = Vec::new();
            while let Some((is_command, more, body)) = read_frame(&mut near) {
                if is_command {
                    if let Ok(Command::Ping { context, .. }) = command::parse_traffic(&body) {
                        count.fetch_add(1, Ordering::Relaxed);
                        let mut pong = Vec::new();
                        command::encode_pong(&mut pong, context);
                        // The broker may have left already.
                        let _ = near.write_all(&pong);
                    }
                    continue;
                }
                frames.push(body);
                if !more {
                    let _ = tell.send(std::mem::take(&mut frames));
                }
            }
        });
        let name = name.as_bytes();
        until("the peer is ready", || served.router.peer(name).is_some());
        Peer { stream, ping_count, messages }
    }

    fn pings(&self) -> usize {
        self.ping_count.load(Ordering::Relaxed)
    }

    fn send(&mut self, frames: &[&[u8]]) {
        let mut bytes = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            bytes.extend([u8::from(index + 1 < frames.len()), frame.len() as u8]);
            bytes.extend_from_slice(frame);
        }
        self.stream.write_all(&bytes).unwrap();
    }

    fn receive(&self) -> Vec<Vec<u8>> {
        self.messages.recv_timeout(PATIENCE).unwrap()
    }

    /// Waits until `count` more PINGs have come.
    fn wait_for_pings(&self, count: usize) {
        let before = self.pings();
        until("PINGs", || self.pings() >= before + count);
    }
}

fn property(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    [&[name.len() as u8], name, &(value.len() as u32).to_be_bytes(), value].concat()
}

/// Returns the command flag, the more flag and the body of a frame. `None`: the connection is over.
fn read_frame(stream: &mut TcpStream) -> Option<(bool, bool, Vec<u8>)> {
    let mut header = [0; SHORT_HEADER_SIZE];
    stream.read_exact(&mut header).ok()?;
    let header = decode_header(&header, 255).unwrap().expect("short frames");
    let mut body = vec![0; header.body_size];
    stream.read_exact(&mut body).ok()?;
    Some((header.command, header.more, body))
}

/// Waits until the peer is left alone while the worker has some PINGs.
fn wait_until_left_alone(peer: &Peer, worker: &Peer, who: &str) {
    until(who, || {
        let before = peer.pings();
        worker.wait_for_pings(SOME);
        peer.pings() == before
    });
}

#[test]
fn workers_and_clients_that_wait_are_pinged_and_idle_peers_are_left_alone() {
    let served = Served::new(NEVER);
    let idle = Peer::new(&served, "idle");
    let (mut worker, mut client) = (Peer::new(&served, "worker"), Peer::new(&served, "client"));
    worker.send(&[b"", b"MDPW01", b"\x01", b"echo"]);
    wait_until_left_alone(&idle, &worker, "a peer that said nothing");
    wait_until_left_alone(&client, &worker, "a client before its request");
    let idle_pings = idle.pings();

    client.send(&[b"", b"MDPC01", b"echo", b"request"]);
    let request = worker.receive();
    assert_eq!(request[5], b"request");
    client.wait_for_pings(SOME);

    worker.send(&[b"", b"MDPW01", b"\x03", &request[3], b"", b"reply"]);
    assert_eq!(client.receive()[3], b"reply");
    wait_until_left_alone(&client, &worker, "a client after its reply");
    assert_eq!(idle.pings(), idle_pings);
}

#[test]
fn idle_peers_are_pinged_no_more_often_than_is_said() {
    let interval = 10 * HEARTBEAT;
    let served = Served::new(interval);
    let (idle, mut worker) = (Peer::new(&served, "idle"), Peer::new(&served, "worker"));
    worker.send(&[b"", b"MDPW01", b"\x01", b"echo"]);
    worker.wait_for_pings(SOME);
    let since = Instant::now();
    idle.wait_for_pings(3);
    // Two intervals lie between them; one remains after the time in transit.
    assert!(since.elapsed() >= interval, "{:?}", since.elapsed());
}
