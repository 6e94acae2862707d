//! Queues, exchanges and consumers as applications have them: what single methods rarely come to.

use hairstreak_wire::amqp::{FieldTable, FieldValue, Method, basic, exchange, queue};

use crate::client::Client;
use crate::frames::{KINDS, REPLY_TO, put_content};
use crate::input::{Flags, Input};

/// Puts one of the setups behind what the client is to send.
pub fn put_setup(client: &mut Client, number: u16, input: &mut Input<'_>) {
    let kind = input.below(10);
    let mut flags = input.flags();
    let mut setup = Setup { client, number };
    match kind {
        0 => {
            setup.declare("a", false, []);
            setup.consume("a", "t", &mut flags);
        }
        1 => {
            let limit = ("x-delivery-limit", FieldValue::I32(input.below(3) as i32));
            let quorum = ("x-queue-type", "quorum".into());
            setup.declare("d", false, []);
            setup.declare("c", true, [quorum, limit].into_iter().chain(dead_letters("", "d")));
            setup.consume("c", "u", &mut flags);
        }
        2 => {
            let kind = input.pick(&KINDS);
            setup.exchange("x", kind);
            setup.declare("a", false, []);
            setup.declare("b", false, []);
            setup.bind("a", "x", if flags.next() { "1" } else { "a" }, &mut flags);
            setup.bind("b", "x", if flags.next() { "2" } else { "a.*" }, &mut flags);
        }
        3 => {
            setup.declare("a", false, []);
            setup.put(&Method::BasicConsume(basic::Consume {
                queue: REPLY_TO.as_bytes(),
                no_ack: true,
                ..Default::default()
            }));
            setup.put(&Method::BasicPublish(basic::Publish { routing_key: b"a", ..Default::default() }));
            put_content(setup.client, number, 7, Some(REPLY_TO.as_bytes()));
        }
        4 => {
            let overflow = input.pick(&["drop-head", "reject-publish", "reject-publish-dlx"]);
            let limit = if flags.next() { "x-max-length" } else { "x-max-length-bytes" };
            let bounds =
                [("x-overflow", overflow.into()), (limit, FieldValue::I32(input.below(4) as i32 * 7))];
            setup.declare("d", false, []);
            setup.declare("b", false, bounds.into_iter().chain(dead_letters("", "d")));
        }
        5 => {
            let ttl = [("x-message-ttl", FieldValue::I32(input.pick(&[0, 1, 100])))];
            let key = if flags.next() { "e" } else { "d" };
            setup.declare(
                "e",
                false,
                ttl.into_iter().chain(dead_letters(if flags.next() { "x" } else { "" }, key)),
            );
            setup.declare("d", false, []);
        }
        6 => setup.declare("a", false, [("x-max-priority", FieldValue::I32(5))]),
        // A consumer that is over at once, with a message that waits for it.
        7 => {
            setup.declare("a", false, []);
            setup.put(&Method::BasicPublish(basic::Publish { routing_key: b"a", ..Default::default() }));
            put_content(setup.client, number, 7, None);
            setup.consume("a", "v", &mut flags);
            setup.put(&Method::BasicCancel(basic::Cancel { consumer_tag: b"v", no_wait: flags.next() }));
        }
        8 => {
            setup.declare("b", false, [("x-single-active-consumer", FieldValue::Bool(true))]);
            setup.consume("b", "t", &mut flags);
            setup.consume("b", "u", &mut flags);
        }
        _ => {
            let reply_to = setup.client.view.reply_to.clone();
            setup.put(&Method::BasicPublish(basic::Publish { routing_key: &reply_to, ..Default::default() }));
            put_content(setup.client, number, 100, None);
        }
    }
}

fn dead_letters(exchange: &'static str, key: &'static str) -> [(&'static str, FieldValue); 2] {
    [("x-dead-letter-exchange", exchange.into()), ("x-dead-letter-routing-key", key.into())]
}

struct Setup<'a> {
    client: &'a mut Client,
    number: u16,
}

impl Setup<'_> {
    fn put(&mut self, method: &Method<'_>) {
        self.client.put(self.number, method);
    }

    fn declare(
        &mut self,
        name: &str,
        is_durable: bool,
        arguments: impl IntoIterator<Item = (&'static str, FieldValue)>,
    ) {
        let arguments: FieldTable = arguments.into_iter().collect();
        let queue = name.as_bytes();
        self.put(&Method::QueueDeclare(queue::Declare {
            queue,
            durable: is_durable,
            arguments,
            ..Default::default()
        }));
    }

    fn exchange(&mut self, name: &str, kind: &str) {
        let (exchange, kind) = (name.as_bytes(), kind.as_bytes());
        self.put(&Method::ExchangeDeclare(exchange::Declare { exchange, kind, ..Default::default() }));
    }

    fn bind(&mut self, queue: &str, exchange: &str, key: &str, flags: &mut Flags) {
        let arguments = if flags.next() { [("n", "a")].into_iter().collect() } else { FieldTable::new() };
        let (queue, exchange, routing_key) = (queue.as_bytes(), exchange.as_bytes(), key.as_bytes());
        self.put(&Method::QueueBind(queue::Bind { queue, exchange, routing_key, no_wait: false, arguments }));
    }

    fn consume(&mut self, queue: &str, tag: &str, flags: &mut Flags) {
        if flags.next() {
            let prefetch_count = 1 + u16::from(flags.next());
            self.put(&Method::BasicQos(basic::Qos {
                prefetch_size: 0,
                prefetch_count,
                global: flags.next(),
            }));
        }
        let (queue, consumer_tag, no_ack) = (queue.as_bytes(), tag.as_bytes(), flags.next());
        self.put(&Method::BasicConsume(basic::Consume { queue, consumer_tag, no_ack, ..Default::default() }));
    }
}
