//! The connections of each kind of company. All connections end when the company is dropped.

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
/// A flood works in this many steps per second.
const STEP: Duration = Duration::from_millis(10);
const STEPS_PER_S: u32 = 100;
/// The queues of consumers that do not read.
const QUEUE: &str = "hostile";

/// A kind of company.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompanyKind {
    Idle,
    HalfOpen,
    HalfMessages,
    NeverReading,
    Malformed,
    Channels,
}

impl CompanyKind {
    pub const ALL: [CompanyKind; 6] = [
        CompanyKind::Idle,
        CompanyKind::HalfOpen,
        CompanyKind::HalfMessages,
        CompanyKind::NeverReading,
        CompanyKind::Malformed,
        CompanyKind::Channels,
    ];

    /// The name in reports. `idle_count` is the number of idle connections.
    pub fn text(self, idle_count: u32) -> String {
        match self {
            Self::Idle => format!("{idle_count} idle connections"),
            Self::HalfOpen => format!("{HALF_OPEN_COUNT} connections that sent half a protocol header"),
            Self::HalfMessages => format!("{HALF_MESSAGE_COUNT} publishers that owe most of 1 MiB each"),
            Self::NeverReading => format!("{DEAF_COUNT} consumers that never read"),
            Self::Malformed => "connections with a malformed frame".to_owned(),
            Self::Channels => "channels, opened and closed".to_owned(),
        }
    }
}

/// Hostile connections. Dropping the company ends all of them.
#[derive(Default)]
pub struct Company {
    links: Vec<Link>,
    streams: Vec<TcpStream>,
    has_queues: Option<SocketAddr>,
    flood: Option<Flood>,
}

/// A thread that repeats something until it is told to end.
struct Flood {
    is_over: Arc<AtomicBool>,
    /// Returns how many steps were done per second.
    thread: JoinHandle<Result<f64, AmqpError>>,
}

impl Company {
    pub fn start(kind: CompanyKind, address: SocketAddr, idle_count: u32) -> Result<Company, AmqpError> {
        let mut company = Company::default();
        match kind {
            CompanyKind::Idle => {
                company.links =
                    (0..idle_count).map(|_| Link::open_small(address)).collect::<Result<_, _>>()?;
            }
            CompanyKind::HalfOpen => {
                for _ in 0..HALF_OPEN_COUNT {
                    let mut stream = TcpStream::connect(address)?;
                    stream.write_all(&PROTOCOL_HEADER[..4])?;
                    company.streams.push(stream);
                }
            }
            CompanyKind::HalfMessages => {
                for _ in 0..HALF_MESSAGE_COUNT {
                    let mut link = Link::open_small(address)?;
                    let mut message = Vec::new();
                    let body = vec![0; HALF_BODY_SIZE];
                    push_publish(&mut message, CHANNEL, ("", QUEUE), &body, link.frame_size_max);
                    link.stream.write_all(&message[..HALF_BODY_SIZE / 8])?;
                    company.links.push(link);
                }
            }
            CompanyKind::NeverReading => company.add_consumers(address)?,
            CompanyKind::Malformed => {
                company.flood(MALFORMED_PER_S, move |count| send_malformed(address, count))
            }
            CompanyKind::Channels => {
                let mut link = Link::open(address)?;
                company.flood(CHANNELS_PER_S, move |count| open_channels(&mut link, count));
            }
        }
        Ok(company)
    }

    fn add_consumers(&mut self, address: SocketAddr) -> Result<(), AmqpError> {
        self.has_queues = Some(address);
        let mut publisher = Link::open(address)?;
        for number in 0..DEAF_COUNT {
            let queue = format!("{QUEUE}.{number}");
            publisher.declare_queue(&queue)?;
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

    /// Repeats `step` on a thread until the company is dropped: `per_s` times per second, or fewer if the broker slows the flood.
    fn flood(&mut self, per_s: u32, mut step: impl FnMut(u32) -> Result<(), AmqpError> + Send + 'static) {
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&is_over);
        let run = move || {
            let (start, step_count) = (Instant::now(), per_s / STEPS_PER_S);
            let mut steps = 0;
            while !watched.load(Relaxed) {
                step(step_count)?;
                steps += 1;
                thread::sleep((STEP * steps).saturating_sub(start.elapsed()));
            }
            Ok(f64::from(steps * step_count) / start.elapsed().as_secs_f64())
        };
        self.flood = Some(Flood { is_over, thread: thread::spawn(run) });
    }

    /// Ends the company. Returns the rate of a flood per second.
    ///
    /// Errors: the broker has stopped a flood.
    pub fn end(mut self) -> Result<Option<f64>, AmqpError> {
        self.links.clear();
        if let Some(address) = self.has_queues {
            let mut link = Link::open(address)?;
            (0..DEAF_COUNT).try_for_each(|number| link.delete_queue(&format!("{QUEUE}.{number}")))?;
        }
        match self.flood.take() {
            Some(Flood { is_over, thread }) => {
                is_over.store(true, Relaxed);
                thread.join().unwrap_or(Err(AmqpError::Malformed("a thread that panicked"))).map(Some)
            }
            None => Ok(None),
        }
    }
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
