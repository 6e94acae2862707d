//! A process whose component has names in a directory forks: the child is refused what is its parent's, at once and
//! whatever lock the fork has hit, and builds a component of its own. A binary of its own: what a child inherits is the
//! whole process.

#[path = "../../hairstreak-socket/tests/workbench/child.rs"]
mod child;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use child::in_child;
use hairstreak::service::{Client, ClientOptions, RequestError};
use hairstreak::{AskError, BindError, Component, Exchange, OpenError, Queue, Scope};
use hairstreak_node::{NodeConfig, Server};
use hairstreak_testkit::Task;

const LONG: Duration = Duration::from_secs(60);

fn directory() -> (Server, String) {
    let bind = vec!["tcp://127.0.0.1:*".to_owned()];
    let server = Server::start(NodeConfig { directory_bind: bind, ..NodeConfig::default() }).unwrap();
    let address = server.endpoints()[0].to_string();
    (server, address)
}

fn component(directory: &str) -> Component {
    Component::builder().directory(directory).patience(LONG).build().unwrap()
}

/// Checks the operations that a child's use of its parent's component refuses, and those that it allows.
fn check_refused(parents: &Component, exchange: &Exchange, queue: &Queue) {
    assert!(!exchange.is_registered() && !queue.is_registered(), "they are the parent's");
    let error = parents.exchange("another").scope(Scope::Global).open().unwrap_err();
    assert!(matches!(error, OpenError::Directory { error: AskError::Forked { .. }, .. }), "{error}");
    let text = "belongs to the process that this one was forked from";
    assert!(error.to_string().ends_with(text), "{error}");
    let _local = parents.queue("mine").open().unwrap();
    let error = parents.bind("elsewhere", "mine").unwrap_err();
    assert!(matches!(error, BindError::Directory { error: AskError::Forked { .. }, .. }), "{error}");
    assert!(error.to_string().ends_with(text), "{error}");
}

fn check_works(exchange: &Exchange, queue: &Queue) {
    exchange.send(b"m").unwrap();
    assert_eq!(queue.recv_timeout(LONG).unwrap().body(), b"m");
}

#[test]
fn a_child_is_refused_its_parents_node_whatever_lock_the_fork_has_hit() {
    let (_server, directory) = directory();
    let parents = component(&directory);
    let exchange = parents.exchange("E").scope(Scope::Global).open().unwrap();
    let queue = parents.queue("Q").scope(Scope::Global).open().unwrap();
    parents.bind("E", "Q").unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // One of these is likely to have the lock of what is held and asked at any moment.
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    assert!(exchange.is_registered());
                }
            });
        }
        for _ in 0..50 {
            let well = in_child(|| check_refused(&parents, &exchange, &queue));
            over.store(!well, Ordering::Relaxed);
            assert!(well);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(exchange.is_registered() && queue.is_registered(), "the parent has its names");
    check_works(&exchange, &queue);
}

#[test]
fn a_child_has_a_node_of_its_own_and_its_end_takes_no_name_of_its_parents() {
    let (_server, directory) = directory();
    let parents = component(&directory);
    let queue = parents.queue("Q").scope(Scope::Global).open().unwrap();
    let mut handles = Some((parents, queue));
    let well = in_child(|| {
        // The parent's are dropped here, and stay its own.
        drop(handles.take());
        let own = component(&directory);
        let exchange = own.exchange("E").scope(Scope::Global).open().unwrap();
        assert!(exchange.is_registered());
        own.bind("E", "Q").unwrap();
        exchange.send(b"from the child").unwrap();
    });
    assert!(well);
    let (parents, queue) = handles.expect("the parent's are its own");
    assert_eq!(queue.recv_timeout(LONG).unwrap().body(), b"from the child");
    assert!(queue.is_registered());
    let exchange = parents.exchange("local").open().unwrap();
    parents.bind("local", "Q").unwrap();
    check_works(&exchange, &queue);
}

#[test]
fn a_child_is_refused_its_parents_client_whoever_waits_for_it_there() {
    let services_bind = vec!["tcp://127.0.0.1:*".to_owned()];
    let server = Server::start(NodeConfig { services_bind, ..NodeConfig::default() });
    let server = server.unwrap();
    let at = server.service_endpoints()[0].to_string();
    let options = ClientOptions { timeout: None, ..ClientOptions::default() };
    // One that has no broker yet, and one whose broker has no worker, each with a thread that waits or none.
    for place in ["tcp://127.0.0.1:9", &at] {
        for waits in [false, true] {
            let client = Client::with_options(&[place], options.clone()).unwrap();
            if place == at {
                assert_eq!(client.uses_hsn1(LONG), Some(true));
            }
            let number = client.send("nobody", "x").unwrap();
            thread::scope(|scope| {
                let (tell, told) = mpsc::channel();
                let client = &client;
                let wait = move || {
                    tell.send(Task::current()).unwrap();
                    client.recv()
                };
                let waiting = waits.then(|| scope.spawn(wait));
                if waits {
                    told.recv_timeout(LONG).unwrap().until_asleep();
                }
                let is_well = in_child(|| {
                    assert_eq!((client.recv(), client.try_recv()), (None, None));
                    assert_eq!(client.call("nobody", "x"), Err(RequestError::Forked));
                    assert_eq!(client.send("nobody", "x"), Err(RequestError::Forked));
                    assert_eq!(client.uses_hsn1(LONG), None);
                    client.cancel(number);
                });
                client.cancel(number);
                if let Some(waiting) = waiting {
                    assert_eq!(waiting.join().unwrap(), None);
                }
                assert!(is_well, "{place}, waits: {waits}");
            });
        }
    }
    server.stop();
}
