//! The directory over real sockets, as a client that knows only docs/directory.md sees it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use hairstreak_node::{Callbacks, Change, DirectoryOptions, NodeConfig, Server, StartError};
use hairstreak_socket::{Context, Dealer, RecvError};
use hairstreak_testkit::until;

const PATIENCE: Duration = Duration::from_secs(20);

fn start() -> Server {
    start_with(Callbacks::default())
}

fn start_with(callbacks: Callbacks) -> Server {
    let directory_bind = vec!["tcp://127.0.0.1:*".into()];
    Server::start_with(NodeConfig { directory_bind, ..NodeConfig::default() }, callbacks).unwrap()
}

fn endpoint(server: &Server) -> String {
    server.endpoints()[0].to_string()
}

fn client(server: &Server) -> Dealer {
    let dealer = Dealer::new(&Context::new()).unwrap();
    dealer.connect(&endpoint(server)).unwrap();
    dealer
}

/// Sends `HSD1`, a request id, and the rest.
fn send(dealer: &Dealer, id: &[u8], rest: &[&[u8]]) {
    let frames = [&[b"HSD1".as_slice(), id], rest].concat();
    dealer.send_timeout(frames.as_slice(), PATIENCE).unwrap();
}

/// The next reply behind `HSD1`: the request id, the verb, the fields.
fn receive(dealer: &Dealer) -> Vec<Vec<u8>> {
    let reply = dealer.recv_timeout(PATIENCE).unwrap();
    assert_eq!(reply.frame(0), Some(b"HSD1".as_slice()));
    reply.frames().skip(1).map(<[u8]>::to_vec).collect()
}

fn ask(dealer: &Dealer, rest: &[&[u8]]) -> Vec<Vec<u8>> {
    send(dealer, b"id", rest);
    let mut reply = receive(dealer);
    assert_eq!(reply.remove(0), b"id");
    reply
}

fn register(dealer: &Dealer, name: &str, owner: u8, lease_ms: u32) -> Vec<Vec<u8>> {
    let endpoint = format!("tcp://10.0.0.{owner}:7");
    let lease_ms = lease_ms.to_be_bytes();
    ask(dealer, &[b"REGISTER", name.as_bytes(), &[owner; 16], &lease_ms, endpoint.as_bytes(), b"k", b"v"])
}

/// Registers a name again and again until the directory takes the name.
fn until_registered(dealer: &Dealer, name: &str, owner: u8, lease_ms: u32) {
    until(&format!("{name} is registered"), || match register(dealer, name, owner, lease_ms) {
        reply if reply[0] == b"OK" => Ok(()),
        reply => Err(reply.iter().map(|frame| frame.escape_ascii().to_string()).collect::<Vec<_>>()),
    });
}

fn lookup(dealer: &Dealer, name: &str, wait_ms: u32) -> Vec<Vec<u8>> {
    ask(dealer, &[b"LOOKUP", name.as_bytes(), &wait_ms.to_be_bytes()])
}

#[test]
fn a_registered_name_is_found_by_another_client() {
    let server = start();
    assert_eq!(register(&client(&server), "a", 1, 5000), [b"OK".as_slice(), &5000u32.to_be_bytes()]);
    let found = lookup(&client(&server), "a", 0);
    assert_eq!(found, [b"FOUND".as_slice(), b"a", b"tcp://10.0.0.1:7", b"k", b"v"]);
}

#[test]
fn a_waiting_lookup_is_answered_when_the_name_appears_or_the_wait_is_over() {
    let server = start();
    let (waiting, registering) = (client(&server), client(&server));
    send(&waiting, b"never", &[b"LOOKUP", b"b", &100u32.to_be_bytes()]);
    assert_eq!(receive(&waiting), [b"never".as_slice(), b"NOT_FOUND", b"b"]);
    send(&waiting, b"soon", &[b"LOOKUP", b"a", &20_000u32.to_be_bytes()]);
    assert_eq!(ask(&waiting, &[b"PING"])[0], b"OK", "a wait holds nothing up");
    register(&registering, "a", 1, 5000);
    assert_eq!(receive(&waiting)[..3], [b"soon".as_slice(), b"FOUND", b"a"]);
}

#[test]
fn a_lease_ends_by_itself() {
    let (changed, changes) = mpsc::channel();
    let server = start_with(Callbacks {
        on_change: Box::new(move |change| changed.send(change.to_string()).unwrap()),
        ..Callbacks::default()
    });
    let client = client(&server);
    register(&client, "a", 1, 50);
    assert_eq!(changes.recv_timeout(PATIENCE).unwrap(), "registered a at tcp://10.0.0.1:7");
    assert_eq!(changes.recv_timeout(PATIENCE).unwrap(), "expired a");
    assert_eq!(lookup(&client, "a", 0)[0], b"NOT_FOUND");
}

#[test]
fn a_name_is_refused_while_its_holder_is_connected_and_given_when_it_is_gone() {
    let (changed, changes) = mpsc::channel();
    let server = start_with(Callbacks {
        on_change: Box::new(move |change| changed.send(change.clone()).unwrap()),
        ..Callbacks::default()
    });
    let (holder, other) = (client(&server), client(&server));
    register(&holder, "a", 1, 3_600_000);
    assert_eq!(register(&other, "a", 2, 5000), [b"DUPLICATE".as_slice(), b"a", b"tcp://10.0.0.1:7"]);
    holder.close();
    until_registered(&other, "a", 2, 5000);
    let last = changes.try_iter().last();
    assert!(matches!(last, Some(Change::Moved { .. })), "{last:?}");
}

#[test]
fn a_directory_that_ends_by_itself_says_so() {
    let (ended, end) = mpsc::channel();
    let server = start_with(Callbacks {
        on_change: Box::new(|change| panic!("{change}: this panic is part of the test")),
        on_end: Box::new(move || ended.send(()).unwrap()),
        ..Callbacks::default()
    });
    let client = client(&server);
    send(&client, b"id", &[b"REGISTER", b"a", &[1; 16], &5000u32.to_be_bytes(), b"tcp://10.0.0.1:7"]);
    end.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_malformed_request_is_answered_with_what_is_wrong() {
    let server = start();
    let client = client(&server);
    let reply = ask(&client, &[b"LOOKUP", b"", &[0; 4]]);
    assert_eq!(reply, [b"ERROR".as_slice(), b"malformed", b"LOOKUP: name is empty"]);
    client.send(b"what is this").unwrap();
    let reply = receive(&client);
    assert_eq!(reply[..3], [b"".as_slice(), b"ERROR", b"protocol"]);
    assert_eq!(ask(&client, &[b"PING"])[0], b"OK");
}

#[test]
fn limits_are_told_to_who_reaches_them() {
    let directory = DirectoryOptions { entries_max: 1, ..DirectoryOptions::default() };
    let directory_bind = vec!["tcp://127.0.0.1:*".into()];
    let server = Server::start(NodeConfig { directory_bind, directory, ..NodeConfig::default() }).unwrap();
    let client = client(&server);
    assert_eq!(register(&client, "a", 1, 5000)[0], b"OK");
    let reply = register(&client, "b", 1, 5000);
    assert_eq!(reply, [b"ERROR".as_slice(), b"limit", b"the directory is full with 1 names"]);
}

#[test]
fn names_that_clients_left_behind_make_room_for_others() {
    let directory = DirectoryOptions {
        entries_max: 4,
        entries_per_client_max: 2,
        entries_per_origin_max: 4,
        ..DirectoryOptions::default()
    };
    let directory_bind = vec!["tcp://127.0.0.1:*".into()];
    let server = Server::start(NodeConfig { directory_bind, directory, ..NodeConfig::default() }).unwrap();
    for owner in 1..=8 {
        let leaving = client(&server);
        for name in ["x", "y"] {
            until_registered(&leaving, &format!("{name}{owner}"), owner, 3_600_000);
        }
        leaving.close();
    }
    let good = client(&server);
    until_registered(&good, "good", 9, 5000);
    assert_eq!(lookup(&good, "good", 0)[0], b"FOUND");
}

#[test]
fn clients_are_counted_by_where_they_come_from() {
    let directory = DirectoryOptions { entries_per_origin_max: 1, ..DirectoryOptions::default() };
    let socket = std::env::temp_dir().join(format!("hairstreak-origins-{}", std::process::id()));
    let directory_bind = vec!["tcp://127.0.0.1:*".into(), format!("ipc://{}", socket.display())];
    let server = Server::start(NodeConfig { directory_bind, directory, ..NodeConfig::default() }).unwrap();
    let one = client(&server);
    let other = Dealer::new(&Context::new()).unwrap();
    other.connect(&server.endpoints()[1].to_string()).unwrap();
    assert_eq!(register(&one, "a", 1, 5000)[0], b"OK");
    let reply = register(&one, "b", 1, 5000);
    assert_eq!(reply[2], b"this address holds 1 names, the limit is 1");
    assert_eq!(register(&other, "b", 2, 5000)[0], b"OK");
}

#[test]
fn a_port_in_use_is_named() {
    let server = start();
    let taken = endpoint(&server);
    let directory_bind = vec![taken.clone()];
    let error = Server::start(NodeConfig { directory_bind, ..NodeConfig::default() }).unwrap_err();
    assert!(matches!(error, StartError::Bind(_)));
    assert_eq!(error.to_string(), format!("cannot bind {taken}: it is in use"));
}

#[test]
fn a_stopped_server_frees_its_port() {
    let server = start();
    let directory_bind = vec![endpoint(&server)];
    let client = client(&server);
    assert_eq!(ask(&client, &[b"PING"])[0], b"OK");
    server.stop();
    let again = Server::start(NodeConfig { directory_bind, ..NodeConfig::default() }).unwrap();
    // The client reconnects by itself. What it sends before it notices is lost.
    let answered = (0..100).any(|_| {
        send(&client, b"again", &[b"PING"]);
        client.recv_timeout(PATIENCE / 100).is_ok()
    });
    assert!(answered);
    again.stop();
}

/// Handshakes as a DEALER by hand, so that nothing ever reads behind its back.
fn raw_dealer(server: &Server) -> TcpStream {
    let address: SocketAddr = endpoint(server).strip_prefix("tcp://").unwrap().parse().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut greeting = [0; 64];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    stream.write_all(&greeting).unwrap();
    let ready = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER";
    stream.write_all(ready).unwrap();
    stream.read_exact(&mut greeting).unwrap();
    let mut header = [0; 2];
    stream.read_exact(&mut header).unwrap();
    stream.read_exact(&mut vec![0; header[1].into()]).unwrap();
    stream
}

#[test]
fn a_client_that_never_reads_holds_nobody_up() {
    let server = start();
    let good = client(&server);
    for i in 0..256u32 {
        register(&good, &format!("{i:0>200}"), 1, 600_000);
    }
    let mut stalled = raw_dealer(&server);
    stalled.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    // Each LIST asks for 60 KB; nobody fetches the answers, far more than any buffer holds.
    let list = b"\x01\x04HSD1\x01\x01x\x01\x04LIST\x01\x00\x00\x00";
    for _ in 0..2000 {
        if stalled.write_all(list).is_err() {
            break;
        }
        assert_eq!(ask(&good, &[b"PING"])[0], b"OK");
    }
    assert_eq!(lookup(&good, &format!("{:0>200}", 7), 0)[0], b"FOUND");
}

#[test]
fn garbage_and_half_a_handshake_hold_nobody_up() {
    let server = start();
    let address: SocketAddr = endpoint(&server).strip_prefix("tcp://").unwrap().parse().unwrap();
    let good = client(&server);
    let mut open = Vec::new();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 5000], &[0; 64], b"\xff"] {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server may have hung up before all was written.
        let _ = stream.write_all(garbage);
        open.push(stream);
        assert_eq!(ask(&good, &[b"PING"])[0], b"OK");
    }
    // A frame that announces 2^63 bytes, behind a good handshake.
    let mut huge = raw_dealer(&server);
    huge.write_all(b"\x02\x80\x00\x00\x00\x00\x00\x00\x00").unwrap();
    assert_eq!(huge.read(&mut [0; 1]).unwrap_or(0), 0, "the server hangs up");
    assert_eq!(ask(&good, &[b"PING"])[0], b"OK");
    assert_eq!(good.try_recv(), Err(RecvError::WouldBlock));
}

#[test]
fn an_empty_message_is_answered_with_what_is_wrong_and_costs_its_sender_nothing() {
    let server = start();
    let (client, other) = (client(&server), client(&server));
    let empty = || {
        client.send(b"").unwrap();
        let reply = client.recv_timeout(PATIENCE).unwrap();
        let frames: Vec<&[u8]> = reply.frames().collect();
        assert_eq!(frames[..5], [b"".as_slice(), b"HSD1", b"", b"ERROR", b"protocol"]);
    };
    empty();
    assert_eq!(register(&client, "a", 1, 3_600_000)[0], b"OK");
    send(&client, b"soon", &[b"LOOKUP", b"b", &20_000u32.to_be_bytes()]);
    empty();
    assert_eq!(register(&other, "a", 2, 5000)[0], b"DUPLICATE");
    assert_eq!(register(&other, "b", 2, 5000)[0], b"OK");
    assert_eq!(receive(&client)[..3], [b"soon".as_slice(), b"FOUND", b"b"]);
}
