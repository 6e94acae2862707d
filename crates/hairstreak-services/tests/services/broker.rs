//! A broker in its test's hands.

use std::net::SocketAddrV4;
use std::time::Duration;

use hairstreak_socket::{Context, Message, Options, Router, RouterNotify};
use hairstreak_testkit::{until, until_eq};
use hairstreak_wire::hsn1::{self, ClientId, Header, Held, RequestId, ToBroker, parse_to_broker};

pub const CLIENT: ClientId = ClientId([7; 16]);
/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A broker in its test's hands. Dropped, it is dead.
pub struct Broker {
    pub router: Router,
    peer: Message,
    place: SocketAddrV4,
}

impl Broker {
    /// Listens there until a peer has connected.
    pub fn at(place: &str) -> Broker {
        Broker::listen(place, vec![hsn1::property()])
    }

    /// One of others, which numbers nothing.
    pub fn plain_at(place: &str) -> Broker {
        Broker::listen(place, Vec::new())
    }

    fn listen(place: &str, properties: Vec<(String, Vec<u8>)>) -> Broker {
        let router = listen(place, properties);
        let notice = router.recv_timeout(PATIENCE).unwrap();
        assert_eq!(notice.as_frames()[1].size(), 0);
        let peer = Message::from_frames([notice.as_frames()[0].as_bytes()]);
        let place = place.strip_prefix("tcp://").unwrap().parse().unwrap();
        Broker { router, peer, place }
    }

    /// The same broker, which speaks to that peer.
    pub fn with_peer(self, peer: &[u8]) -> Broker {
        Broker { peer: Message::from_frames([peer]), ..self }
    }

    /// Every frame by itself, as another's may be; ours have a short body in the header's.
    pub fn send(&self, header: Header, behind: &[&[u8]]) {
        let header = header.encode();
        let frames: Vec<&[u8]> = [header.as_ref()].into_iter().chain(behind.iter().copied()).collect();
        self.send_frames(&frames);
    }

    pub fn send_frames(&self, frames: &[&[u8]]) {
        let frames = [self.peer.as_frames()[0].as_bytes()].into_iter().chain(frames.iter().copied());
        self.router.send(&Message::from_frames(frames)).unwrap();
    }

    /// The next message's frames behind the routing id.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        self.frames_of_anybody(PATIENCE).unwrap().1
    }

    /// The same, and who sent it, if it comes in time. That others have connected is left out.
    pub fn frames_of_anybody(&self, timeout: Duration) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
        loop {
            let message = self.router.recv_timeout(timeout).ok()?;
            let mut frames = message.as_frames().iter().map(|frame| frame.as_bytes().to_vec());
            let (peer, frames) = (frames.next().unwrap(), frames.collect::<Vec<_>>());
            if frames != [b""] {
                return Some((peer, frames));
            }
        }
    }

    /// Waits until all bytes that were sent lie in the kernel's buffers of the peers.
    pub fn until_arrived(&self) {
        until_eq("bytes on the way to peers", 0, || {
            self.router.stats().queued_bytes as u64 + self.under_way().0
        });
    }

    /// Waits until the processes of the peers have read all bytes that were sent.
    pub fn until_read(&self) {
        self.until_arrived();
        until_eq("bytes that peers have not read", 0, || self.under_way().1);
    }

    /// The bytes that the kernel has of this broker for its peers: those that have not arrived, and those that are not read.
    fn under_way(&self) -> (u64, u64) {
        let host = u32::from_ne_bytes(self.place.ip().octets());
        let place = format!("{host:08X}:{:04X}", self.place.port());
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let mut bytes = (0, 0);
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (unacknowledged, unread) = fields[4].split_once(':').unwrap();
            let count = |digits| u64::from_str_radix(digits, 16).unwrap();
            match (fields[1] == place, fields[2] == place) {
                // The queue of a listener (0A) has connections.
                (true, _) if fields[3] != "0A" => bytes.0 += count(unacknowledged),
                (_, true) => bytes.1 += count(unread),
                _ => {}
            }
        }
        bytes
    }

    pub fn welcome(&self) {
        self.send(Header::Welcome { broker: [1; 16], heartbeat_ms: 2_500 }, &[]);
    }

    pub fn ask(&self, number: u64) {
        let request = RequestId { client: CLIENT, number };
        let header = Header::Request {
            request,
            first: 1,
            lifetime_ms: 0,
            deliveries: 0,
            is_repeated: false,
            takes_runs: true,
        };
        self.send(header, &[number.to_string().as_bytes()]);
    }

    /// What comes until READY, and the numbers that this lists.
    pub fn until_ready(&self) -> (Vec<Message>, Vec<u64>) {
        let mut before = Vec::new();
        loop {
            let message = self.router.recv_timeout(PATIENCE).unwrap();
            if let Ok(ToBroker::Ready { held, .. }) = parse_to_broker(&message.as_frames()[1..]) {
                let numbers = |held: Held| held.first..=held.last;
                return (before, held.ranges().flat_map(numbers).collect());
            }
            before.push(message);
        }
    }

    pub fn replies_with(&self, number: u64) {
        assert_eq!(self.reply(), Ok(number));
    }

    /// The number of the next request that is replied to, in one part, or why it is not.
    pub fn reply(&self) -> Result<u64, String> {
        let message = self.router.recv_timeout(PATIENCE).unwrap();
        match parse_to_broker(&message.as_frames()[1..]) {
            Ok(ToBroker::Reply(part)) if part.is_final => Ok(part.request.number),
            Ok(ToBroker::Refused { text, .. }) => Err(String::from_utf8_lossy(text).into_owned()),
            other => panic!("{other:?} instead of a reply"),
        }
    }
}

fn listen(place: &str, properties: Vec<(String, Vec<u8>)>) -> Router {
    let options = Options {
        router_notify: RouterNotify { connect: true, disconnect: false },
        properties,
        linger_ms: 0,
        ..Options::default()
    };
    // The place is free once the broker before is gone.
    until("the place is free", || {
        let router = Router::with_options(&Context::new(), options.clone()).unwrap();
        router.bind(place).map(|_| router)
    })
}

/// A place of this test alone, which brokers come back to. The port is none that a connection is given by the system.
pub fn place(test: u8) -> String {
    let process = std::process::id();
    format!("tcp://127.{}.{}.{test}:5559", 1 + process / 250 % 250, 1 + process % 250)
}
