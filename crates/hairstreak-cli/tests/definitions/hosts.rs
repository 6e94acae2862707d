//! Virtual hosts that are deleted and created again while clients declare queues there, until the node is killed.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use hairstreak_testkit::until;
use hairstreak_wire::amqp::{Method, queue};
use serde_json::json;

use crate::api::{Api, Request};
use crate::client::{CHANNEL, Client};
use crate::model::queue_declaration;
use crate::node::{Node, Place};
use crate::soak::amount;

const HOST: &str = "brief";
const CLIENTS: usize = 3;

#[test]
fn queues_of_a_deleted_virtual_host_do_not_come_back_with_the_next_of_that_name() {
    let mut rng = Rng::with_seed(0);
    let place = Place::new("hosts");
    let mut node = place.start();
    let life = AtomicUsize::new(0);
    for round in 0..amount(8, 100) {
        let is_there = live_and_die(node, &life, &mut rng);
        node = place.start();
        let api = Api::new(&node.http);
        let hosts = api.get("vhosts");
        let found = hosts.as_array().unwrap().iter().any(|host| host["name"] == HOST);
        assert!(is_there.is_none_or(|is_there| is_there == found), "round {round}: {is_there:?}, {hosts}");
        if !found {
            continue;
        }
        let now = life.load(Relaxed);
        for queue in api.get(&format!("queues/{HOST}")).as_array().unwrap() {
            let name = queue["name"].as_str().unwrap();
            // A client names the life that it finds once it has connected. The number grows just before the host is deleted.
            let of: usize = name.split('.').next().unwrap().parse().unwrap();
            assert!(of + 1 >= now, "round {round}: {name} in life {now}");
        }
    }
}

/// Makes and deletes the host until the node is killed. Returns whether the host is there, if the last request was answered.
fn live_and_die(node: Node, life: &AtomicUsize, rng: &mut Rng) -> Option<bool> {
    let (http, amqp) = (node.http.clone(), node.amqp.clone());
    let wanted = rng.usize(1..30);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (amqp, done) = (&amqp, &done);
                scope.spawn(move || {
                    while done.load(Relaxed) != usize::MAX {
                        declare(amqp, life, client);
                    }
                })
            })
            .collect();
        let operator = scope.spawn(|| {
            let api = Api::new(&http);
            loop {
                let put = Request::Put(format!("vhosts/{HOST}"), json!({}));
                let Ok((status, text)) = api.send(&put) else { return None };
                assert!(status == 201 || status == 204, "{status} {text}");
                thread::park_timeout(Duration::from_millis(2));
                if done.fetch_add(1, Relaxed) == wanted {
                    return Some(true);
                }
                // From here on clients of the next life may come, and those of this one may still be there.
                life.fetch_add(1, Relaxed);
                let Ok((status, text)) = api.send(&Request::Delete(format!("vhosts/{HOST}"))) else {
                    return None;
                };
                assert_eq!(status, 204, "{text}");
                if done.fetch_add(1, Relaxed) == wanted {
                    return Some(false);
                }
            }
        });
        let dies_early = wanted.is_multiple_of(2);
        until("enough changes, or the end of the operator", || {
            operator.is_finished() || dies_early && done.load(Relaxed) > wanted / 2
        });
        node.kill();
        let is_there = operator.join().unwrap();
        done.store(usize::MAX, Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
        is_there
    })
}

/// Declares queues in the host until the connection is over.
fn declare(amqp: &str, life: &AtomicUsize, number: usize) {
    let Ok(mut client) = Client::log_in(amqp, HOST.as_bytes(), b"guest") else { return };
    let life = life.load(Relaxed);
    for burst in 0.. {
        let mut out = Vec::new();
        for queue in 0..20 {
            let name = format!("{life}.{number}.{burst}.{queue}");
            let declare = queue::Declare { no_wait: queue < 19, ..queue_declaration(&name, false) };
            Method::QueueDeclare(declare).encode(CHANNEL, &mut out);
        }
        let answer = client.send(&out).and_then(|()| client.answer());
        match answer {
            Ok(answer) if answer.name == "queue.declare-ok" => {}
            _ => return,
        }
    }
}
