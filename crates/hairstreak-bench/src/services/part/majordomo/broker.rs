//! The broker: one ROUTER for clients and workers; services with their waiting requests and waiting
//! workers, each in the order of arrival. Also the constants of the protocol (MDP 0.1), and messages of several frames.
//!
//! [`Broker::handle`] decides, and its messages go out through `send`: only [`run_broker`] has a socket.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::super::entry::ANY_PORT;
use crate::frame::processes::Answer;
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};

/// The interval of heartbeats between broker and worker.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(2500);
/// The number of silent intervals after which a peer is dead.
pub(super) const HEARTBEAT_LIVENESS: u32 = 3;

pub(super) const EMPTY: &[u8] = b"";
pub(super) const CLIENT: &[u8] = b"MDPC01";
pub(super) const WORKER: &[u8] = b"MDPW01";
pub(super) const READY: &[u8] = &[1];
pub(super) const REQUEST: &[u8] = &[2];
pub(super) const REPLY: &[u8] = &[3];
pub(super) const HEARTBEAT: &[u8] = &[4];
pub(super) const DISCONNECT: &[u8] = &[5];

/// A frame, copied out of the message that it came in.
pub(super) type Frame = Vec<u8>;

/// Returns the frames behind `head`, with which the message has to begin.
pub(super) fn behind<'a>(head: &[&[u8]], message: &'a [Frame]) -> Option<&'a [Frame]> {
    let (first, rest) = message.split_at_checked(head.len())?;
    (first == head).then_some(rest)
}

/// The error of a message that is not of the protocol.
pub(super) fn wrong(message: &[Frame]) -> anyhow::Error {
    anyhow!("a message of {} frames is not of the protocol", message.len())
}

/// Sends these, and a body behind them.
pub(super) fn send(socket: &LibzmqHandle, head: &[&[u8]], body: &[Frame]) -> Result<()> {
    let frames: Vec<&[u8]> = head.iter().copied().chain(body.iter().map(Vec::as_slice)).collect();
    socket.send_frames(&frames)
}

/// Serves as long as the process lives.
pub fn run_broker(library: &str) -> Result<Infallible> {
    let mut socket = LibzmqContext::new(library)?.socket(LibzmqType::Router)?;
    // A ROUTER drops messages that find no room, and the client takes no reply before its last request is sent.
    socket.turn_off_marks()?;
    Answer::<()>::Bound(vec![socket.bind(ANY_PORT)?]).print()?;
    let mut broker = Broker::default();
    let mut heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
    loop {
        if socket.poll(HEARTBEAT_INTERVAL)? {
            let message = socket.receive_frames()?;
            broker.handle(message, Instant::now(), &mut |head, body| send(&socket, head, body))?;
        }
        let now = Instant::now();
        if now >= heartbeat_at {
            broker.send_heartbeats(now, &mut |head, body| send(&socket, head, body))?;
            heartbeat_at = now + HEARTBEAT_INTERVAL;
        }
    }
}

/// The output of messages: takes the frames before the body, and the body.
type Send<'a> = dyn FnMut(&[&[u8]], &[Frame]) -> Result<()> + 'a;

/// The state of the broker.
#[derive(Debug, Default)]
struct Broker {
    services: HashMap<Frame, Service>,
    /// The service of each worker, by the worker's name.
    workers: HashMap<Frame, Frame>,
}

#[derive(Debug, Default)]
struct Service {
    /// Messages of clients: client, empty frame, header, service, body.
    requests: VecDeque<Vec<Frame>>,
    /// The names of the waiting workers, in the order of arrival. A worker that is silent until its time is dropped.
    waiting: VecDeque<(Frame, Instant)>,
}

/// The time at which a worker is gone that is silent from now on.
fn expiry(now: Instant) -> Instant {
    now + HEARTBEAT_INTERVAL * HEARTBEAT_LIVENESS
}

impl Broker {
    /// A message that has come.
    fn handle(&mut self, message: Vec<Frame>, now: Instant, send: &mut Send<'_>) -> Result<()> {
        let Some((sender, rest)) = message.split_first() else { return Err(wrong(&message)) };
        if let Some([service, _, ..]) = behind(&[EMPTY, CLIENT], rest) {
            let service = service.clone();
            self.services.entry(service.clone()).or_default().requests.push_back(message);
            return self.dispatch(&service, now, send);
        }
        let Some([command, rest @ ..]) = behind(&[EMPTY, WORKER], rest) else { return Err(wrong(&message)) };
        match (command.as_slice(), rest, self.workers.get(sender).cloned()) {
            (READY, [service], None) => {
                self.workers.insert(sender.clone(), service.clone());
                self.wait(sender, service, now, send)
            }
            (REPLY, [client, empty, body @ ..], Some(service)) if empty.is_empty() && !body.is_empty() => {
                send(&[client, EMPTY, CLIENT, &service], body)?;
                self.wait(sender, &service, now, send)
            }
            (HEARTBEAT, [], Some(service)) => {
                let waiting = self.services.entry(service).or_default().waiting.iter_mut();
                waiting.filter(|(name, _)| name == sender).for_each(|(_, expires)| *expires = expiry(now));
                Ok(())
            }
            (DISCONNECT, [], _) => {
                self.forget(sender);
                Ok(())
            }
            (READY, [_], Some(_)) | (REPLY, _, None) | (HEARTBEAT, [], None) => {
                self.forget(sender);
                send(&[sender, EMPTY, WORKER, DISCONNECT], &[])
            }
            _ => Err(wrong(&message)),
        }
    }

    /// The worker has nothing to do.
    fn wait(&mut self, worker: &Frame, service: &Frame, now: Instant, send: &mut Send<'_>) -> Result<()> {
        let waiting = &mut self.services.entry(service.clone()).or_default().waiting;
        waiting.push_back((worker.clone(), expiry(now)));
        self.dispatch(service, now, send)
    }

    /// Requests go to workers as long as there are both.
    fn dispatch(&mut self, service: &Frame, now: Instant, send: &mut Send<'_>) -> Result<()> {
        let Some(service) = self.services.get_mut(service) else { return Ok(()) };
        service.purge(&mut self.workers, now);
        while !service.waiting.is_empty() {
            let Some(request) = service.requests.pop_front() else { break };
            let Some((worker, _)) = service.waiting.pop_front() else { break };
            send(&[&worker, EMPTY, WORKER, REQUEST, &request[0], EMPTY], &request[4..])?;
        }
        Ok(())
    }

    fn forget(&mut self, worker: &Frame) {
        let service = self.workers.remove(worker).and_then(|service| self.services.get_mut(&service));
        if let Some(service) = service {
            service.waiting.retain(|(name, _)| name != worker);
        }
    }

    fn send_heartbeats(&mut self, now: Instant, send: &mut Send<'_>) -> Result<()> {
        for service in self.services.values_mut() {
            service.purge(&mut self.workers, now);
            let mut waiting = service.waiting.iter();
            waiting.try_for_each(|(name, _)| send(&[name, EMPTY, WORKER, HEARTBEAT], &[]))?;
        }
        Ok(())
    }
}

impl Service {
    /// Forgets waiting workers that have been silent for too long. The worker that has waited longest stands first.
    fn purge(&mut self, workers: &mut HashMap<Frame, Frame>, now: Instant) {
        while let Some((name, _)) = self.waiting.pop_front_if(|(_, expires)| *expires <= now) {
            workers.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages that the broker sends for these messages, frames joined by `|`; commands are `<1>` and so
    /// on.
    fn replies(broker: &mut Broker, now: Instant, messages: &[&str]) -> Vec<String> {
        let mut sent = Vec::new();
        for message in messages {
            let frame = |text: &str| match text.strip_prefix('<').and_then(|rest| rest.chars().next()) {
                Some(digit) => vec![digit as u8 - b'0'],
                None => text.as_bytes().to_vec(),
            };
            let frames = message.split('|').map(frame).collect();
            let mut send = |head: &[&[u8]], body: &[Frame]| {
                let text = |frame: &[u8]| match frame {
                    &[command @ 1..=5] => format!("<{command}>"),
                    frame => String::from_utf8(frame.to_vec()).unwrap(),
                };
                let frames = head.iter().copied().chain(body.iter().map(Vec::as_slice));
                sent.push(frames.map(text).collect::<Vec<_>>().join("|"));
                Ok(())
            };
            broker.handle(frames, now, &mut send).unwrap();
        }
        sent
    }

    #[test]
    fn a_request_waits_for_a_worker_and_its_reply_goes_to_the_client() {
        let (mut broker, now) = (Broker::default(), Instant::now());
        assert!(replies(&mut broker, now, &["ann||MDPC01|echo|a|b", "bob||MDPC01|echo|c"]).is_empty());
        let first = replies(&mut broker, now, &["w||MDPW01|<1>|echo"]);
        assert_eq!(first, ["w||MDPW01|<2>|ann||a|b"]);
        let second = replies(&mut broker, now, &["w||MDPW01|<3>|ann||x"]);
        assert_eq!(second, ["ann||MDPC01|echo|x", "w||MDPW01|<2>|bob||c"]);
        assert_eq!(replies(&mut broker, now, &["w||MDPW01|<3>|bob||y"]), ["bob||MDPC01|echo|y"]);
    }

    #[test]
    fn the_worker_that_has_waited_longest_has_the_next_request() {
        let (mut broker, now) = (Broker::default(), Instant::now());
        let ready = ["v||MDPW01|<1>|echo", "w||MDPW01|<1>|echo", "u||MDPW01|<1>|other"];
        assert!(replies(&mut broker, now, &ready).is_empty());
        let ask = "ann||MDPC01|echo|a";
        assert_eq!(replies(&mut broker, now, &[ask]), ["v||MDPW01|<2>|ann||a"]);
        replies(&mut broker, now, &["v||MDPW01|<3>|ann||a"]);
        assert_eq!(replies(&mut broker, now, &[ask, ask]), ["w||MDPW01|<2>|ann||a", "v||MDPW01|<2>|ann||a"]);
    }

    #[test]
    fn a_silent_worker_that_waits_is_forgotten_and_told_so_when_it_speaks() {
        let (mut broker, now) = (Broker::default(), Instant::now());
        replies(&mut broker, now, &["v||MDPW01|<1>|echo", "w||MDPW01|<1>|echo"]);
        let later = now + HEARTBEAT_INTERVAL * 2;
        replies(&mut broker, later, &["w||MDPW01|<4>"]);
        let dead = now + HEARTBEAT_INTERVAL * 4;
        assert_eq!(replies(&mut broker, dead, &["ann||MDPC01|echo|a"]), ["w||MDPW01|<2>|ann||a"]);
        assert_eq!(replies(&mut broker, dead, &["v||MDPW01|<4>"]), ["v||MDPW01|<5>"]);
        assert_eq!(replies(&mut broker, dead, &["w||MDPW01|<1>|echo"]), ["w||MDPW01|<5>"], "a second READY");
    }

    #[test]
    fn workers_that_wait_have_heartbeats() {
        let (mut broker, now) = (Broker::default(), Instant::now());
        replies(&mut broker, now, &["v||MDPW01|<1>|echo", "w||MDPW01|<1>|echo", "ann||MDPC01|echo|a"]);
        let mut sent = Vec::new();
        broker
            .send_heartbeats(now, &mut |head, _| {
                sent.push(head.concat());
                Ok(())
            })
            .unwrap();
        assert_eq!(sent, [b"wMDPW01\x04"]);
    }

    #[test]
    fn a_message_that_is_not_of_the_protocol_is_an_error() {
        let messages: [&[&[u8]]; 6] = [
            &[],
            &[b"ann", CLIENT, b"echo", b"a"],
            &[b"ann", EMPTY, CLIENT, b"echo"],
            &[b"w", EMPTY, WORKER],
            &[b"w", EMPTY, WORKER, READY],
            &[b"w", EMPTY, WORKER, REQUEST, b"ann", EMPTY, b"a"],
        ];
        for message in messages {
            let frames = message.iter().map(|frame| frame.to_vec()).collect();
            let error = Broker::default().handle(frames, Instant::now(), &mut |_, _| Ok(())).unwrap_err();
            let expected = format!("a message of {} frames is not of the protocol", message.len());
            assert_eq!(error.to_string(), expected);
        }
    }
}
