//! Orderly stops of the node: order, redelivered flags, time to live, priorities, dead letters, purges and deletions survive.

use std::time::Duration;

use hairstreak_wire::amqp::{FieldTable, FieldValue, Method, Properties, exchange, queue, tx};

use crate::client::Client;
use crate::node::{Node, Place};

/// A time limit that only a hanging node reaches.
const PATIENCE: Duration = Duration::from_secs(60);

fn persistent() -> Properties<'static> {
    Properties { delivery_mode: Some(2), ..Properties::default() }
}

fn table<const N: usize>(arguments: [(&str, FieldValue); N]) -> FieldTable {
    arguments.into_iter().collect()
}

/// Stops the node in order, and starts the next one.
fn restart(node: Node, place: &Place) -> (Node, Client) {
    let end = node.stop();
    assert_eq!(end.status, Some(0), "{}", end.errors);
    let node = place.start();
    let client = Client::connect(&node.amqp).unwrap();
    (node, client)
}

/// Publishes numbered messages with these properties, and waits for their confirms.
fn publish(
    client: &mut Client,
    queue: &str,
    numbers: std::ops::RangeInclusive<u64>,
    properties: &Properties<'_>,
) {
    numbers.for_each(|number| client.publish_with("", queue, properties, format!("{number} ").as_bytes()));
}

fn numbers(client: &mut Client, queue: &str) -> Vec<u64> {
    client.drain(queue).into_iter().map(|message| message.number).collect()
}

#[test]
fn order_and_redelivered_flags_are_as_they_were() {
    let place = Place::new("message-order");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare("q", &FieldTable::new()).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "q", 1..=10, &persistent());
    // A transient message does not survive.
    publish(&mut client, "q", 11..=11, &Properties::default());
    client.await_confirms(11);
    client.set_prefetch(3);
    client.consume("q").unwrap();
    let first: Vec<_> = std::iter::from_fn(|| client.received(Duration::from_millis(500)).unwrap()).collect();
    assert_eq!(first.iter().map(|message| message.number).collect::<Vec<_>>(), [1, 2, 3]);
    client.ack(first[1].delivery_tag, false);
    assert_eq!(client.received(Duration::from_secs(60)).unwrap().map(|message| message.number), Some(4));
    let (node, mut client) = restart(node, &place);
    let rest = client.drain("q");
    assert_eq!(rest.iter().map(|message| message.number).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7, 8, 9, 10]);
    let redelivered: Vec<_> =
        rest.iter().filter(|message| message.is_redelivered).map(|message| message.number).collect();
    assert_eq!(redelivered, [1, 3, 4]);
    // All are acknowledged now.
    let (_node, mut client) = restart(node, &place);
    assert_eq!(numbers(&mut client, "q"), []);
}

#[test]
fn a_stop_in_order_does_not_forget_a_kill_before() {
    let place = Place::new("message-kill-and-stop");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare("q", &FieldTable::new()).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "q", 1..=20, &persistent());
    client.await_confirms(20);
    client.set_prefetch(1);
    client.consume("q").unwrap();
    assert!(client.received(PATIENCE).unwrap().is_some());
    // The messages behind may have been delivered, too.
    node.kill();
    let (node, mut client) = restart(place.start(), &place);
    client.select_confirms().unwrap();
    publish(&mut client, "q", 21..=40, &persistent());
    client.await_confirms(20);
    let (_node, mut client) = restart(node, &place);
    let received = client.drain("q");
    assert!(received.iter().map(|message| message.number).eq(1..=40));
    assert!(received.iter().all(|message| message.is_redelivered == (message.number <= 20)));
}

#[test]
fn a_stop_in_order_leaves_no_mark_on_messages_that_were_not_delivered() {
    let place = Place::new("message-stop-and-kill");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare("q", &FieldTable::new()).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "q", 1..=20, &persistent());
    client.await_confirms(20);
    client.set_prefetch(3);
    client.consume("q").unwrap();
    for _ in 0..3 {
        assert!(client.received(PATIENCE).unwrap().is_some());
    }
    let (node, client) = restart(node, &place);
    drop(client);
    node.kill();
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let received = client.drain("q");
    assert!(received.iter().map(|message| message.number).eq(1..=20));
    assert!(received.iter().all(|message| message.is_redelivered == (message.number <= 3)));
}

#[test]
fn very_many_deliveries_return_before_the_node_has_stopped() {
    const COUNT: u64 = 30_000;
    let place = Place::new("message-many-deliveries");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare("q", &FieldTable::new()).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "q", 1..=COUNT + 10, &persistent());
    client.await_confirms(COUNT + 10);
    client.set_prefetch(COUNT as u16);
    client.consume("q").unwrap();
    for _ in 0..COUNT {
        assert!(client.received(PATIENCE).unwrap().is_some());
    }
    let (_node, mut client) = restart(node, &place);
    let received = client.drain("q");
    assert!(received.iter().map(|message| message.number).eq(1..=COUNT + 10));
    assert!(received.iter().all(|message| message.is_redelivered == (message.number <= COUNT)));
}

#[test]
fn priorities_purges_deletions_and_commits_survive() {
    let place = Place::new("message-kinds");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    for queue in ["purged", "deleted", "committed"] {
        client.declare(queue, &FieldTable::new()).unwrap();
    }
    client.declare("priorities", &table([("x-max-priority", 5_i64.into())])).unwrap();
    client.ask(&Method::TxSelect(tx::Select {}), "tx.select-ok").unwrap();
    for number in 1..=6_u64 {
        let properties = Properties { priority: Some((number % 3) as u8), ..persistent() };
        publish(&mut client, "priorities", number..=number, &properties);
        publish(&mut client, "purged", number..=number, &persistent());
        publish(&mut client, "deleted", number..=number, &persistent());
        publish(&mut client, "committed", number..=number, &persistent());
    }
    client.commit().unwrap();
    publish(&mut client, "committed", 7..=7, &persistent());
    let purge = queue::Purge { queue: b"purged", ..queue::Purge::default() };
    client.ask(&Method::QueuePurge(purge), "queue.purge-ok").unwrap();
    let delete = queue::Delete { queue: b"deleted", ..queue::Delete::default() };
    client.ask(&Method::QueueDelete(delete), "queue.delete-ok").unwrap();
    client.declare("deleted", &FieldTable::new()).unwrap();
    let (_node, mut client) = restart(node, &place);
    assert_eq!(numbers(&mut client, "priorities"), [2, 5, 1, 4, 3, 6]);
    assert_eq!(numbers(&mut client, "purged"), []);
    assert_eq!(numbers(&mut client, "deleted"), []);
    assert_eq!(numbers(&mut client, "committed"), [1, 2, 3, 4, 5, 6], "the seventh was not committed");
}

#[test]
fn messages_expire_while_the_node_is_down_and_find_their_dead_letter_queue() {
    let place = Place::new("message-ttl");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let exchange = ("x-dead-letter-exchange", "".into());
    let key = ("x-dead-letter-routing-key", "dead".into());
    client.declare("dead", &FieldTable::new()).unwrap();
    client.declare("short", &table([("x-message-ttl", 300_i64.into()), exchange, key])).unwrap();
    client.declare("long", &table([("x-message-ttl", 600_000_i64.into())])).unwrap();
    client.select_confirms().unwrap();
    publish(&mut client, "short", 1..=5, &persistent());
    publish(&mut client, "long", 6..=10, &persistent());
    client.await_confirms(10);
    drop(client);
    // The messages expire before the node serves again, or soon after.
    assert_eq!(node.stop().status, Some(0));
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let mut dead = Vec::new();
    client.consume("dead").unwrap();
    while dead.len() < 5 {
        let letter = client.received(Duration::from_secs(60)).unwrap().unwrap();
        client.ack(letter.delivery_tag, false);
        dead.push(letter.number);
    }
    assert_eq!(dead, [1, 2, 3, 4, 5]);
    client.set_prefetch(0);
    let (_node, mut client) = restart(node, &place);
    assert_eq!(numbers(&mut client, "dead"), [], "a dead letter comes once");
    assert_eq!(numbers(&mut client, "short"), []);
    assert_eq!(numbers(&mut client, "long"), [6, 7, 8, 9, 10]);
}

#[test]
fn a_message_in_several_queues_stays_in_those_that_have_not_acknowledged_it() {
    let place = Place::new("message-fan-out");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let declare = exchange::Declare {
        exchange: b"all",
        kind: b"fanout",
        durable: true,
        ..exchange::Declare::default()
    };
    client.ask(&Method::ExchangeDeclare(declare), "exchange.declare-ok").unwrap();
    for queue in ["a", "b", "c"] {
        client.declare(queue, &FieldTable::new()).unwrap();
        let bind = queue::Bind { queue: queue.as_bytes(), exchange: b"all", ..queue::Bind::default() };
        client.ask(&Method::QueueBind(bind), "queue.bind-ok").unwrap();
    }
    client.select_confirms().unwrap();
    (1..=20)
        .for_each(|number| client.publish_with("all", "", &persistent(), format!("{number} ").as_bytes()));
    client.await_confirms(20);
    assert_eq!(numbers(&mut client, "b").len(), 20);
    let (_node, mut client) = restart(node, &place);
    let expected: Vec<u64> = (1..=20).collect();
    assert_eq!(numbers(&mut client, "a"), expected);
    assert_eq!(numbers(&mut client, "b"), []);
    assert_eq!(numbers(&mut client, "c"), expected);
}
