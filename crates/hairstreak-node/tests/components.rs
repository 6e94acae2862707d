//! Nodes that find each other through a directory, over real sockets.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::{BindError, Component, OpenError, Queue, Scope, Style};
use hairstreak_node::{NodeConfig, Server};
use hairstreak_socket::{Context, Dealer, Pull};
use hairstreak_testkit::until_eq;

const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

fn serve(endpoint: &str) -> Server {
    Server::start(NodeConfig { directory_bind: vec![endpoint.into()], ..NodeConfig::default() }).unwrap()
}

/// A directory and what to give to `Component::builder().directory()`.
fn directory() -> (Server, String) {
    let server = serve("tcp://127.0.0.1:*");
    let address = server.endpoints()[0].to_string();
    (server, address)
}

fn component(directory: &str) -> Component {
    Component::builder().directory(directory).patience(PATIENCE).build().unwrap()
}

/// As [`component`], as if in another process: by another spelling of the address it has other names.
fn far_component(directory: &str) -> Component {
    component(&directory.replace("127.0.0.1", "localhost"))
}

fn hasty(directory: &str) -> Component {
    Component::builder().directory(directory).patience(SHORT).build().unwrap()
}

fn text(queue: &Queue) -> String {
    String::from_utf8(queue.recv_timeout(PATIENCE).unwrap().body().to_vec()).unwrap()
}

#[test]
fn a_local_queue_binds_to_a_global_exchange() {
    let (_server, directory) = directory();
    let (one, other) = (component(&directory), far_component(&directory));
    let exchange = one.exchange("E").scope(Scope::Global).open().unwrap();
    let queue = other.queue("Q").open().unwrap();
    other.bind("E", "Q").unwrap();
    exchange.send(b"m").unwrap();
    assert_eq!(text(&queue), "m");
}

#[test]
fn a_local_exchange_binds_to_a_global_queue() {
    let (_server, directory) = directory();
    let (one, other) = (component(&directory), far_component(&directory));
    let queue = one.queue("Q").scope(Scope::Global).open().unwrap();
    let exchange = other.exchange("E").open().unwrap();
    other.bind("E", "Q").unwrap();
    exchange.send(b"m").unwrap();
    assert_eq!(text(&queue), "m");
}

#[test]
fn two_global_names_of_one_process_are_joined_without_a_connection() {
    let (_server, directory) = directory();
    let (one, other) = (component(&directory), component(&directory));
    let exchange = one.exchange("E").scope(Scope::Global).open().unwrap();
    let queue = other.queue("Q").scope(Scope::Global).open().unwrap();
    one.bind("E", "Q").unwrap();
    exchange.send(b"m").unwrap();
    assert_eq!(text(&queue), "m");
}

#[test]
fn the_published_endpoint_is_no_wildcard() {
    let (_server, directory) = directory();
    let one = component(&directory);
    let open = |name: &str| one.exchange(name).scope(Scope::Global);
    let wild = open("wild").interface("*").open().unwrap();
    let usual = open("usual").open().unwrap();
    let _bound = open("bound").interface("lo:*").open().unwrap();
    let _told = open("told").advertise("gate.example").open().unwrap();
    let port = wild.endpoint().unwrap().to_string().strip_prefix("tcp://*:").unwrap().to_owned();
    let found = |name| lookup(&directory, name)[3].clone();
    assert_eq!(found("wild"), format!("tcp://127.0.0.1:{port}"));
    // Without an interface, others come by the way that leads to the directory, and by no other.
    assert!(found("usual").starts_with("tcp://127.0.0.1:"));
    assert_eq!(usual.endpoint().unwrap().to_string(), found("usual"));
    assert!(found("bound").starts_with("tcp://127.0.0.1:"));
    assert!(found("told").starts_with("tcp://gate.example:"));
}

/// The frames of the reply to a LOOKUP, by a client that is none of ours.
fn lookup(directory: &str, name: &str) -> Vec<String> {
    let dealer = Dealer::new(&Context::new()).unwrap();
    dealer.connect(directory).unwrap();
    let request: [&[u8]; 5] = [b"HSD1", b"", b"LOOKUP", name.as_bytes(), &[0; 4]];
    dealer.send_timeout(&request, PATIENCE).unwrap();
    let reply = dealer.recv_timeout(PATIENCE).unwrap();
    reply.frames().skip(1).map(|frame| String::from_utf8(frame.to_vec()).unwrap()).collect()
}

#[test]
fn attributes_say_what_a_name_is() {
    let (_server, directory) = directory();
    let one = component(&directory);
    let open = one.exchange("E").scope(Scope::Global).style(Style::DataDistribution);
    let _exchange = open.open().unwrap();
    let _queue = one.queue("Q").scope(Scope::Global).open().unwrap();
    assert_eq!(lookup(&directory, "E")[4..], ["kind", "exchange", "style", "data_distribution"]);
    assert_eq!(lookup(&directory, "Q")[4..], ["kind", "queue"]);
}

#[test]
fn any_zeromq_socket_can_take_the_place_of_a_queue() {
    let (_server, directory) = directory();
    let one = component(&directory);
    let exchange = one.exchange("E").scope(Scope::Global).open().unwrap();
    let pull = Pull::new(&Context::new()).unwrap();
    pull.connect(&lookup(&directory, "E")[3]).unwrap();
    exchange.send(b"m").unwrap();
    assert_eq!(pull.recv_timeout(PATIENCE).unwrap().body(), b"m");
}

#[test]
fn binding_waits_for_a_name_to_appear() {
    let (_server, directory) = directory();
    let late = far_component(&directory);
    let (bound, is_bound) = mpsc::channel();
    let one = component(&directory);
    let waiter = thread::spawn(move || {
        let queue = one.queue("Q").open().unwrap();
        one.bind("E", "Q").unwrap();
        bound.send(()).unwrap();
        text(&queue)
    });
    assert!(is_bound.recv_timeout(SHORT).is_err());
    let exchange = late.exchange("E").scope(Scope::Global).open().unwrap();
    exchange.send(b"m").unwrap();
    assert_eq!(waiter.join().unwrap(), "m");
}

#[test]
fn a_name_that_does_not_appear_is_named() {
    let (_server, directory) = directory();
    let one = hasty(&directory);
    let _queue = one.queue("Q").open().unwrap();
    let error = one.bind("nothing", "Q").unwrap_err();
    let searched = format!("the directory at {directory}");
    assert_eq!(error.to_string(), format!("there is no exchange nothing: waited 0.1 s for it in {searched}"));
}

#[test]
fn a_duplicate_is_told_where_the_holder_is() {
    let (_server, directory) = directory();
    let one = component(&directory);
    let _holder = one.queue("Q").scope(Scope::Global).interface("127.0.0.1").open().unwrap();
    let error = far_component(&directory).queue("Q").scope(Scope::Global).open().unwrap_err();
    let OpenError::Duplicate { endpoint, .. } = &error else { panic!("{error}") };
    assert!(endpoint.starts_with("tcp://127.0.0.1:"), "{endpoint}");
    let error = component(&directory).exchange("Q").scope(Scope::Global).open().unwrap_err();
    assert!(matches!(error, OpenError::Taken { .. }), "{error}");
}

#[test]
fn a_name_that_was_closed_can_be_opened_elsewhere() {
    let (_server, directory) = directory();
    let one = component(&directory);
    drop(one.queue("Q").scope(Scope::Global).open().unwrap());
    until_eq("the answer", "NOT_FOUND".to_owned(), || lookup(&directory, "Q").swap_remove(1));
    far_component(&directory).queue("Q").scope(Scope::Global).open().unwrap();
}

#[test]
fn a_queue_is_no_exchange_wherever_it_is() {
    let (_server, directory) = directory();
    let (one, other) = (component(&directory), far_component(&directory));
    let _global = one.queue("far-Q").scope(Scope::Global).open().unwrap();
    let _queue = other.queue("Q").open().unwrap();
    let error = other.bind("far-Q", "Q").unwrap_err();
    assert_eq!(error.to_string(), "far-Q is no exchange but queue");
}

#[test]
fn two_names_of_other_processes_cannot_be_bound() {
    let (_server, directory) = directory();
    let one = component(&directory);
    let _exchange = one.exchange("E").scope(Scope::Global).open().unwrap();
    let _queue = one.queue("Q").scope(Scope::Global).open().unwrap();
    let error = far_component(&directory).bind("E", "Q").unwrap_err();
    assert!(matches!(error, BindError::BothElsewhere { .. }), "{error}");
}

#[test]
fn without_an_answer_from_the_directory_opening_says_so() {
    let one = hasty("127.0.0.1:1");
    let error = one.queue("Q").scope(Scope::Global).open().unwrap_err();
    assert_eq!(error.to_string(), "Q: no answer from the directory at tcp://127.0.0.1:1 in 0.1 s");
    let _queue = one.queue("Q").open().unwrap();
    let error = one.bind("E", "Q").unwrap_err();
    assert_eq!(error.to_string(), "E: no answer from the directory at tcp://127.0.0.1:1 in 0.1 s");
}

#[test]
fn opening_waits_for_the_directory_to_start() {
    let endpoint = {
        let (server, endpoint) = directory();
        server.stop();
        endpoint
    };
    let one = component(&endpoint);
    let opener = thread::spawn(move || one.queue("Q").scope(Scope::Global).open());
    let _server = serve(&endpoint);
    opener.join().unwrap().unwrap();
}

#[test]
fn a_directory_that_restarts_amid_traffic_loses_nothing_and_has_every_name_again() {
    let (server, directory) = directory();
    let (one, other) = (component(&directory), far_component(&directory));
    let exchange = one.exchange("E").scope(Scope::Global).open().unwrap();
    let queue = other.queue("Q").open().unwrap();
    other.bind("E", "Q").unwrap();
    let count = 20_000u32;
    let sender = thread::spawn({
        let exchange = exchange.clone();
        move || (0..count).for_each(|i| exchange.send(&i.to_be_bytes()).unwrap())
    });
    let receive = |count: u32| -> Vec<u32> {
        let next = || queue.recv_timeout(PATIENCE).unwrap().body().try_into().unwrap();
        (0..count).map(|_| u32::from_be_bytes(next())).collect()
    };
    let mut got = receive(count / 4);
    server.stop();
    got.extend(receive(count / 4));
    let _server = serve(&directory);
    got.extend(receive(count / 2));
    sender.join().unwrap();
    assert_eq!(got, (0..count).collect::<Vec<_>>());

    let late = far_component(&directory);
    let late_queue = late.queue("late-Q").open().unwrap();
    late.bind("E", "late-Q").unwrap();
    assert!(exchange.wait_for_queues(2, PATIENCE));
    exchange.send_all(["a", "b"]).unwrap();
    assert_eq!([text(&late_queue).len(), text(&queue).len()], [1, 1]);
}

#[test]
fn a_name_is_followed_to_where_its_holder_comes_back() {
    let (_server, directory) = directory();
    let other = far_component(&directory);
    let exchange = other.exchange("E").open().unwrap();
    let first = component(&directory);
    let queue = first.queue("Q").scope(Scope::Global).open().unwrap();
    other.bind("E", "Q").unwrap();
    exchange.send(b"to the first").unwrap();
    assert_eq!(text(&queue), "to the first");
    drop((queue, first));
    // What is sent before the loss is noticed is lost with the connection.
    until_eq("queues of the exchange", 0, || exchange.stats().queue_count);
    let second = component(&directory);
    let queue = second.queue("Q").scope(Scope::Global).open().unwrap();
    exchange.send(b"to the second").unwrap();
    assert_eq!(text(&queue), "to the second");
}
