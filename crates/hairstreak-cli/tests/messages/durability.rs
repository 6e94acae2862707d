//! The dial `x-durability`: the messages that survive a kill and a stop, and the order of confirms.

use hairstreak_amqp::Event;
use hairstreak_wire::amqp::{FieldTable, FieldValue, Properties};

use crate::client::{Client, PATIENCE};
use crate::node::Place;
use crate::process::folder;

const COUNT: u64 = 40;

fn argument(durability: &str) -> FieldTable {
    [("x-durability", FieldValue::from(durability))].into_iter().collect()
}

fn publish(client: &mut Client, queue: &str, number: u64) {
    let properties = Properties { delivery_mode: Some(2), ..Properties::default() };
    client.publish_with("", queue, &properties, format!("{number} ").as_bytes());
}

fn numbers(client: &mut Client, queue: &str) -> Vec<u64> {
    client.drain(queue).into_iter().map(|message| message.number).collect()
}

/// Publishes messages to each queue one by one, and waits for each confirm.
fn fill(client: &mut Client) {
    client.select_confirms().unwrap();
    let mut published = 0;
    for number in 1..=COUNT {
        for queue in ["memory", "written", "synced"] {
            publish(client, queue, number);
            published += 1;
            client.await_confirms(published);
        }
    }
}

#[test]
fn a_kill_and_a_stop_lose_the_messages_of_memory_and_no_others() {
    let place = Place::new("message-durability");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    for durability in ["memory", "written", "synced"] {
        client.declare(durability, &argument(durability)).unwrap();
    }
    fill(&mut client);
    node.kill();
    let all: Vec<u64> = (1..=COUNT).collect();
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    for (queue, expected) in [("memory", &[][..]), ("written", &all), ("synced", &all)] {
        // The queue has its argument.
        client.declare(queue, &argument(queue)).unwrap();
        assert_eq!(numbers(&mut client, queue), expected, "{queue}");
    }
    fill(&mut client);
    let end = node.stop();
    let lost = format!("count={COUNT} persistent_in_durable_queues={COUNT}");
    assert!(end.status == Some(0) && end.errors.contains(&lost), "{end:?}");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    for (queue, expected) in [("memory", &[][..]), ("written", &all), ("synced", &all)] {
        assert_eq!(numbers(&mut client, queue), expected, "{queue}");
    }
    let error = client.declare("written", &argument("synced")).unwrap_err().to_string();
    assert!(error.contains("inequivalent arg 'x-durability' for queue 'written' in vhost '/'"), "{error}");
}

#[test]
fn a_written_message_is_confirmed_before_the_sync_of_the_next_one() {
    let place = Place::at(folder("message-written"), "store_sync_delay_ms = 700\n");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    for durability in ["memory", "written", "synced"] {
        client.declare(durability, &argument(durability)).unwrap();
    }
    client.select_confirms().unwrap();
    // All come to the node at once. The third one waits for its sync, and the last two wait behind it.
    for queue in ["written", "memory", "synced", "written", "memory"] {
        publish(&mut client, queue, 1);
    }
    let mut told = Vec::new();
    while told.last() != Some(&5) {
        match client.event(PATIENCE).unwrap() {
            Some(Event::Ack { delivery_tag, .. }) => told.push(delivery_tag),
            other => panic!("{other:?}"),
        }
    }
    assert!(told.contains(&2) && !told.contains(&4), "{told:?}");
}
