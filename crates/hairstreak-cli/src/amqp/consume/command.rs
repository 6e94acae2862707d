//! `hairstreak consume`: writes delivered messages, and acknowledges them once they are written.
//!
//! With --count the broker must not send too many messages: a surplus message goes back to the queue, marked as
//! redelivered. Therefore the last acknowledgements, as many as the prefetch, are held back until all messages are
//! written. If the queue becomes idle meanwhile, they are sent, so that no message stays unacknowledged for long.

use std::time::{Duration, Instant};

use hairstreak_amqp::{CHANNEL, ClientError, Connection, Event};
use hairstreak_wire::amqp::{FieldTable, Method, basic, encode_ack, queue};

use super::arguments::ConsumeArguments;
use super::output::Output;
use crate::amqp::meter::{Interrupt, Meter};
use crate::amqp::session::with_connection;
use crate::amqp::value::table;
use crate::failure::Failure;
use crate::line::one_line;
use crate::numbers::{grouped, messages};
use crate::output::note;
use crate::signals;

/// The pattern of all keys of a topic exchange.
const ALL_KEYS: &str = "#";
/// The silence of a queue after which this command asks whether the queue is empty.
const QUIET_TIME: Duration = Duration::from_millis(50);
/// The silence of a queue after which acknowledgements are no longer held back.
const IDLE_TIME: Duration = Duration::from_secs(1);

pub fn consume(arguments: &ConsumeArguments) -> Result<(), Failure> {
    if arguments.no_ack && arguments.count.is_some() && arguments.queue.is_some() {
        let reason =
            "with --no-ack the broker sends all messages at once: those beyond --count would be lost";
        return Err(Failure::usage(reason));
    }
    let output = Output::open(&arguments.form)?;
    with_connection(&arguments.broker, |connection| {
        let queue = match (&arguments.queue, &arguments.exchange) {
            (None, Some(exchange)) => bind_queue(connection, exchange, &arguments.keys)?,
            (queue, _) => queue.clone().unwrap_or_default(),
        };
        let mut consumer = Consumer {
            connection,
            arguments,
            queue,
            consumer_tag: Vec::new(),
            output,
            prefetch: arguments
                .count
                .map_or(arguments.prefetch.into(), |count| count.min(arguments.prefetch.into())),
            written: 0,
            acknowledged: 0,
            last_came: Instant::now(),
            meter: Meter::start(arguments.progress),
        };
        let interrupt = Interrupt::start().map_err(Failure::failed)?;
        let done = consumer.consume(&interrupt);
        consumer.meter.finish();
        done
    })
}

/// Declares a queue that only this connection uses, for further messages of the exchange.
fn bind_queue(connection: &mut Connection, exchange: &str, keys: &[String]) -> Result<String, Failure> {
    let declare = queue::Declare { exclusive: true, auto_delete: true, ..queue::Declare::default() };
    let reply = connection.call(&Method::QueueDeclare(declare))?;
    let name = match reply.method().map_err(ClientError::from)? {
        Method::QueueDeclareOk(declared) => String::from_utf8_lossy(declared.queue).into_owned(),
        other => return Err(ClientError::Unexpected(other.name()).into()),
    };
    let all_keys = [ALL_KEYS.to_owned()];
    for key in if keys.is_empty() { &all_keys } else { keys } {
        let bind = queue::Bind {
            queue: name.as_bytes(),
            exchange: exchange.as_bytes(),
            routing_key: key.as_bytes(),
            no_wait: false,
            arguments: FieldTable::new(),
        };
        connection.call(&Method::QueueBind(bind))?;
    }
    note(&format!(
        "hairstreak: queue {} has the messages of exchange '{}'\n",
        one_line(&name),
        one_line(exchange)
    ));
    Ok(name)
}

struct Consumer<'a> {
    connection: &'a mut Connection,
    arguments: &'a ConsumeArguments,
    queue: String,
    consumer_tag: Vec<u8>,
    output: Output,
    /// The largest number of messages without an acknowledgement.
    prefetch: u64,
    /// The delivery tag of the last message that was put, which is also the number of messages put.
    written: u64,
    /// The last acknowledged delivery tag.
    acknowledged: u64,
    /// Arrival time of the last message.
    last_came: Instant,
    meter: Meter,
}

impl Consumer<'_> {
    fn consume(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        self.start()?;
        let done = self.write_all(interrupt);
        self.cancel();
        // Written messages are acknowledged at every kind of end. Otherwise the broker would deliver them again.
        let flushed = self.output.flush();
        if flushed.is_ok() {
            self.acknowledge(self.written);
        }
        done.and(flushed)
    }

    fn start(&mut self) -> Result<(), Failure> {
        let qos = basic::Qos { prefetch_size: 0, prefetch_count: self.prefetch as u16, global: false };
        self.connection.call(&Method::BasicQos(qos))?;
        let consume = basic::Consume {
            queue: self.queue.as_bytes(),
            no_ack: self.arguments.no_ack,
            arguments: table(&self.arguments.arguments),
            ..basic::Consume::default()
        };
        let reply = self.connection.call(&Method::BasicConsume(consume))?;
        match reply.method().map_err(ClientError::from)? {
            Method::BasicConsumeOk(consuming) => self.consumer_tag = consuming.consumer_tag.to_vec(),
            other => return Err(ClientError::Unexpected(other.name()).into()),
        }
        self.last_came = Instant::now();
        Ok(())
    }

    fn write_all(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        loop {
            while let Some(event) = self.connection.next_event()? {
                self.handle(event)?;
                if self.has_enough() {
                    return Ok(());
                }
                if interrupt.signal().is_some() {
                    break;
                }
            }
            self.output.flush()?;
            let now = Instant::now();
            let is_idle = self.idle_end().is_some_and(|end| end <= now);
            self.acknowledge(if is_idle { self.written } else { self.written.min(self.acknowledged_max()) });
            if let Some(signal) = interrupt.signal() {
                return self.stopped(signal);
            }
            if self.patience_end().is_some_and(|end| end <= now) {
                if self.arguments.timeout.is_some() || self.is_empty()? {
                    return self.fewer();
                }
                self.last_came = now;
            }
            let deadline =
                [self.patience_end(), self.idle_end(), self.meter.next()].into_iter().flatten().min();
            self.connection.wait([interrupt.as_fd()], deadline)?;
            self.meter.show(self.written, "written", String::new);
        }
    }

    /// Ends the consumer before the last acknowledgement, after which the broker would send more messages.
    fn cancel(&mut self) {
        let cancel = basic::Cancel { consumer_tag: &self.consumer_tag, no_wait: false };
        // If the call fails, the connection and its consumer end.
        let _ = self.connection.call(&Method::BasicCancel(cancel));
    }

    fn handle(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Delivery { delivery_tag, is_redelivered, content } => {
                self.output.put(content, is_redelivered)?;
                self.written = delivery_tag;
                self.last_came = Instant::now();
                Ok(())
            }
            Event::Cancelled => {
                let reason = "the broker has ended the consumer: the queue was deleted, or is moving";
                Err(Failure::failed(format!("{reason} (queue '{}')", self.queue)))
            }
            // Other events do not concern a consumer.
            _ => Ok(()),
        }
    }

    fn has_enough(&self) -> bool {
        self.arguments.count.is_some_and(|count| self.written >= count)
    }

    /// Returns the last delivery tag whose acknowledgement does not let the broker send too many messages.
    fn acknowledged_max(&self) -> u64 {
        self.arguments.count.map_or(u64::MAX, |count| count - self.prefetch)
    }

    /// Returns the time at which held-back messages are acknowledged, if there are any.
    fn idle_end(&self) -> Option<Instant> {
        let keeps_back = !self.arguments.no_ack && self.acknowledged < self.written;
        keeps_back.then(|| self.last_came + IDLE_TIME)
    }

    /// Acknowledges all messages up to this delivery tag.
    fn acknowledge(&mut self, delivery_tag: u64) {
        let is_open = !self.connection.is_channel_closed();
        if is_open && !self.arguments.no_ack && delivery_tag > self.acknowledged {
            encode_ack(CHANNEL, delivery_tag, true, self.connection.output());
            self.acknowledged = delivery_tag;
        }
    }

    /// Returns the time at which the command gives up, or asks whether the queue is empty.
    fn patience_end(&self) -> Option<Instant> {
        match self.arguments.timeout {
            Some(timeout) => Some(self.last_came + timeout),
            // A queue of this connection is always empty at first.
            None if self.arguments.follow || self.arguments.queue.is_none() => None,
            None => Some(self.last_came + QUIET_TIME),
        }
    }

    /// Returns `true` if no message waits in the queue. A message that arrives before the answer is written first.
    fn is_empty(&mut self) -> Result<bool, Failure> {
        let check =
            queue::Declare { queue: self.queue.as_bytes(), passive: true, ..queue::Declare::default() };
        let reply = self.connection.call(&Method::QueueDeclare(check))?;
        let is_empty = match reply.method().map_err(ClientError::from)? {
            Method::QueueDeclareOk(declared) => declared.message_count == 0,
            other => return Err(ClientError::Unexpected(other.name()).into()),
        };
        let mut has_come = false;
        while let Some(event) = self.connection.next_event()? {
            has_come = true;
            self.handle(event)?;
            if self.has_enough() {
                break;
            }
        }
        Ok(is_empty && !has_come)
    }

    /// Ends the command because the time is over or the queue is empty.
    fn fewer(&self) -> Result<(), Failure> {
        match self.arguments.count {
            Some(count) if self.written < count => {
                let (written, count) = (grouped(self.written), messages(count));
                Err(Failure::failed(format!("only {written} of {count} came")))
            }
            _ => Ok(()),
        }
    }

    /// Ends the command by a signal, the normal end of following.
    fn stopped(&self, signal: u8) -> Result<(), Failure> {
        if self.patience_end().is_none() && self.arguments.count.is_none() {
            return Ok(());
        }
        let name = signals::name(i32::from(signal));
        Err(Failure::stopped(signal, format!("stopped by {name} after {}", messages(self.written))))
    }
}
