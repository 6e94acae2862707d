//! `Client`: a simulated client that numbers its requests, keeps the open ones, and resends them to any broker after
//! WELCOME.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use hairstreak_wire::hsn1::{
    ClientId, FromBroker, Header, PartPlace, PartStep, ReplyParts, RequestId, parse_from_broker, with_body,
};

use super::ledger::Ledger;
use super::net::{Frames, Net};
use super::worker::assert_whole;

pub struct Client {
    pub id: ClientId,
    pub link: Option<usize>,
    /// Index of the next broker.
    pub broker: usize,
    /// Requests without a whole reply, and their parts so far.
    open: BTreeMap<u64, (ReplyParts, Vec<String>)>,
    /// Set if the callers see each part as it arrives.
    streams: bool,
    next: u64,
    last: u64,
    window: usize,
    is_welcome: bool,
    /// Percentage of requests that the client cancels.
    pub cancels: u64,
}

impl Client {
    pub fn new(index: usize, requests: u64, window: usize) -> Client {
        let id = ClientId([index as u8 + 1; 16]);
        let open = BTreeMap::new();
        Client {
            id,
            link: None,
            broker: index,
            open,
            streams: index % 2 == 1,
            next: 1,
            last: requests,
            window,
            is_welcome: false,
            cancels: 0,
        }
    }

    pub fn is_done(&self) -> bool {
        self.open.is_empty() && self.next > self.last
    }

    pub fn is_lost(&mut self) {
        (self.link, self.is_welcome) = (None, false);
    }

    pub fn state(&self) -> String {
        format!("next {} open {:?} link {:?} welcome {}", self.next, self.open, self.link, self.is_welcome)
    }

    fn first(&self) -> u64 {
        self.open.keys().next().copied().unwrap_or(self.next)
    }

    fn send(&self, net: &mut Net, number: u64, is_repeated: bool) {
        let request = RequestId { client: self.id, number };
        let header = Header::Request {
            request,
            first: self.first(),
            lifetime_ms: 0,
            deliveries: 0,
            is_repeated,
            takes_runs: true,
        };
        let Some(link) = self.link else { return };
        let body = [number.to_string()];
        net.say(link, with_body(header, Some(b"echo"), &body, |first, _| vec![first.to_vec()]));
    }

    /// Sends as many requests as the window permits.
    pub fn go_on(&mut self, net: &mut Net) {
        while self.is_welcome && self.open.len() < self.window && self.next <= self.last {
            let number = self.next;
            self.next += 1;
            self.open.insert(number, Default::default());
            self.send(net, number, false);
            if net.sim.rng.u64(..100) < self.cancels {
                let request = RequestId { client: self.id, number };
                self.open.remove(&number);
                let cancel = vec![Header::Cancel { request }.encode().as_ref().to_vec()];
                self.link.into_iter().for_each(|link| net.say(link, cancel.clone()));
            }
        }
    }

    /// Takes a message. Returns whether the client is told to begin again.
    pub fn take(&mut self, net: &mut Net, ledger: &mut Ledger, frames: &Frames) -> bool {
        match parse_from_broker(frames).expect("a command") {
            FromBroker::Welcome { .. } => {
                self.is_welcome = true;
                self.open.keys().for_each(|number| self.send(net, *number, true));
            }
            FromBroker::Reply(part) => {
                assert_eq!(part.request.client, self.id);
                let number = part.request.number;
                let body = part.body.body(frames).next().expect("a body");
                let Some((parts, said)) = self.open.get_mut(&number) else { return false };
                let place = PartPlace {
                    run: part.run.unwrap_or_default(),
                    index: part.index,
                    is_final: part.is_final,
                };
                let step = parts.take(place, !self.streams, |before| {
                    let mut hasher = DefaultHasher::new();
                    (before, body).hash(&mut hasher);
                    hasher.finish()
                });
                match step {
                    PartStep::Take | PartStep::TakeAnew => {
                        if step == PartStep::TakeAnew {
                            said.clear();
                        }
                        said.push(String::from_utf8_lossy(body).into_owned());
                        if part.is_final {
                            assert_whole(number, said);
                            self.open.remove(&number);
                            ledger.answer(part.request, false);
                        }
                    }
                    PartStep::Drop => {}
                    PartStep::AskAgain => self.send(net, number, true),
                    PartStep::Differ => {
                        assert!(self.streams, "nobody has seen a part of {number}");
                        self.open.remove(&number);
                        ledger.answer(part.request, false);
                    }
                }
            }
            FromBroker::Refused { request, .. } => {
                if self.open.remove(&request.number).is_some() {
                    ledger.answer(request, true);
                }
            }
            FromBroker::Disconnect { .. } => return true,
            other => panic!("{other:?} to a client"),
        }
        self.go_on(net);
        false
    }
}
