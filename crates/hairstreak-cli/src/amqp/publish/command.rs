//! `hairstreak publish`: sends the messages of the source while the window has room, and counts the broker's confirms.

use hairstreak_amqp::{CHANNEL, Connection, Event};
use hairstreak_wire::amqp::{FieldTable, Method, basic, confirm, encode_body, encode_content_header};
use serde_json::json;

use super::arguments::PublishArguments;
use super::source::{Next, Source};
use super::tally::Tally;
use crate::amqp::meter::{Interrupt, Meter};
use crate::amqp::session::with_connection;
use crate::amqp::value::{PropertyValues, Text, from_record};
use crate::failure::Failure;
use crate::line::one_line;
use crate::numbers::{grouped, messages};
use crate::output::{note, print};
use crate::signals;

/// The largest number of bytes that wait to be sent.
const OUTPUT_SIZE_MAX: usize = 1 << 20;

pub fn publish(arguments: &PublishArguments) -> Result<(), Failure> {
    let form = &arguments.form;
    if form.json && form.body.is_none() && form.count != 1 {
        return Err(Failure::usage("--count repeats one message, and --json reads many"));
    }
    if !form.json && arguments.exchange.as_deref().unwrap_or_default().is_empty() && arguments.key.is_none() {
        return Err(Failure::usage(
            "nothing says where the message goes: --key names a queue, or --exchange an exchange",
        ));
    }
    let template = Template::new(arguments)?;
    let source = Source::open(form)?;
    let mut tally = Tally::new();
    let done = with_connection(&arguments.broker, |connection| {
        connection.call(&Method::ConfirmSelect(confirm::Select { no_wait: false }))?;
        let interrupt = Interrupt::start().map_err(Failure::failed)?;
        let meter = Meter::start(arguments.progress);
        let mut publisher = Publisher { connection, arguments, template, source, tally: &mut tally, meter };
        let done = publisher.publish(&interrupt);
        publisher.meter.finish();
        done
    });
    conclude(arguments, &tally, done)
}

/// The properties of messages without properties of their own.
struct Template {
    headers: FieldTable,
    properties: PropertyValues,
    /// Headers and properties together.
    encoded: Vec<u8>,
}

impl Template {
    fn new(arguments: &PublishArguments) -> Result<Template, Failure> {
        let (headers, properties) = (arguments.message.headers(), arguments.message.properties());
        let encoded = properties.encode(Some(&headers).filter(|headers| !headers.is_empty()));
        let encoded = encoded.map_err(Failure::usage)?;
        Ok(Template { headers, properties, encoded })
    }
}

struct Publisher<'a> {
    connection: &'a mut Connection,
    arguments: &'a PublishArguments,
    template: Template,
    source: Source,
    tally: &'a mut Tally,
    meter: Meter,
}

impl Publisher<'_> {
    fn publish(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut failed = None;
        let mut is_over = false;
        loop {
            while let Some(event) = self.connection.next_event()? {
                self.handle(event);
            }
            if let Some(signal) = interrupt.signal() {
                let name = signals::name(i32::from(signal));
                return Err(Failure::stopped(signal, format!("stopped by {name}")));
            }
            let mut waits_for_input = false;
            while !is_over && self.has_room() {
                match self.send_next() {
                    Ok(Sent::Message) => {}
                    Ok(Sent::Nothing) => {
                        waits_for_input = true;
                        break;
                    }
                    Ok(Sent::End) => is_over = true,
                    // Earlier messages are still confirmed.
                    Err(failure) => (is_over, failed) = (true, Some(failure)),
                }
            }
            if is_over && self.tally.open_count() == 0 {
                return failed.map_or(Ok(()), Err);
            }
            let input = if waits_for_input { self.source.input() } else { None };
            let [_, has_input] = self.connection.wait([interrupt.as_fd(), input], self.meter.next())?;
            if has_input && let Err(failure) = self.source.read() {
                (is_over, failed) = (true, Some(failure));
            }
            let (open, total) = (self.tally.open_count(), self.tally.confirmed);
            self.meter.show(total, "confirmed", || format!(", {} under way", grouped(open)));
        }
    }

    fn has_room(&mut self) -> bool {
        self.tally.open_count() < self.arguments.window && self.connection.output().len() < OUTPUT_SIZE_MAX
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Ack { delivery_tag, multiple } => self.tally.confirm(delivery_tag, multiple),
            Event::Nack { delivery_tag, multiple } => self.tally.refuse(delivery_tag, multiple),
            Event::Returned { reply_text, .. } => self.tally.give_back(reply_text),
            Event::Blocked(reason) => {
                let reason = one_line(&reason);
                note(&format!("hairstreak: the broker takes no messages for now: {reason}; waiting\n"));
            }
            Event::Unblocked => note("hairstreak: the broker takes messages again\n"),
            // No other event was requested.
            _ => {}
        }
    }

    fn send_next(&mut self) -> Result<Sent, Failure> {
        let (number, body) = match self.source.next()? {
            Next::Message { number, bytes } => (number, bytes),
            Next::Wait => return Ok(Sent::Nothing),
            Next::End => return Ok(Sent::End),
        };
        let PublishArguments { exchange, key, mandatory, form, .. } = self.arguments;
        if !form.json {
            let to = (exchange.as_deref().unwrap_or_default(), key.as_deref().unwrap_or_default());
            encode(
                self.connection,
                (to.0.as_bytes(), to.1.as_bytes()),
                *mandatory,
                &self.template.encoded,
                body,
            );
        } else if form.body.is_none() && body.trim_ascii().is_empty() {
            return Ok(Sent::Message);
        } else {
            let sent = send_record(self.connection, self.arguments, &self.template, body);
            sent.map_err(|error| Failure::failed(format!("message {number}: {error}")))?;
        }
        self.tally.send();
        Ok(Sent::Message)
    }
}

enum Sent {
    Message,
    /// The source has to read more input first.
    Nothing,
    End,
}

/// Sends the message of a JSON object. Options override the fields of the object.
fn send_record(
    connection: &mut Connection,
    arguments: &PublishArguments,
    template: &Template,
    text: &[u8],
) -> Result<(), String> {
    let record = from_record(text).map_err(|error| error.to_string())?;
    let given = |argument: &Option<String>| argument.clone().map(Text::from);
    let exchange = given(&arguments.exchange).or(record.exchange).unwrap_or_else(|| Text::from(""));
    let key = match given(&arguments.key).or(record.key) {
        Some(key) => key,
        None if exchange.as_bytes().is_empty() => {
            return Err("it has no key, and nothing else says where it goes".into());
        }
        None => Text::from(""),
    };
    let mut headers = record.headers;
    for (name, value) in template.headers.iter() {
        headers.get_or_insert_default().insert(name, value.clone());
    }
    let encoded = template.properties.clone().or(&record.properties).encode(headers.as_ref())?;
    encode(connection, (exchange.as_bytes(), key.as_bytes()), arguments.mandatory, &encoded, &record.body);
    Ok(())
}

fn encode(
    connection: &mut Connection,
    (exchange, routing_key): (&[u8], &[u8]),
    mandatory: bool,
    properties: &[u8],
    body: &[u8],
) {
    let frame_size_max = connection.frame_size_max;
    let output = connection.output();
    basic::Publish { exchange, routing_key, mandatory, immediate: false }.encode(CHANNEL, output);
    encode_content_header(CHANNEL, body.len() as u64, properties, output);
    encode_body(CHANNEL, body, frame_size_max, output);
}

/// Reports the outcome of the messages.
fn conclude(arguments: &PublishArguments, tally: &Tally, done: Result<(), Failure>) -> Result<(), Failure> {
    let (published, confirmed) = (tally.published(), tally.confirmed);
    let (returned, refused) = (tally.returned, tally.refused);
    if arguments.form.json && (published > 0 || done.is_ok()) {
        let result = json!({
            "published": published, "confirmed": confirmed, "returned": returned, "refused": refused,
        });
        print(&format!("{result}\n"))?;
    }
    let mut parts = Vec::new();
    if returned > 0 {
        parts.push(format!("{} came back: {}", grouped(returned), tally.returned_for));
    }
    if refused > 0 {
        parts.push(format!("{} refused by the broker", grouped(refused)));
    }
    if done.is_err() && published > 0 {
        parts.push(format!("published {}, confirmed {}", grouped(published), grouped(confirmed)));
    } else if !parts.is_empty() {
        parts.insert(0, format!("{} published", messages(published)));
    }
    match done {
        Err(failure) => Err(failure.with_more(&parts.join("; "))),
        Ok(()) if !parts.is_empty() => Err(Failure::failed(parts.join("; "))),
        Ok(()) if arguments.form.json => Ok(()),
        Ok(()) => print(&format!("{} confirmed\n", messages(confirmed))),
    }
}
