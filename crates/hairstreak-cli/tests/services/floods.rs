//! Peers that flood the broker with messages of many empty frames: the calls of others go on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use hairstreak::service::{Client, RequestError, Worker};
use hairstreak_socket::{Message, SendError};
use hairstreak_wire::zmtp::Greeting;

use crate::bounds::memory;
use crate::{LONG, broker};

const CONNECTIONS: usize = 8;
const CALLS: u64 = 100;
/// The largest number of frames for which no peer is closed.
const FRAME_COUNT: usize = 250;
/// Bytes of the flood that the broker may read while it answers one call, on average over this many calls. Without a count of
/// frames in batches and turns it read megabytes.
const BYTES_PER_CALL_MAX: u64 = 500_000;

/// The bytes of a message of `frame_count` empty frames.
fn message(frame_count: usize) -> Vec<u8> {
    [b"\x01\x00".repeat(frame_count - 1), b"\x00\x00".to_vec()].concat()
}

/// A connection that has finished its half of the handshake, as a DEALER.
fn connect(at: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at.strip_prefix("tcp://").unwrap()).unwrap();
    let mut greeting = Greeting::encode("NULL", false);
    stream.write_all(&greeting).unwrap();
    stream.read_exact(&mut greeting).unwrap();
    stream.write_all(b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER").unwrap();
    stream
}

/// Connections that send without pause.
struct Flood {
    stop: Arc<AtomicBool>,
    /// Bytes that the broker has read.
    taken: Arc<AtomicU64>,
    flooders: Vec<JoinHandle<()>>,
}

impl Flood {
    fn start(at: &str, frame_count: usize) -> Flood {
        let (stop, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let bytes = message(frame_count).repeat(64);
        let flooders = (0..CONNECTIONS).map(|_| {
            let (mut stream, bytes) = (connect(at), bytes.clone());
            let (stop, taken) = (Arc::clone(&stop), Arc::clone(&taken));
            thread::spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    stream.write_all(&bytes).unwrap();
                    taken.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                }
            })
        });
        Flood { flooders: flooders.collect(), stop, taken }
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::SeqCst)
    }

    fn end(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.flooders.into_iter().for_each(|flooder| flooder.join().unwrap());
    }
}

/// A worker that echoes requests until the process ends.
fn echo(at: &str) {
    let worker = Worker::connect(at, "echo").unwrap();
    thread::spawn(move || worker.run(|request| Ok(request.frames().iter().cloned().collect::<Message>())));
}

#[test]
fn a_client_is_answered_beside_eight_peers_that_send_empty_frames_on_and_on() {
    let (broker, at) = broker(&[]);
    echo(&at);
    let client = Client::connect(&at).unwrap();
    let call = || assert_eq!(client.call("echo", "hello").unwrap().body(), b"hello");
    call();
    let before = memory(broker.id());
    let flood = Flood::start(&at, FRAME_COUNT);
    // The system's buffers are full behind those.
    while flood.taken() < 32_000_000 {
        call();
    }
    let (mut most, mut calls, taken) = (0, 0, flood.taken());
    // Where it takes that much for each it is not asked as often.
    while calls < CALLS && flood.taken() - taken < CALLS * BYTES_PER_CALL_MAX {
        call();
        calls += 1;
        most = most.max(memory(broker.id()));
    }
    let taken = flood.taken() - taken;
    flood.end();
    assert!(taken / calls < BYTES_PER_CALL_MAX, "{taken} bytes of the flood taken for {calls} calls");
    assert!(most < before + (20 << 10), "{before} KiB before, {most} KiB");
}

#[test]
fn a_peer_that_sends_more_frames_than_services_have_is_closed_and_others_notice_nothing() {
    let (_broker, at) = broker(&[]);
    echo(&at);
    let client = Client::connect(&at).unwrap();
    let frames = |count| Message::from_frames(vec![b""; count]);
    // The promised number of frames passes. Sending more is refused.
    assert_eq!(client.call("echo", frames(256)), Ok(frames(256)));
    let refused = client.call("echo", frames(300));
    assert_eq!(refused, Err(RequestError::Send(SendError::TooManyFrames { count: 301, limit: 261 })));
    for frame_count in [262, 263] {
        let mut stream = connect(&at);
        // A PING follows: a closed connection gets no answer.
        stream.write_all(&[&message(frame_count)[..], b"\x04\x07\x04PING\x00\x00"].concat()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut ready = [0; 2];
        stream.read_exact(&mut ready).unwrap();
        let mut body = vec![0; ready[1].into()];
        stream.read_exact(&mut body).unwrap();
        let mut answer = [0; 7];
        let is_answered = stream.read_exact(&mut answer).is_ok();
        assert_eq!(
            (is_answered, &answer),
            (frame_count == 262, if is_answered { b"\x04\x05\x04PONG" } else { &[0; 7] })
        );
    }
    assert_eq!(client.call("echo", "hello").unwrap().body(), b"hello");
}
