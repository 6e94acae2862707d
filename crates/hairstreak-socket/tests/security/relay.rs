//! `Relay`: somebody between two ends who hears all bytes, and may change those of the connecting end.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What it makes of the bytes that one end sends; called for each piece that comes.
pub type Change = dyn FnMut(&[u8]) -> Vec<u8> + Send;

pub struct Relay {
    place: String,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Relay {
    /// One that changes nothing, in front of this tcp endpoint.
    pub fn start(to: &str) -> Relay {
        Relay::changing(to, || Box::new(<[u8]>::to_vec))
    }

    /// One that makes a `Change` for each connection and lets it change what the connecting end sends.
    pub fn changing(to: &str, change: impl Fn() -> Box<Change> + Send + 'static) -> Relay {
        let to = to.strip_prefix("tcp://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("tcp://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let relay = Relay { place, heard: Arc::clone(&heard) };
        // The thread ends with the process.
        thread::spawn(move || {
            for near in listener.incoming() {
                let (near, Ok(far)) = (near.unwrap(), TcpStream::connect(&to)) else { continue };
                let (back_from, back_to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                let (change, heard_there, heard_back) = (change(), Arc::clone(&heard), Arc::clone(&heard));
                thread::spawn(move || carry(near, far, change, &heard_there));
                thread::spawn(move || carry(back_from, back_to, Box::new(<[u8]>::to_vec), &heard_back));
            }
        });
        relay
    }

    /// Where to connect to.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// All bytes of all connections so far, as they were sent.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, mut change: Box<Change>, heard: &Mutex<Vec<u8>>) {
    let mut room = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut room) {
        heard.lock().unwrap().extend_from_slice(&room[..count]);
        if to.write_all(&change(&room[..count])).is_err() {
            break;
        }
    }
    // Both may be gone already.
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}
