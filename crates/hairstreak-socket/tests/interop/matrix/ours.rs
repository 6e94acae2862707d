//! `Ours`: our end of a cell, whatever its type.

use std::time::Duration;

use hairstreak_socket::{Context, Message, Options, Overflow, Pattern, Receives, Sends, Socket};

use crate::LONG;

pub struct Ours {
    pub bind: Box<dyn Fn(&str) -> String>,
    pub connect: Box<dyn Fn(&str)>,
    /// Waits until the other end may be spoken to. Returns whether it may.
    pub wait: Box<dyn Fn(Duration) -> bool>,
    pub send: Box<dyn Fn(&Message)>,
    pub recv: Box<dyn Fn() -> Message>,
    pub publishes: bool,
}

pub fn open<P: Pattern>(options: Options) -> Socket<P> {
    // A publisher waits too: what it drops would be missed.
    let overflow = Some(Overflow::Block);
    let options = Options { routing_id: Some(b"us".to_vec()), overflow, ..options };
    Socket::with_options(&Context::new(), options).unwrap()
}

fn silent<P: Pattern>(socket: &Socket<P>) -> Ours {
    let (binding, connecting, waiting) = (socket.clone(), socket.clone(), socket.clone());
    Ours {
        bind: Box::new(move |place| binding.bind(place).unwrap().to_string()),
        connect: Box::new(move |place| connecting.connect(place).unwrap()),
        wait: Box::new(move |patience| waiting.wait_for_peers(1, patience)),
        send: Box::new(|_| panic!("it does not send")),
        recv: Box::new(|| panic!("it does not receive")),
        publishes: false,
    }
}

fn send<P: Sends>(socket: Socket<P>) -> Box<dyn Fn(&Message)> {
    Box::new(move |message| socket.send_timeout(message, LONG).unwrap())
}

fn recv<P: Receives>(socket: Socket<P>) -> Box<dyn Fn() -> Message> {
    Box::new(move || socket.recv_timeout(LONG).unwrap())
}

pub fn sender<P: Sends>(socket: Socket<P>) -> Ours {
    Ours { send: send(socket.clone()), ..silent(&socket) }
}

pub fn receiver<P: Receives>(socket: Socket<P>) -> Ours {
    Ours { recv: recv(socket.clone()), ..silent(&socket) }
}

pub fn both<P: Sends + Receives>(socket: Socket<P>) -> Ours {
    Ours { recv: recv(socket.clone()), ..sender(socket) }
}

pub fn publisher<P: hairstreak_socket::Publishes>(socket: Socket<P>) -> Ours {
    let waiting = socket.clone();
    let wait = move |patience| waiting.wait_for_subscribers_to("t", 1, patience);
    Ours { wait: Box::new(wait), publishes: true, ..sender(socket) }
}

pub fn subscriber<P: hairstreak_socket::Subscribes>(socket: Socket<P>) -> Ours {
    socket.subscribe("t").unwrap();
    receiver(socket)
}
