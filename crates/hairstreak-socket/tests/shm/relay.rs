//! `Relay`: somebody between two unix sockets who passes bytes on and loses descriptors, as ssh and socat do.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use crate::endpoints::endpoint;

pub struct Relay {
    place: String,
}

fn path(place: &str) -> &str {
    place.strip_prefix("ipc://").unwrap()
}

impl Relay {
    /// One that listens, in front of `to`.
    pub fn start(to: &str) -> Relay {
        let (place, to) = (endpoint("ipc"), to.to_owned());
        let listener = UnixListener::bind(path(&place)).unwrap();
        // The threads end with the process, if not before.
        thread::spawn(move || {
            for near in listener.incoming() {
                let Ok(far) = UnixStream::connect(path(&to)) else { continue };
                carry_both(near.unwrap(), far);
            }
        });
        Relay { place }
    }

    /// Where to connect to.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Connects to both.
    pub fn join(one: &str, other: &str) {
        carry_both(UnixStream::connect(path(one)).unwrap(), UnixStream::connect(path(other)).unwrap());
    }

    /// Has two connect to it, and joins them.
    pub fn between_connecting() -> (String, String) {
        let places = (endpoint("ipc"), endpoint("ipc"));
        let (one, other) =
            (UnixListener::bind(path(&places.0)).unwrap(), UnixListener::bind(path(&places.1)).unwrap());
        thread::spawn(move || carry_both(one.accept().unwrap().0, other.accept().unwrap().0));
        places
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(path(&self.place));
    }
}

fn carry_both(one: UnixStream, other: UnixStream) {
    let (one_there, other_there) = (one.try_clone().unwrap(), other.try_clone().unwrap());
    thread::spawn(move || carry(one, other_there));
    thread::spawn(move || carry(other, one_there));
}

fn carry(mut from: UnixStream, mut to: UnixStream) {
    let mut room = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut room) {
        if to.write_all(&room[..count]).is_err() {
            break;
        }
    }
    // Both may be gone already.
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}
