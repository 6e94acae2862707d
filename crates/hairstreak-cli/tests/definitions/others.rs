//! Answers about changes of other clients, and about changes without an answer: the node is killed as soon as the client has the answer.

use std::thread;

use hairstreak_testkit::{until, until_eq};
use hairstreak_wire::amqp::{FieldTable, Method, basic, connection, queue};

use crate::client::{CHANNEL, Client};
use crate::model::queue_declaration;
use crate::node::{Node, Place};
use crate::soak::amount;

/// The number of queues that are declared in one piece.
const BURST: usize = 500;

fn names(round: usize) -> Vec<String> {
    (0..BURST).map(|number| format!("burst.{round}.{number}")).collect()
}

fn burst(names: &[String], no_wait: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for name in names {
        let declare = queue::Declare { no_wait, ..queue_declaration(name, false) };
        Method::QueueDeclare(declare).encode(CHANNEL, &mut out);
    }
    out
}

fn passive(name: &str) -> Method<'_> {
    Method::QueueDeclare(queue::Declare { passive: true, ..queue_declaration(name, false) })
}

/// Asks until a queue is there, or is gone, one question after the other.
fn await_queue(client: &mut Client, name: &str, is_there: bool) {
    until_eq(&format!("queue '{name}' is there"), is_there, || {
        client.unroutable("", &[name.to_owned()]).is_empty()
    });
}

fn missing(node: &Node, names: &[String]) -> Vec<String> {
    Client::connect(&node.amqp).unwrap().unroutable("", names)
}

#[test]
fn a_queue_that_a_client_is_told_of_survives_whoever_declared_it() {
    let place = Place::new("told");
    let mut node = place.start();
    for round in 0..amount(10, 100) {
        let names = names(round);
        let mut declaring = Client::connect(&node.amqp).unwrap();
        let mut asking = Client::connect(&node.amqp).unwrap();
        let last = &names[BURST - 1];
        thread::scope(|scope| {
            scope.spawn(|| declaring.send(&burst(&names, false)).unwrap());
            until("the last queue is declared", || asking.is_granted(&passive(last)));
            node.kill();
        });
        node = place.start();
        assert_eq!(missing(&node, &names), [""; 0], "round {round}");
    }
}

#[test]
fn a_change_without_an_answer_survives_once_anything_later_is_answered() {
    let place = Place::new("no-wait");
    let mut node = place.start();
    for round in 0..amount(10, 100) {
        let names = names(round);
        let mut client = Client::connect(&node.amqp).unwrap();
        let mut watching = Client::connect(&node.amqp).unwrap();
        client.send(&burst(&names, true)).unwrap();
        // The question comes in a later turn of the connection.
        await_queue(&mut watching, &names[BURST - 1], true);
        assert_eq!(client.ask(&Method::BasicQos(basic::Qos::default())).unwrap().name, "basic.qos-ok");
        node.kill();
        node = place.start();
        assert_eq!(missing(&node, &names), [""; 0], "round {round}");
    }
}

#[test]
fn queues_that_end_by_themselves_do_not_come_back() {
    let place = Place::new("ends");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let mut arguments = FieldTable::new();
    arguments.insert("x-expires", 50);
    let expiring = queue::Declare { queue: b"expiring", durable: true, arguments, ..Default::default() };
    client.is_granted(&Method::QueueDeclare(expiring)).unwrap();
    for name in ["left", "cancelled"] {
        let declare = queue::Declare { auto_delete: true, ..queue_declaration(name, false) };
        client.is_granted(&Method::QueueDeclare(declare)).unwrap();
        let consume = basic::Consume { queue: name.as_bytes(), consumer_tag: b"tag", ..Default::default() };
        let mut consumer = Client::connect(&node.amqp).unwrap();
        consumer.is_granted(&Method::BasicConsume(consume)).unwrap();
        if name == "cancelled" {
            let cancel = basic::Cancel { consumer_tag: b"tag", no_wait: false };
            consumer.is_granted(&Method::BasicCancel(cancel)).unwrap();
        }
    }
    let bind =
        queue::Bind { queue: b"stays", exchange: b"amq.direct", routing_key: b"stays", ..Default::default() };
    client.is_granted(&Method::QueueDeclare(queue_declaration("stays", false))).unwrap();
    client.is_granted(&Method::QueueBind(bind)).unwrap();
    let gone = ["expiring", "left", "cancelled"].map(str::to_owned);
    for name in &gone {
        await_queue(&mut client, name, false);
    }
    // Changes before an answer are on disk.
    client.is_granted(&Method::QueueDeclare(queue_declaration("later", false))).unwrap();
    node.kill();
    let node = place.start();
    let asked = [&gone[..], &["stays".to_owned(), "later".to_owned()]].concat();
    assert_eq!(missing(&node, &asked), gone);
    let mut client = Client::connect(&node.amqp).unwrap();
    assert_eq!(client.unroutable("amq.direct", &["stays".to_owned()]), [""; 0]);
}

#[test]
fn a_client_that_leaves_hears_the_end_behind_all_its_answers() {
    let place = Place::new("leaves");
    let mut node = place.start();
    for round in 0..amount(5, 50) {
        let names = names(round);
        let mut client = Client::connect(&node.amqp).unwrap();
        let mut bytes = burst(&names, false);
        Method::ConnectionClose(connection::Close::default()).encode(0, &mut bytes);
        client.send(&bytes).unwrap();
        for name in &names {
            assert_eq!(client.answer().unwrap().name, "queue.declare-ok", "{name}");
        }
        assert_eq!(client.answer().unwrap().name, "connection.close-ok");
        // Another client does not wait for the end.
        Client::connect(&node.amqp).unwrap().send(&burst(&names, false)).unwrap();
        node.kill();
        node = place.start();
        assert_eq!(missing(&node, &names), [""; 0], "round {round}");
    }
}

#[test]
fn answers_that_nobody_reads_are_bounded_and_hold_up_nobody() {
    const SENT_MAX: usize = 256 << 20;
    const GROWTH_MAX: usize = 96 << 20;
    let place = Place::new("unread");
    let node = place.start();
    let mut other = Client::connect(&node.amqp).unwrap();
    let mut client = Client::connect(&node.amqp).unwrap();
    let before = node.memory();
    let (bytes, mut sent, mut round) = (burst(&vec!["n".repeat(200); BURST], false), 0, 0);
    while client.send_until_stuck(&bytes) {
        sent += bytes.len();
        assert!(sent < SENT_MAX, "{sent} bytes were taken");
        round += 1;
        other.is_granted(&Method::QueueDeclare(queue_declaration(&format!("other.{round}"), false))).unwrap();
    }
    let growth = node.memory().saturating_sub(before);
    assert!(growth < GROWTH_MAX, "{growth} bytes for {sent} bytes of a client that does not read");
    other.is_granted(&Method::QueueDeclare(queue_declaration("later", false))).unwrap();
}
