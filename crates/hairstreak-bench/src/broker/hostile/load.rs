//! The connections of each kind of load. All connections end when the load is dropped.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::super::amqp::{
    AmqpError, Argument, BODY, CHANNEL, CHANNEL_CLOSE, CHANNEL_OPEN, Link, PROTOCOL_HEADER, push_method,
    push_publish,
};
use super::super::server::Running;
use super::elsewhere::{self, ATTACKS, Attack, Attacker};
use super::http::{self, QUEUES_LISTED};

/// Connections that send part of the protocol header and nothing else.
const HALF_OPEN_COUNT: u32 = 1_000;
/// Publishers that have each sent only the beginning of a body.
const HALF_MESSAGE_COUNT: u32 = 200;
const HALF_BODY_SIZE: usize = 1 << 20;
/// Consumers that do not read, and the messages that wait for each consumer.
const DEAF_COUNT: u32 = 20;
const DEAF_MESSAGE_COUNT: usize = 1_000;
const DEAF_BODY_SIZE: usize = 16 << 10;
/// Connections per second that log in and send a malformed frame.
const MALFORMED_PER_S: u32 = 500;
/// Channels per second that one connection opens and closes.
const CHANNELS_PER_S: u32 = 20_000;
/// HTTP clients that send part of a request, or do not read the answer.
const HTTP_COUNT: u32 = 1_000;
/// Time between two lists of all queues.
const LIST_INTERVAL: Duration = Duration::from_millis(500);
/// Time between two steps of the other floods.
const STEP: Duration = Duration::from_millis(10);
const STEPS_PER_S: u32 = 100;
/// The first part of the names of the load's queues.
const QUEUE: &str = "hostile";

/// A kind of load.
#[derive(Clone, Copy, Debug)]
pub enum LoadKind {
    Idle,
    HalfOpen,
    HalfMessages,
    NeverReading,
    Malformed,
    Channels,
    HttpLists,
    HttpHalfRequests,
    HttpNeverReading,
    Elsewhere(&'static Attack),
}

impl LoadKind {
    const OVER_AMQP: [LoadKind; 6] = [
        LoadKind::Idle,
        LoadKind::HalfOpen,
        LoadKind::HalfMessages,
        LoadKind::NeverReading,
        LoadKind::Malformed,
        LoadKind::Channels,
    ];
    const OVER_HTTP: [LoadKind; 3] =
        [LoadKind::HttpLists, LoadKind::HttpHalfRequests, LoadKind::HttpNeverReading];

    /// The kinds that `server` can meet.
    pub fn of(server: &Running) -> impl Iterator<Item = LoadKind> {
        let over_http = || Self::OVER_HTTP.into_iter().chain(ATTACKS.iter().map(LoadKind::Elsewhere));
        Self::OVER_AMQP.into_iter().chain(server.http.into_iter().flat_map(move |_| over_http()))
    }

    /// Whether the load is in a virtual host of its own. Good clients must have short round trips beside such a load.
    pub fn is_elsewhere(self) -> bool {
        matches!(self, Self::Elsewhere(_))
    }

    /// The name in reports. `idle_count` is the number of idle connections.
    pub fn text(self, idle_count: u32) -> String {
        match self {
            Self::Idle => format!("{idle_count} idle connections"),
            Self::HalfOpen => format!("{HALF_OPEN_COUNT} connections that sent half a protocol header"),
            Self::HalfMessages => format!("{HALF_MESSAGE_COUNT} publishers that owe most of 1 MiB each"),
            Self::NeverReading => format!("{DEAF_COUNT} consumers that never read"),
            Self::Malformed => "connections with a malformed frame".to_owned(),
            Self::Channels => "channels, opened and closed".to_owned(),
            Self::HttpLists => format!("lists of {QUEUES_LISTED} queues over HTTP"),
            Self::HttpHalfRequests => format!("{HTTP_COUNT} HTTP clients that sent half a request"),
            Self::HttpNeverReading => {
                format!("{HTTP_COUNT} HTTP clients that ask for {QUEUES_LISTED} queues and never read")
            }
            Self::Elsewhere(attack) => format!("{} (another virtual host)", attack.text),
        }
    }
}

/// Hostile connections. Dropping the load ends all of them.
#[derive(Default)]
pub struct Load {
    links: Vec<Link>,
    streams: Vec<TcpStream>,
    /// The broker's address and the number of queues that were declared there.
    queues: Option<(SocketAddr, u32)>,
    /// The address of HTTP, if the load has a virtual host of its own.
    attacked: Option<SocketAddr>,
    flood: Option<Flood>,
}

/// A thread that repeats something until it is told to end.
struct Flood {
    is_over: Arc<AtomicBool>,
    /// Returns how many steps were done per second.
    thread: JoinHandle<Result<f64, AmqpError>>,
}

impl Load {
    /// Connects the load to `server`.
    pub fn start(kind: LoadKind, server: &Running, idle_count: u32) -> Result<Load, AmqpError> {
        let address = server.address;
        let http = || server.http.ok_or(AmqpError::Malformed("a broker without HTTP"));
        let mut load = Load::default();
        match kind {
            LoadKind::Idle => {
                load.links = (0..idle_count).map(|_| Link::open_small(address)).collect::<Result<_, _>>()?;
            }
            LoadKind::HalfOpen => {
                for _ in 0..HALF_OPEN_COUNT {
                    let mut stream = TcpStream::connect(address)?;
                    stream.write_all(&PROTOCOL_HEADER[..4])?;
                    load.streams.push(stream);
                }
            }
            LoadKind::HalfMessages => {
                for _ in 0..HALF_MESSAGE_COUNT {
                    let mut link = Link::open_small(address)?;
                    let mut message = Vec::new();
                    let body = vec![0; HALF_BODY_SIZE];
                    push_publish(&mut message, CHANNEL, ("", QUEUE), &body, link.frame_size_max);
                    link.stream.write_all(&message[..HALF_BODY_SIZE / 8])?;
                    load.links.push(link);
                }
            }
            LoadKind::NeverReading => load.add_consumers(address)?,
            LoadKind::Malformed => {
                let count = MALFORMED_PER_S / STEPS_PER_S;
                load.flood(STEP, count, move || send_malformed(address, count));
            }
            LoadKind::Channels => {
                let (mut link, count) = (Link::open(address)?, CHANNELS_PER_S / STEPS_PER_S);
                load.flood(STEP, count, move || open_channels(&mut link, count));
            }
            LoadKind::HttpLists => {
                let http = http()?;
                load.declare_queues(address, QUEUES_LISTED)?;
                load.flood(LIST_INTERVAL, 1, move || http::list_queues(http));
            }
            LoadKind::HttpHalfRequests => {
                let http = http()?;
                load.streams =
                    (0..HTTP_COUNT).map(|_| http::send_half_request(http)).collect::<Result<_, _>>()?;
            }
            LoadKind::HttpNeverReading => {
                let http = http()?;
                load.declare_queues(address, QUEUES_LISTED)?;
                load.streams =
                    (0..HTTP_COUNT).map(|_| http::ask_for_queues(http)).collect::<Result<_, _>>()?;
            }
            LoadKind::Elsewhere(attack) => {
                let http = http()?;
                load.attacked = Some(http);
                let (mut attacker, mut number) = (Attacker::start(attack, address, http)?, 0);
                load.flood(attack.interval, 1, move || {
                    number += 1;
                    attacker.step(attack, number)
                });
            }
        }
        Ok(load)
    }

    /// Declares queues, which the end of the load deletes.
    fn declare_queues(&mut self, address: SocketAddr, count: u32) -> Result<(), AmqpError> {
        self.queues = Some((address, count));
        let mut link = Link::open(address)?;
        (0..count).try_for_each(|number| link.declare_queue(&queue_name(number)))
    }

    fn add_consumers(&mut self, address: SocketAddr) -> Result<(), AmqpError> {
        self.declare_queues(address, DEAF_COUNT)?;
        let mut publisher = Link::open(address)?;
        for number in 0..DEAF_COUNT {
            let queue = queue_name(number);
            let mut consumer = Link::open(address)?;
            consumer.consume(&queue, true)?;
            self.links.push(consumer);
            let mut message = Vec::new();
            let body = vec![0; DEAF_BODY_SIZE];
            push_publish(&mut message, CHANNEL, ("", &queue), &body, publisher.frame_size_max);
            for _ in 0..DEAF_MESSAGE_COUNT {
                publisher.stream.write_all(&message)?;
            }
        }
        // The answer to a method comes after the broker has handled all published messages.
        publisher.await_channel()
    }

    /// Repeats `step`, which does `count` things, each `interval` on a thread until the load ends, or less often if the broker slows the
    /// flood.
    fn flood(
        &mut self,
        interval: Duration,
        count: u32,
        mut step: impl FnMut() -> Result<(), AmqpError> + Send + 'static,
    ) {
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_over);
        let run = move || {
            let (start, mut steps) = (Instant::now(), 0);
            while !watched.load(Relaxed) {
                step()?;
                steps += 1;
                thread::sleep((interval * steps).saturating_sub(start.elapsed()));
            }
            Ok(f64::from(steps * count) / start.elapsed().as_secs_f64())
        };
        self.flood = Some(Flood { is_over, thread: thread::spawn(run) });
    }

    /// Ends the load. Returns the rate of a flood per second.
    ///
    /// Errors: the broker has stopped a flood.
    pub fn end(mut self) -> Result<Option<f64>, AmqpError> {
        self.links.clear();
        self.streams.clear();
        let rate = match self.flood.take() {
            Some(Flood { is_over, thread }) => {
                is_over.store(true, Relaxed);
                Some(thread.join().unwrap_or(Err(AmqpError::Malformed("a thread that panicked")))?)
            }
            None => None,
        };
        if let Some((address, count)) = self.queues {
            let mut link = Link::open(address)?;
            (0..count).try_for_each(|number| link.delete_queue(&queue_name(number)))?;
        }
        if let Some(http) = self.attacked {
            elsewhere::clean_up(http)?;
        }
        Ok(rate)
    }
}

fn queue_name(number: u32) -> String {
    format!("{QUEUE}.{number}")
}

/// Logs in, sends a frame with a wrong end, waits for the refusal, and disconnects.
fn send_malformed(address: SocketAddr, count: u32) -> Result<(), AmqpError> {
    for _ in 0..count {
        let mut link = Link::open_small(address)?;
        link.stream.write_all(&[BODY, 0, 1, 0, 0, 0, 1, 7, 0])?;
        link.stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        // The answer of the broker does not matter here.
        let _ = link.stream.read(&mut [0; 512]);
    }
    Ok(())
}

/// Opens and closes channels, many in one write, and reads the answers.
fn open_channels(link: &mut Link, count: u32) -> Result<(), AmqpError> {
    let mut frames = Vec::new();
    let close = [Argument::U16(200), Argument::Short(""), Argument::U16(0), Argument::U16(0)];
    for number in 0..count {
        let channel = 2 + number as u16;
        push_method(&mut frames, channel, CHANNEL_OPEN, &[Argument::Short("")]);
        push_method(&mut frames, channel, CHANNEL_CLOSE, &close);
    }
    link.stream.write_all(&frames)?;
    link.skip_answers(2 * count)
}
