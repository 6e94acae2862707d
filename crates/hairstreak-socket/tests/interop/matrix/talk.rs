//! `Talk`: what the two ends of a cell say to each other, as tests/python/cells.py and tests/java/Cells.java have it.

use hairstreak_socket::Message;

use super::ours::Ours;
use crate::script::Script;

/// Questions asked before the first is answered, but by a REQ. Waiting for each answer costs ten times as long.
pub const OUTSTANDING_COUNT: usize = 100;

/// Our half of a talk.
#[derive(Clone, Copy, Debug)]
pub enum Talk {
    /// We send, they receive.
    Send,
    /// They send, we receive. A publisher goes on with something else until it is told that it is heard.
    Receive { they_publish: bool },
    /// We ask, with these frames in front, so many questions at a time, and they answer with the same.
    Ask { envelope: &'static [&'static str], outstanding_count: usize },
    /// They ask, and we answer with the same. They may have to make the envelope of a REQ themselves.
    Echo { they_ask_rep: bool },
}

impl Talk {
    /// What the script calls its half.
    pub fn theirs(&self) -> &'static str {
        match self {
            Talk::Send => "receive",
            Talk::Receive { .. } => "send",
            Talk::Ask { .. } => "echo",
            Talk::Echo { they_ask_rep: true } => "ask_rep",
            Talk::Echo { they_ask_rep: false } => "ask",
        }
    }

    pub fn run(&self, ours: &Ours, script: &mut Script, count: usize) {
        match self {
            Talk::Send => (0..count).for_each(|number| {
                (ours.send)(&message(&[], number));
                if ours.publishes {
                    (ours.send)(&Message::from("u: nobody subscribed to this"));
                }
            }),
            Talk::Receive { they_publish } => {
                let mut first = (ours.recv)();
                if *they_publish {
                    assert_eq!(first.body(), b"tsync");
                    script.say("go");
                    while first.body() == b"tsync" {
                        first = (ours.recv)();
                    }
                }
                assert_eq!(first, message(&[], 0));
                (1..count).for_each(|number| assert_eq!((ours.recv)(), message(&[], number)));
            }
            Talk::Ask { envelope, outstanding_count } => {
                for first in (0..count).step_by(*outstanding_count) {
                    let numbers = first..count.min(first + outstanding_count);
                    numbers.clone().for_each(|number| (ours.send)(&message(envelope, number)));
                    numbers.for_each(|number| assert_eq!((ours.recv)(), message(envelope, number)));
                }
            }
            Talk::Echo { .. } => (0..count).for_each(|_| (ours.send)(&(ours.recv)())),
        }
    }
}

/// The message of this number, mostly short, sometimes long or of several frames, behind its envelope.
fn message(envelope: &[&str], number: usize) -> Message {
    let first = format!("t{number}");
    let frames: &[&str] = match number {
        _ if number.is_multiple_of(50) => &[&(first + &"x".repeat(20_000))],
        _ if number.is_multiple_of(7) => &[&first, "", &"y".repeat(300)],
        _ => &[&first],
    };
    Message::from_frames(envelope.iter().chain(frames))
}
