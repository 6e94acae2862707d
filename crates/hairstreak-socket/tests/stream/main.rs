//! STREAM and plain tcp peers: of the standard library, of pyzmq, of our own, good ones and bad.

#[path = "../workbench/endpoints.rs"]
mod endpoints;
#[allow(dead_code, reason = "shared with the tests against pyzmq, which use more of it")]
#[path = "../interop/script.rs"]
mod script;

mod bounds;
mod interop;
mod plain;
mod waiting;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hairstreak_socket::{Context, Options, Stream};

/// Longer than anything here takes: who waits this long waits in vain.
const LONG: Duration = Duration::from_secs(60);

/// A STREAM that listens, and where.
fn listening(options: Options) -> (Stream, String) {
    let stream = Stream::with_options(&Context::new(), options).unwrap();
    let place = stream.bind("tcp://127.0.0.1:*").unwrap().to_string();
    (stream, place)
}

/// A plain client, none of whose calls blocks for ever.
fn client(place: &str) -> TcpStream {
    let client = TcpStream::connect(place.strip_prefix("tcp://").unwrap()).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client.set_write_timeout(Some(LONG)).unwrap();
    client
}

/// The next message: whose it is, and its bytes.
fn receive(stream: &Stream) -> (Vec<u8>, Vec<u8>) {
    let message = stream.recv_timeout(LONG).unwrap();
    assert_eq!(message.frame_count(), 2);
    let mut frames = message.frames().map(<[u8]>::to_vec);
    (frames.next().unwrap(), frames.next().unwrap())
}

/// The notice that a connection is made; whose.
fn receive_notice(stream: &Stream) -> Vec<u8> {
    let (name, bytes) = receive(stream);
    assert!(bytes.is_empty(), "{bytes:?} instead of a notice");
    assert_eq!((name.len(), name[0]), (5, 0));
    name
}

/// Receives so many bytes of that peer.
fn receive_bytes(stream: &Stream, from: &[u8], count: usize) -> Vec<u8> {
    let mut got = Vec::new();
    while got.len() < count {
        let (name, bytes) = receive(stream);
        assert_eq!(name, from);
        assert!(!bytes.is_empty(), "the end after {} bytes", got.len());
        got.extend(bytes);
    }
    got
}

fn read_exactly(client: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    client.read_exact(&mut bytes).unwrap();
    bytes
}

fn write(client: &mut TcpStream, bytes: &[u8]) {
    client.write_all(bytes).unwrap();
}
