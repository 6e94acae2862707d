//! What a message of a size costs both ends of a tcp link.
//!
//! One thread sends, another receives, each with an engine of its own, as the processes of a run have. *Alone*: the sender computes
//! between two messages for longer than a link gathers, so that each message is written by itself and wakes up the receiver.
//! *Gathered*: the sender sends as fast as it can. Times are times on a core; what the background threads spend is the sender's.

use std::thread;
use std::time::{Duration, Instant};

use hairstreak_model::LinkCost;
use hairstreak_socket::{Context, Pull, Push};

use super::burn::{burn, process_time, thread_time};
use super::error::CalibrationError;
use super::median::median;

/// Messages that travel alone, and what is computed between two of them.
const ALONE_COUNT: usize = 400;
const BETWEEN: Duration = Duration::from_micros(200);
/// Bytes that are sent as fast as possible, and messages at most.
const GATHERED_BYTES: usize = 32 << 20;
const GATHERED_COUNT_MAX: usize = 100_000;
/// A message that takes this long will never come.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Messages taken at once, as instances take them.
const BATCH_COUNT: usize = 1024;
/// A message carries the time when it was sent.
const STAMP_BYTES: usize = 8;

/// Measures once.
pub(super) fn measure(size: usize) -> Result<LinkCost, CalibrationError> {
    let alone = pass(size, ALONE_COUNT, Some(BETWEEN))?;
    let gathered = pass(size, (GATHERED_BYTES / size.max(1)).min(GATHERED_COUNT_MAX), None)?;
    Ok(LinkCost {
        size: size as u64,
        send_alone_ns: alone.send_ns,
        receive_alone_ns: alone.receive_ns,
        // What travels alone is never cheaper: a difference the other way round is noise.
        send_ns: gathered.send_ns.min(alone.send_ns),
        receive_ns: gathered.receive_ns.min(alone.receive_ns),
        latency_ns: (alone.delay_ns - alone.send_ns - alone.receive_ns).max(0.0),
    })
}

/// Per message, in nanoseconds.
struct Passed {
    send_ns: f64,
    receive_ns: f64,
    /// From the call that sends a message to the return of the call that receives it: the median.
    delay_ns: f64,
}

fn pass(size: usize, count: usize, between: Option<Duration>) -> Result<Passed, CalibrationError> {
    let began = Instant::now();
    let pull = Pull::new(&Context::new())?;
    let endpoint = pull.bind("tcp://127.0.0.1:*")?.to_string();
    let (receiving, sending, all, delays) = thread::scope(|scope| {
        let sender =
            thread::Builder::new().spawn_scoped(scope, || send(&endpoint, size, count, between, began));
        let sender = sender.map_err(|error| CalibrationError::Thread(error.to_string()))?;
        // The first message says that the link is there, and is none of those that count.
        pull.recv_timeout(TIMEOUT)?;
        let (all, own) = (process_time(), thread_time());
        let mut delays = Vec::with_capacity(count);
        let mut messages = Vec::with_capacity(BATCH_COUNT);
        while delays.len() < count {
            messages.clear();
            pull.recv_many_timeout(&mut messages, BATCH_COUNT, TIMEOUT)?;
            let now = began.elapsed().as_nanos() as u64;
            delays.extend(messages.iter().map(|message| now.saturating_sub(stamp(message.body())) as f64));
        }
        let receiving = thread_time() - own;
        let sent = sender.join().map_err(|_| CalibrationError::Thread("the sender panicked".into()))??;
        Ok::<_, CalibrationError>((receiving, sent, process_time() - all, delays))
    })?;
    let (burnt, count) = (sending, count as f64);
    let send = all.saturating_sub(receiving).saturating_sub(burnt);
    Ok(Passed {
        send_ns: send.as_nanos() as f64 / count,
        receive_ns: receiving.as_nanos() as f64 / count,
        delay_ns: median(delays),
    })
}

/// Returns what was computed between messages.
fn send(
    endpoint: &str,
    size: usize,
    count: usize,
    between: Option<Duration>,
    began: Instant,
) -> Result<Duration, CalibrationError> {
    let push = Push::new(&Context::new())?;
    push.connect(endpoint)?;
    let mut body = vec![b'x'; size.max(STAMP_BYTES)];
    let mut burnt = Duration::ZERO;
    for number in 0..=count {
        if let Some(between) = between {
            let time = burn(between);
            burnt += if number == 0 { Duration::ZERO } else { time };
        }
        let now = began.elapsed().as_nanos() as u64;
        body[..STAMP_BYTES].copy_from_slice(&now.to_le_bytes());
        push.send(&body)?;
    }
    push.flush();
    Ok(burnt)
}

fn stamp(body: &[u8]) -> u64 {
    body.first_chunk::<STAMP_BYTES>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The median of several measurements, figure by figure.
pub(super) fn medians(costs: &[LinkCost]) -> LinkCost {
    let of = |figure: fn(&LinkCost) -> f64| median(costs.iter().map(figure).collect());
    LinkCost {
        size: costs.first().map_or(0, |cost| cost.size),
        send_alone_ns: of(|cost| cost.send_alone_ns),
        receive_alone_ns: of(|cost| cost.receive_alone_ns),
        send_ns: of(|cost| cost.send_ns),
        receive_ns: of(|cost| cost.receive_ns),
        latency_ns: of(|cost| cost.latency_ns),
    }
}
