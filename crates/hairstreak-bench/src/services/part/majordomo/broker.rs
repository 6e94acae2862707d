//! The broker: one ROUTER for clients and workers; services with the requests that wait and the workers that do, the one
//! that has waited longest first.
//!
//! All that it decides is in [`Broker::handle`], and goes out through `send`: only [`run`] has a socket.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Instant;

use anyhow::Result;

use super::super::super::sample::Measurement;
use super::frames::{
    CLIENT, DISCONNECT, EMPTY, Frame, HEARTBEAT, HEARTBEAT_INTERVAL, HEARTBEAT_LIVENESS, Incoming, READY,
    REPLY, REQUEST, WORKER, send,
};
use crate::frame::processes::Answer;
use crate::sample::{LibzmqContext, LibzmqType};

const ANY_PORT: &str = "tcp://127.0.0.1:*";

/// The output of messages: takes the frames before the body, and the body.
type Send<'a> = dyn FnMut(&[&[u8]], &[Frame]) -> Result<()> + 'a;

/// Serves as long as the process lives.
pub(super) fn run(context: &LibzmqContext) -> Result<Infallible> {
    let mut socket = context.socket(LibzmqType::Router)?;
    // A ROUTER drops messages that find no room, and the client takes no reply before its last request is sent.
    socket.turn_off_marks()?;
    Answer::<Measurement>::Bound(vec![socket.bind(ANY_PORT)?]).print()?;
    let mut broker = Broker::default();
    let mut heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
    loop {
        if socket.poll(HEARTBEAT_INTERVAL)? {
            let message = Incoming::of(socket.receive_frames()?);
            broker.handle(message, Instant::now(), &mut |head, body| send(&socket, head, body))?;
        }
        if Instant::now() >= heartbeat_at {
            broker.purge(Instant::now());
            broker.send_heartbeats(&mut |head, body| send(&socket, head, body))?;
            heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
        }
    }
}

/// The state of the broker.
#[derive(Debug, Default)]
struct Broker {
    services: HashMap<Frame, Service>,
    /// By name.
    workers: HashMap<Frame, Worker>,
    /// The names of all workers that wait, the one that has waited longest first.
    waiting: VecDeque<Frame>,
}

#[derive(Debug, Default)]
struct Service {
    /// Each with its client's name.
    requests: VecDeque<(Frame, Vec<Frame>)>,
    /// As the broker's, of this service.
    waiting: VecDeque<Frame>,
}

#[derive(Debug)]
struct Worker {
    service: Frame,
    /// A waiting worker that has been silent until then is gone.
    expires: Instant,
}

impl Broker {
    /// A message that has come.
    fn handle(&mut self, mut message: Incoming, now: Instant, send: &mut Send<'_>) -> Result<()> {
        let sender = message.pop("no sender")?;
        message.require(EMPTY, "no empty frame behind the sender")?;
        match message.pop("no header")?.as_slice() {
            CLIENT => {
                let service = message.pop("no service")?;
                self.services
                    .entry(service.clone())
                    .or_default()
                    .requests
                    .push_back((sender, message.body()?));
                self.dispatch(&service, now, send)
            }
            WORKER => self.handle_worker(sender, message, now, send),
            _ => Err(message.wrong("neither a client nor a worker")),
        }
    }

    fn handle_worker(
        &mut self,
        sender: Frame,
        mut message: Incoming,
        now: Instant,
        send: &mut Send<'_>,
    ) -> Result<()> {
        let command = message.pop("no command")?;
        let known = self.workers.get_mut(&sender);
        match (command.as_slice(), known) {
            (READY, None) => {
                let service = message.pop("no service")?;
                self.workers.insert(sender.clone(), Worker { service, expires: now });
                self.is_waiting(sender, now, send)
            }
            (REPLY, Some(worker)) => {
                let client = message.pop("no client")?;
                message.require(EMPTY, "no empty frame behind the client")?;
                send(&[&client, EMPTY, CLIENT, &worker.service], &message.body()?)?;
                self.is_waiting(sender, now, send)
            }
            (HEARTBEAT, Some(worker)) => {
                worker.expires = now + HEARTBEAT_INTERVAL * HEARTBEAT_LIVENESS;
                Ok(())
            }
            (DISCONNECT, _) => {
                self.forget(&sender);
                Ok(())
            }
            (READY, Some(_)) | (REPLY | HEARTBEAT, None) => {
                self.forget(&sender);
                send(&[&sender, EMPTY, WORKER, DISCONNECT], &[])
            }
            _ => Err(message.wrong("no command of a worker")),
        }
    }

    /// The worker has nothing to do.
    fn is_waiting(&mut self, name: Frame, now: Instant, send: &mut Send<'_>) -> Result<()> {
        let Some(worker) = self.workers.get_mut(&name) else { return Ok(()) };
        worker.expires = now + HEARTBEAT_INTERVAL * HEARTBEAT_LIVENESS;
        let service = worker.service.clone();
        self.services.entry(service.clone()).or_default().waiting.push_back(name.clone());
        self.waiting.push_back(name);
        self.dispatch(&service, now, send)
    }

    /// Requests go to workers as long as there are both.
    fn dispatch(&mut self, service: &Frame, now: Instant, send: &mut Send<'_>) -> Result<()> {
        self.purge(now);
        let Some(service) = self.services.get_mut(service) else { return Ok(()) };
        while !service.waiting.is_empty() {
            let Some((client, body)) = service.requests.pop_front() else { break };
            let Some(worker) = service.waiting.pop_front() else { break };
            self.waiting.retain(|name| *name != worker);
            send(&[&worker, EMPTY, WORKER, REQUEST, &client, EMPTY], &body)?;
        }
        Ok(())
    }

    /// Forgets waiting workers that have been silent for too long. The worker that has waited longest stands first.
    fn purge(&mut self, now: Instant) {
        while let Some(name) = self.waiting.front() {
            if self.workers.get(name).is_some_and(|worker| worker.expires > now) {
                break;
            }
            let name = name.clone();
            self.forget(&name);
        }
    }

    fn forget(&mut self, name: &Frame) {
        self.waiting.retain(|other| other != name);
        let Some(worker) = self.workers.remove(name) else { return };
        if let Some(service) = self.services.get_mut(&worker.service) {
            service.waiting.retain(|other| other != name);
        }
    }

    fn send_heartbeats(&self, send: &mut Send<'_>) -> Result<()> {
        self.waiting.iter().try_for_each(|name| send(&[name, EMPTY, WORKER, HEARTBEAT], &[]))
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
            broker.handle(Incoming::of(frames), now, &mut send).unwrap();
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
            .send_heartbeats(&mut |head, _| {
                sent.push(head.concat());
                Ok(())
            })
            .unwrap();
        assert_eq!(sent, [b"wMDPW01\x04"]);
    }
}
