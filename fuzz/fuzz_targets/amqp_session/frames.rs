//! The frames of clients: methods with names, flags and tables that are likely to mean something, and messages.

use hairstreak_wire::amqp::{
    FieldTable, FieldValue, Method, PROTOCOL_HEADER, Properties, access, basic, channel, confirm, connection,
    encode_body, encode_content_header, exchange, queue, tx,
};

use crate::client::Client;
use crate::input::Input;
use crate::view::body;

const QUEUES: [&str; 6] = ["a", "b", "c", "d", "", "e"];
const EXCHANGES: [&str; 10] =
    ["", "x", "y", "z", "amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match", "amq.unknown"];
/// Exchanges as publishers use them: most often the default one.
const PUBLISHED: [&str; 12] =
    ["", "", "", "", "x", "x", "y", "amq.direct", "amq.fanout", "amq.topic", "amq.headers", "none"];
pub const KINDS: [&str; 8] = [
    "direct",
    "fanout",
    "topic",
    "headers",
    "x-consistent-hash",
    "load_balancing",
    "data_distribution",
    "none",
];
const KEYS: [&str; 12] = ["a", "b", "c", "d", "", "a.b", "a.*", "#", "*.b.#", "1", "e", "a.b.c"];
const TAGS: [&str; 5] = ["", "t", "u", "v", "amq.ctag"];
pub const REPLY_TO: &str = "amq.rabbitmq.reply-to";
const QUEUE_ARGUMENTS: [&str; 20] = [
    "x-message-ttl",
    "x-expires",
    "x-max-length",
    "x-max-length-bytes",
    "x-overflow",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-single-active-consumer",
    "x-max-priority",
    "x-queue-type",
    "x-delivery-limit",
    "x-priority",
    "x-queue-mode",
    "x-dead-letter-strategy",
    "x-consumer-timeout",
    "alternate-exchange",
    "x-match",
    "hash-header",
    "hash-property",
    "n",
];
const WORDS: [&str; 24] = [
    "a",
    "b",
    "c",
    "x",
    "y",
    "",
    "drop-head",
    "reject-publish",
    "reject-publish-dlx",
    "quorum",
    "classic",
    "stream",
    "at-least-once",
    "at-most-once",
    "all",
    "any",
    "all-with-x",
    "any-with-x",
    "message_id",
    "correlation_id",
    "timestamp",
    "lazy",
    "n",
    "1",
];
const HEADERS: [&str; 9] = [
    "CC",
    "BCC",
    "n",
    "m",
    "x-death",
    "x-first-death-queue",
    "x-delivery-count",
    "x-match",
    "x-last-death-reason",
];
const SIZES: [usize; 13] =
    [0, 1, 7, 100, 1_000, 4_088, 4_089, 9_000, 32_767, 32_768, 70_000, 140_000, 530_000];

pub fn start_ok<'a>(
    mechanism: &'a [u8],
    response: &'a [u8],
    capabilities: [bool; 3],
) -> connection::StartOk<'a> {
    let names = ["authentication_failure_close", "connection.blocked", "consumer_cancel_notify"];
    let capabilities: FieldTable = names.into_iter().zip(capabilities).collect();
    let mut client_properties = FieldTable::new();
    client_properties.insert("capabilities", capabilities);
    connection::StartOk { client_properties, mechanism, response, locale: b"en_US" }
}

/// Puts a step of the handshake behind what the client is to send.
pub fn put_handshake(client: &mut Client, input: &mut Input<'_>) {
    match input.below(8) {
        0 => client.wire.extend_from_slice(b"AMQP\0\0\x09\x01"),
        1 => {
            let mechanism = input.pick(&[&b"PLAIN"[..], b"AMQPLAIN", b"EXTERNAL"]);
            let plain = [
                &b"\0guest\0guest"[..],
                b"\0guest\0wrong",
                b"\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x05guest",
            ];
            let response = if input.below(4) == 3 { input.bytes() } else { input.pick(&plain) };
            let mut flags = input.flags();
            let capabilities = [flags.next(), flags.next(), flags.next()];
            client.put(0, &Method::ConnectionStartOk(start_ok(mechanism, response, capabilities)));
        }
        2 => {
            let channel_max = input.pick(&[0, 1, 3, 2_047, 2_048]);
            let frame_max = input.pick(&[0, 4_095, 4_096, 5_000, 131_072, 131_073]);
            client.put(
                0,
                &Method::ConnectionTuneOk(connection::TuneOk {
                    channel_max,
                    frame_max,
                    heartbeat: input.pick(&[0, 1, 60]),
                }),
            );
        }
        3 => {
            let virtual_host = input.pick(&[&b"/"[..], b"", b"other", b"\xff"]);
            client.put(0, &Method::ConnectionOpen(connection::Open { virtual_host }));
        }
        4 => client.wire.extend_from_slice(b"\x08\0\0\0\0\0\0\xce"),
        5 => {
            let close = connection::Close { reply_code: 200, reply_text: b"bye", class_id: 0, method_id: 0 };
            client.put(0, &Method::ConnectionClose(close));
        }
        6 => client.put(0, &Method::ConnectionCloseOk(connection::CloseOk {})),
        _ => {
            // Nearly a login: the password or the virtual host is wrong.
            let is_known = input.below(2) == 1;
            let response = if is_known { &b"\0guest\0guest"[..] } else { b"\0guest\0wrong" };
            client.wire.extend_from_slice(&PROTOCOL_HEADER);
            client.put(0, &Method::ConnectionStartOk(start_ok(b"PLAIN", response, [true; 3])));
            if is_known {
                let tune_ok = connection::TuneOk { channel_max: 7, frame_max: 4_096, heartbeat: 0 };
                client.put(0, &Method::ConnectionTuneOk(tune_ok));
                client.put(0, &Method::ConnectionOpen(connection::Open { virtual_host: b"other" }));
            }
        }
    }
}

/// Puts a method behind what the client is to send.
pub fn put_method(client: &mut Client, number: u16, input: &mut Input<'_>) {
    let kind = input.below(32);
    let (last_queue, reply_to) = (client.view.last_queue.clone(), client.view.reply_to.clone());
    let known = Known { last_queue: &last_queue, reply_to: &reply_to };
    let last_tag = client.view.last_delivery_tag(number);
    let mut flags = input.flags();
    let no_wait = flags.next();
    let method = match kind {
        0..=3 => {
            let queue = known.queue(input);
            Method::QueueDeclare(queue::Declare {
                queue,
                // The target has to know the names of all queues.
                no_wait: no_wait && !queue.is_empty(),
                passive: flags.next() && flags.next(),
                durable: flags.next(),
                exclusive: flags.next() && flags.next(),
                auto_delete: flags.next(),
                arguments: table(input, &QUEUE_ARGUMENTS),
            })
        }
        4 => Method::QueueDelete(queue::Delete {
            queue: known.queue(input),
            if_unused: flags.next(),
            if_empty: flags.next(),
            no_wait,
        }),
        5 => Method::QueuePurge(queue::Purge { queue: known.queue(input), no_wait }),
        6 | 7 => Method::QueueBind(queue::Bind {
            queue: known.queue(input),
            exchange: exchange_name(input),
            routing_key: known.key(input),
            no_wait,
            arguments: table(input, &QUEUE_ARGUMENTS),
        }),
        8 => Method::QueueUnbind(queue::Unbind {
            queue: known.queue(input),
            exchange: exchange_name(input),
            routing_key: known.key(input),
            arguments: table(input, &QUEUE_ARGUMENTS),
        }),
        9 => Method::ExchangeDeclare(exchange::Declare {
            exchange: exchange_name(input),
            kind: input.pick(&KINDS).as_bytes(),
            passive: flags.next() && flags.next(),
            durable: flags.next(),
            auto_delete: flags.next(),
            internal: flags.next() && flags.next(),
            no_wait,
            arguments: table(input, &QUEUE_ARGUMENTS),
        }),
        10 => Method::ExchangeDelete(exchange::Delete {
            exchange: exchange_name(input),
            if_unused: flags.next(),
            no_wait,
        }),
        11 => Method::ExchangeBind(exchange::Bind {
            destination: exchange_name(input),
            source: exchange_name(input),
            routing_key: known.key(input),
            no_wait,
            arguments: table(input, &QUEUE_ARGUMENTS),
        }),
        12 => Method::ExchangeUnbind(exchange::Unbind {
            destination: exchange_name(input),
            source: exchange_name(input),
            routing_key: known.key(input),
            no_wait,
            arguments: table(input, &QUEUE_ARGUMENTS),
        }),
        13 | 14 => Method::BasicConsume(basic::Consume {
            queue: known.consumed(input),
            consumer_tag: input.pick(&TAGS).as_bytes(),
            no_local: false,
            no_ack: flags.next(),
            exclusive: flags.next() && flags.next(),
            no_wait,
            arguments: table(input, &QUEUE_ARGUMENTS),
        }),
        15 => Method::BasicConsume(basic::Consume {
            queue: REPLY_TO.as_bytes(),
            consumer_tag: input.pick(&TAGS).as_bytes(),
            no_ack: !flags.next(),
            no_wait,
            ..Default::default()
        }),
        16 => Method::BasicCancel(basic::Cancel { consumer_tag: input.pick(&TAGS).as_bytes(), no_wait }),
        17 => Method::BasicGet(basic::Get { queue: known.consumed(input), no_ack: no_wait }),
        18 | 19 => Method::BasicAck(basic::Ack { delivery_tag: tag(last_tag, input), multiple: no_wait }),
        20 => {
            let (multiple, requeue) = (no_wait, flags.next());
            Method::BasicNack(basic::Nack { delivery_tag: tag(last_tag, input), multiple, requeue })
        }
        21 => Method::BasicReject(basic::Reject { delivery_tag: tag(last_tag, input), requeue: no_wait }),
        22 => {
            let prefetch_size = u32::from(flags.next() && flags.next() && flags.next());
            Method::BasicQos(basic::Qos {
                prefetch_size,
                prefetch_count: input.byte().into(),
                global: no_wait,
            })
        }
        23 if no_wait => Method::BasicRecoverAsync(basic::RecoverAsync { requeue: flags.next() }),
        23 => Method::BasicRecover(basic::Recover { requeue: !flags.next() }),
        24 => Method::ConfirmSelect(confirm::Select { no_wait }),
        25 => Method::TxSelect(tx::Select {}),
        26 => Method::TxCommit(tx::Commit {}),
        27 => Method::TxRollback(tx::Rollback {}),
        28 => Method::ChannelOpen(channel::Open {}),
        29 => Method::ChannelClose(channel::Close {
            reply_code: 200,
            reply_text: b"bye",
            class_id: 0,
            method_id: 0,
        }),
        30 => match input.below(6) {
            0 => Method::ChannelFlow(channel::Flow { active: !no_wait }),
            1 => Method::ChannelFlowOk(channel::FlowOk { active: true }),
            2 => Method::AccessRequest(access::Request::default()),
            3 => Method::ConnectionUpdateSecret(connection::UpdateSecret { new_secret: b"s", reason: b"r" }),
            4 => Method::ConnectionCloseOk(connection::CloseOk {}),
            _ => Method::ConnectionClose(connection::Close {
                reply_code: 200,
                reply_text: b"",
                class_id: 0,
                method_id: 0,
            }),
        },
        _ => Method::ChannelCloseOk(channel::CloseOk {}),
    };
    client.put(number, &method);
}

/// Puts a message behind what the client is to send: all of it, or only some of its frames.
pub fn put_message(client: &mut Client, number: u16, input: &mut Input<'_>) {
    let (last_queue, reply_to) = (client.view.last_queue.clone(), client.view.reply_to.clone());
    let known = Known { last_queue: &last_queue, reply_to: &reply_to };
    let mut flags = input.flags();
    let (mandatory, has_properties) = (flags.next(), flags.next());
    let (is_part, is_small_framed) = (flags.next() && flags.next(), flags.next());
    let immediate = flags.next() && flags.next() && flags.next();
    let exchange = input.pick(&PUBLISHED).as_bytes();
    let routing_key = known.key(input);
    let size = input.pick(&SIZES);
    client.put(number, &Method::BasicPublish(basic::Publish { exchange, routing_key, mandatory, immediate }));
    let mut properties = Vec::new();
    if has_properties {
        put_properties(&known, input, &mut properties);
    } else {
        properties.extend_from_slice(&[0, 0]);
    }
    let end = client.wire.len();
    encode_content_header(number, size as u64, &properties, &mut client.wire);
    let header_end = client.wire.len();
    let body = body(size as u64, 0, size);
    let frame_size = if is_small_framed { 1_000 } else { client.frame_size_max };
    encode_body(number, body, frame_size, &mut client.wire);
    if is_part {
        client.view.calls.forgo();
        // Only basic.publish, or the header too, or part of the body.
        let ends = [end, header_end, client.wire.len().min(header_end + 2 * frame_size)];
        let kept = input.pick(&ends);
        let whole_frames = header_end + (kept - header_end.min(kept)) / frame_size * frame_size;
        client.wire.truncate(if kept > header_end { whole_frames } else { kept });
    }
}

/// Puts the content of a message of `size` bytes that has come no further than basic.publish.
pub fn put_content(client: &mut Client, number: u16, size: usize, reply_to: Option<&[u8]>) {
    let mut properties = Vec::new();
    Properties { reply_to, ..Properties::default() }.encode(&mut properties);
    encode_content_header(number, size as u64, &properties, &mut client.wire);
    encode_body(number, body(size as u64, 0, size), client.frame_size_max, &mut client.wire);
}

fn put_properties(known: &Known<'_>, input: &mut Input<'_>, out: &mut Vec<u8>) {
    let mut flags = input.flags();
    let mut properties = Properties::default();
    if flags.next() {
        properties.delivery_mode = Some(input.pick(&[1, 2, 3]));
    }
    if flags.next() {
        properties.priority = Some(input.byte() % 16);
    }
    if flags.next() {
        properties.expiration =
            Some(input.pick(&[&b"0"[..], b"1", b"50", b"1000", b"-1", b"", b"4294967296"]));
    }
    if flags.next() {
        properties.reply_to = Some(input.pick(&[REPLY_TO.as_bytes(), b"a", known.reply_to]));
    }
    if flags.next() {
        properties.headers = Some(headers(input));
    }
    if flags.next() {
        properties.correlation_id = Some(input.pick(&[&b"1"[..], b""]));
        properties.message_id = Some(b"2");
        properties.timestamp = Some(input.byte().into());
    }
    if flags.next() {
        properties.user_id = Some(input.pick(&[&b"guest"[..], b"other"]));
    }
    properties.encode(out);
}

fn headers(input: &mut Input<'_>) -> FieldTable {
    let mut table = table(input, &HEADERS);
    if input.below(2) == 1 {
        let keys = (0..input.below(4)).map(|_| FieldValue::from(input.pick(&KEYS))).collect();
        table.insert(input.pick(&["CC", "BCC"]), FieldValue::Array(keys));
    }
    table
}

fn table(input: &mut Input<'_>, names: &[&str]) -> FieldTable {
    let count = match input.byte() {
        0..=99 => 0,
        count => usize::from(count) % 4 + 1,
    };
    (0..count).map(|_| (input.pick(names), value(input))).collect()
}

fn value(input: &mut Input<'_>) -> FieldValue {
    match input.below(12) {
        0..=2 => FieldValue::I32(input.below(8) as i32),
        3..=6 => FieldValue::from(input.pick(&WORDS)),
        7 => FieldValue::Bool(input.below(2) == 1),
        8 => FieldValue::I64(input.pick(&[-1, 100, 1_000, 70_000, i64::MAX, i64::MIN])),
        9 => FieldValue::F64(input.pick(&[f64::NAN, 1.0, -0.5])),
        10 => FieldTable::decode(input.bytes()).map_or(FieldValue::Void, FieldValue::Table),
        _ => FieldValue::Array(vec![FieldValue::from(input.pick(&WORDS)), FieldValue::Void]),
    }
}

/// One of the last deliveries, or some number.
fn tag(last: u64, input: &mut Input<'_>) -> u64 {
    match input.byte() {
        choice @ 0..=199 => last.saturating_sub(u64::from(choice) % 8),
        choice => u64::from(choice) - 200,
    }
}

fn exchange_name(input: &mut Input<'_>) -> &'static [u8] {
    input.pick(&EXCHANGES).as_bytes()
}

/// Names that the node has told the client.
struct Known<'a> {
    last_queue: &'a [u8],
    reply_to: &'a [u8],
}

impl<'a> Known<'a> {
    fn queue(&self, input: &mut Input<'_>) -> &'a [u8] {
        input.pick(&QUEUES).as_bytes()
    }

    /// A queue that is there, perhaps one that the node has named.
    fn consumed(&self, input: &mut Input<'_>) -> &'a [u8] {
        match input.below(QUEUES.len() + 1) {
            6 => self.last_queue,
            at => QUEUES[at].as_bytes(),
        }
    }

    fn key(&self, input: &mut Input<'_>) -> &'a [u8] {
        match input.below(KEYS.len() + 2) {
            12 => self.reply_to,
            13 => self.last_queue,
            at => KEYS[at].as_bytes(),
        }
    }
}
