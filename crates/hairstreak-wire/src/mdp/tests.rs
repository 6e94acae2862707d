//! Tests of commands as in the tables of RFC 7 and RFC 18, byte by byte, and of invalid messages.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::hsn1::{ClientId, RequestId};

const BODY: &[&[u8]] = &[b"body", b"", b"more"];

fn message<'a>(head: &[&'a [u8]], body: &[&'a [u8]]) -> Vec<&'a [u8]> {
    [head, body].concat()
}

#[test]
fn a_broker_reads_what_the_tables_say() {
    use FromWorker::{Disconnect, Heartbeat, Ready};
    use Version::{V01, V02};
    let client = |version, body_index| FromPeer::Client(FromClient { version, service: b"echo", body_index });
    let reply = |is_final, body_index| FromWorker::Reply { is_final, address: b"me", body_index };
    let cases: &[(&[&[u8]], FromPeer<'_>)] = &[
        (&[b"", b"MDPC01", b"echo", b"body"], client(V01, 3)),
        (&[b"MDPC02", b"\x01", b"echo", b"body"], client(V02, 3)),
        (&[b"", b"MDPW01", b"\x01", b"echo"], FromPeer::Worker(V01, Ready { service: b"echo" })),
        (&[b"", b"MDPW01", b"\x03", b"me", b"", b"body"], FromPeer::Worker(V01, reply(true, 5))),
        (&[b"", b"MDPW01", b"\x04"], FromPeer::Worker(V01, Heartbeat)),
        (&[b"", b"MDPW01", b"\x05"], FromPeer::Worker(V01, Disconnect)),
        (&[b"MDPW02", b"\x01", b"echo"], FromPeer::Worker(V02, Ready { service: b"echo" })),
        (&[b"MDPW02", b"\x03", b"me", b"", b"body"], FromPeer::Worker(V02, reply(false, 4))),
        (&[b"MDPW02", b"\x04", b"me", b"", b"body"], FromPeer::Worker(V02, reply(true, 4))),
        (&[b"MDPW02", b"\x05"], FromPeer::Worker(V02, Heartbeat)),
        (&[b"MDPW02", b"\x06"], FromPeer::Worker(V02, Disconnect)),
    ];
    for (frames, expected) in cases {
        assert_eq!(parse(frames), Ok(*expected), "{frames:?}");
        for count in 0..frames.len() {
            assert!(parse(&frames[..count]).is_err(), "{frames:?} cut to {count}");
        }
    }
}

#[test]
fn what_is_none_of_the_tables_is_refused_by_name() {
    let cases: &[(&[&[u8]], &str)] = &[
        (&[], "there is no header"),
        (&[b""], "there is no header"),
        (&[b"MDPC01", b"echo", b"body"], "the header is \"MDPC01\", not one of MDP 0.1 or 0.2"),
        (&[b"", b"MDPC02", b"\x01", b"echo", b""], "the header is \"MDPC02\", not one of MDP 0.1 or 0.2"),
        (&[b"MDPC02", b"\x02", b"echo", b""], "\"\\x02\" is no command here"),
        (&[b"MDPC02", b"", b"echo", b""], "\"\" is no command here"),
        (&[b"", b"MDPC01", b"", b"body"], "a service's name of 0 bytes: it must have 1 to 255"),
        (&[b"", b"MDPC01", b"echo"], "there is no body"),
        (&[b"", b"MDPW01", b"\x02", b"me", b"", b"body"], "\"\\x02\" is no command here"),
        (&[b"", b"MDPW01", b"\x06"], "\"\\x06\" is no command here"),
        (&[b"MDPW02", b"\x07"], "\"\\x07\" is no command here"),
        (&[b"MDPW02", b"\x00"], "\"\\x00\" is no command here"),
        (
            &[b"", b"MDPW01", b"\x03", b"me", b"x", b"body"],
            "1 bytes stand where an empty frame belongs behind the client's address",
        ),
        (
            &[b"", b"MDPW01", b"\x01", b"echo", b"echo"],
            "1 frames stand behind a command that ends before them",
        ),
        (&[b"MDPW02", b"\x05", b"", b""], "2 frames stand behind a command that ends before them"),
    ];
    for (frames, text) in cases {
        assert_eq!(parse(frames).map_err(|error| error.to_string()), Err((*text).to_owned()), "{frames:?}");
    }
}

#[test]
fn what_one_side_writes_the_other_reads() {
    let address = Address::from(RequestId { client: ClientId([0xa7; 16]), number: 1 << 40 });
    for version in [Version::V01, Version::V02] {
        let head = client_request(version, b"echo");
        let frames = message(head.frames(), BODY);
        let Ok(FromPeer::Client(read)) = parse(&frames) else { panic!("{frames:?}") };
        assert_eq!((read.version, read.service, &frames[read.body_index..]), (version, &b"echo"[..], BODY));

        let head = client_reply(version, b"echo", true);
        let frames = message(head.frames(), BODY);
        let read = parse_reply(&frames).unwrap();
        assert_eq!((read.version, read.service, read.is_final), (version, &b"echo"[..], true));
        assert_eq!(&frames[read.body_index..], BODY);

        let head = worker_request(version, &address);
        let frames = message(head.frames(), BODY);
        let Ok(ToWorker::Request { address: read, body_index }) = parse_to_worker(&frames) else { panic!() };
        assert_eq!((read, &frames[body_index..]), (address.as_bytes(), BODY));

        let head = worker_reply(version, address.as_bytes(), true);
        let frames = message(head.frames(), BODY);
        let Ok(FromPeer::Worker(_, FromWorker::Reply { is_final, address: read, body_index })) =
            parse(&frames)
        else {
            panic!()
        };
        assert_eq!((is_final, read, &frames[body_index..]), (true, address.as_bytes(), BODY));

        let ready = worker_ready(version, b"echo");
        let expected = FromPeer::Worker(version, FromWorker::Ready { service: b"echo" });
        assert_eq!(parse(ready.frames()), Ok(expected));
        let (heartbeat, disconnect) = (WorkerCommand::Heartbeat, WorkerCommand::Disconnect);
        let (heartbeat, disconnect) =
            (worker_command(version, heartbeat), worker_command(version, disconnect));
        assert_eq!(parse(heartbeat.frames()), Ok(FromPeer::Worker(version, FromWorker::Heartbeat)));
        assert_eq!(parse(disconnect.frames()), Ok(FromPeer::Worker(version, FromWorker::Disconnect)));
        assert_eq!(parse_to_worker(heartbeat.frames()), Ok(ToWorker::Heartbeat));
        assert_eq!(parse_to_worker(disconnect.frames()), Ok(ToWorker::Disconnect));
    }
    let head = client_reply(Version::V02, b"echo", false);
    assert!(!parse_reply(&message(head.frames(), BODY)).unwrap().is_final);
}

#[test]
fn an_address_is_printable_and_stands_for_its_request_alone() {
    let request = RequestId { client: ClientId(std::array::from_fn(|index| index as u8)), number: 0x1234 };
    let address = Address::from(request);
    assert_eq!(address.as_bytes(), b"000102030405060708090a0b0c0d0e0f0000000000001234");
    assert_eq!(Address::parse(address.as_bytes()), Some(request));
    for bad in [&b""[..], &address.as_bytes()[1..], &[b'g'; ADDRESS_SIZE], &[b'A'; ADDRESS_SIZE]] {
        assert_eq!(Address::parse(bad), None);
    }
}

#[test]
fn brokers_keep_some_names_for_themselves() {
    for (name, is_theirs) in
        [("mmi.service", true), ("mmi.", true), ("hairstreak.services", true), ("mmi", false)]
    {
        assert_eq!(is_management(name.as_bytes()), is_theirs, "{name}");
    }
}

proptest! {
    #[test]
    fn nothing_that_comes_panics(frames in vec(vec(any::<u8>(), 0..50), 0..7), known in 0..4_usize) {
        let heads: [&[&[u8]]; 4] = [&[b"", b"MDPC01"], &[b"", b"MDPW01"], &[b"MDPC02"], &[b"MDPW02"]];
        let head = heads[known].iter().map(|frame| frame.to_vec());
        let with_head: Vec<Vec<u8>> = head.chain(frames.iter().cloned()).collect();
        for frames in [frames, with_head] {
            let _ = (parse(&frames), parse_reply(&frames), parse_to_worker(&frames));
        }
    }
}
