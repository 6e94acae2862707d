//! Peers that break the rules are told so and lose their connection; what they had goes to another.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hairstreak_socket::settlement::{Settlement, split_group};
use hairstreak_socket::{Context, Message, Options, Pull, Push};
use hairstreak_testkit::until;
use hairstreak_wire::settlement::command::{
    encode_credit, encode_done, encode_end, encode_settle, encode_tasks,
};
use hairstreak_wire::settlement::{Content, SettlementTerms, TaskId, TaskRun};
use hairstreak_wire::zmtp::{Greeting, command, metadata};

use crate::endpoints::endpoint;
use crate::{LONG, by_hand, take, window};

/// A peer that writes by hand, behind its handshake.
pub struct Raw(TcpStream);

impl Raw {
    /// Connects as a socket of this type that settles, with credit for 100 messages.
    pub fn connect(place: &str, socket_type: &str) -> Raw {
        let (_, terms) = SettlementTerms { credit: 100, ..Default::default() }.to_property();
        Raw::connect_with(place, socket_type, Some(&terms))
    }

    /// Connects with this as the property by which it says that it settles, or none.
    fn connect_with(place: &str, socket_type: &str, terms: Option<&[u8]>) -> Raw {
        let mut stream = TcpStream::connect(place.strip_prefix("tcp://").unwrap()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut bytes = Greeting::encode("NULL", false).to_vec();
        let mut properties = Vec::new();
        metadata::encode(&mut properties, "Socket-Type", socket_type.as_bytes());
        if let Some(terms) = terms {
            metadata::encode(&mut properties, "X-Hairstreak-Settlement", terms);
        }
        command::encode_ready(&mut bytes, &properties);
        stream.write_all(&bytes).unwrap();
        Raw(stream)
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// Waits until the peer has said this.
    pub fn read_to(&mut self, wanted: &[u8]) {
        let mut bytes = vec![0; wanted.len()];
        self.0.read_exact(&mut bytes).unwrap();
        while bytes != wanted {
            bytes.rotate_left(1);
            self.0.read_exact(&mut bytes[wanted.len() - 1..]).unwrap();
        }
    }

    /// What the peer has to say until it closes.
    fn read_to_end(mut self) -> String {
        let mut bytes = Vec::new();
        // A reset is an end too.
        let _ = self.0.read_to_end(&mut bytes);
        bytes.escape_ascii().to_string()
    }
}

pub fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    bytes
}

#[test]
fn a_receiver_that_breaks_the_rules_is_told_and_what_it_had_goes_to_another() {
    let settle = |through: u64, entries: &[u8]| encoded(|out| encode_settle(out, through, entries));
    let entry = |outcome: u8, first: u64, last: u64| {
        [&[outcome][..], &first.to_be_bytes(), &last.to_be_bytes()].concat()
    };
    let cases = [
        (settle(6, &[]), "X-SETTLE of message 6, of 5 that were sent"),
        ([settle(3, &[]), settle(2, &[])].concat(), "second X-SETTLE of message 2"),
        (settle(0, &[entry(0, 2, 3), entry(1, 3, 3)].concat()), "second X-SETTLE of message 3"),
        (settle(0, &entry(7, 1, 1)), "X-SETTLE with the unknown outcome 7"),
        (settle(0, &entry(0, 3, 2)), "X-SETTLE of the messages 3 to 2"),
        (encoded(|out| encode_credit(out, 99)), "X-CREDIT of 99 after 100"),
        (encoded(|out| encode_end(out, 0)), "X-END came from the end of the link that receives"),
        (encoded(|out| command::encode(out, b"X-DRAIN", &[b"x"])), "malformed X-DRAIN with 1 bytes of data"),
    ];
    for (bytes, reason) in cases {
        let (push, place) = plain_push();
        let mut raw = Raw::connect(&place, "PULL");
        (0..5).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        push.flush();
        raw.send(&bytes);
        assert!(raw.read_to_end().contains(reason), "{reason}");
        let good = plain_pull(by_hand(100));
        good.connect(&place).unwrap();
        // What was settled by a good command before stays settled.
        let left = if reason.ends_with("of message 2") { 2 } else { 5 };
        take(&good, left, 1).iter().for_each(|delivery| assert!(good.accept(delivery)));
        assert!(push.wait_settled(LONG), "{reason}");
        assert_eq!((push.stats().failed_connections, push.stats().drops.total()), (1, 0), "{reason}");
    }
}

#[test]
fn who_says_unclearly_whether_it_settles_or_has_to_and_does_not_is_told_and_hurts_no_other() {
    let (_, good) = SettlementTerms { credit: 100, ..Default::default() }.to_property();
    let longer = [&good[..], b"x"].concat();
    let malformed = |size: usize| format!("malformed X-Hairstreak-Settlement of {size} bytes");
    let cases = [
        (false, Some(&good[..0]), malformed(0)),
        (false, Some(&good[..9]), malformed(9)),
        (false, Some(&longer[..]), malformed(19)),
        (true, Some(&[0; 18][..]), malformed(18)),
        (true, None, "this socket is only for peers that settle".to_owned()),
    ];
    for (is_required, terms, reason) in cases {
        let settlement = |settlement| Settlement { is_required, ..settlement };
        let options = |wanted| Options { settlement: Some(settlement(wanted)), ..Options::default() };
        let push = Push::with_options(&Context::new(), options(window(100))).unwrap();
        let pull = Pull::with_options(&Context::new(), options(by_hand(100))).unwrap();
        let place = push.bind(&endpoint("tcp")).unwrap().to_string();
        pull.connect(&place).unwrap();
        assert!(push.wait_for_peers(1, LONG));
        let raw = Raw::connect_with(&place, "PULL", terms);
        assert!(raw.read_to_end().contains(&reason), "{reason}");
        assert_eq!(push.stats().failed_connections, 1, "{reason}");
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let mut raw = Raw::connect_with(&place, "PUSH", terms);
        raw.send(b"\0\x01x");
        assert!(raw.read_to_end().contains(&reason), "{reason}");
        (0..5).for_each(|number| push.send_timeout(&[number], LONG).unwrap());
        take(&pull, 5, 0).iter().for_each(|delivery| assert!(pull.accept(delivery)));
        assert!(push.wait_settled(LONG), "{reason}");
    }
}

#[test]
fn a_sender_that_breaks_the_rules_is_told_and_hurts_no_other() {
    let run = TaskRun { id: TaskId { epoch: 1, sequence: 0 }, deliveries: 0, content: Content::Message };
    let tasks = encoded(|out| encode_tasks(out, run));
    let message = b"\0\x01x";
    let end = |count| encoded(|out| encode_end(out, count));
    let cases = [
        (message.repeat(2), "before any X-TASKS"),
        ([&tasks[..], &message.repeat(30)].concat(), "with credit for 20"),
        ([&tasks[..], message, &end(2)].concat(), "X-END after 2 messages, of which 1 came"),
        (
            [&tasks[..], message, &end(u64::MAX)].concat(),
            "X-END after 18446744073709551615 messages, of which 1 came",
        ),
        ([&tasks[..], message, &end(1), &tasks].concat(), "X-TASKS behind X-END"),
        (encoded(|out| encode_credit(out, 1)), "X-CREDIT came from the end of the link that sends"),
        (encoded(|out| encode_settle(out, 0, &[])), "X-SETTLE came from the end of the link that sends"),
        (encoded(|out| encode_done(out, &[(run.id, 1)])), "X-DONE came from the end of the link that sends"),
        (encoded(|out| command::encode(out, b"X-TASKS", &[&[0; 18], &[3]])), "X-TASKS with the flags 3"),
        (
            encoded(|out| command::encode(out, b"X-TASKS", &[b"short"])),
            "malformed X-TASKS with 5 bytes of data",
        ),
    ];
    let pull = plain_pull(by_hand(20));
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let options = Options { settlement: Some(window(100)), ..Options::default() };
    let good = Push::with_options(&Context::new(), options).unwrap();
    good.connect(&place).unwrap();
    for (bytes, reason) in cases {
        let failed = pull.stats().failed_connections;
        let mut raw = Raw::connect(&place, "PUSH");
        // A command behind, so that the rules are looked at.
        raw.send(&[&bytes[..], &encoded(|out| command::encode_ping(out, 0, b""))].concat());
        until(reason, || {
            // What a bad sender sends before it is found out is taken as any other.
            let _ = pull.recv_delivery(Duration::from_millis(1));
            pull.stats().failed_connections > failed
        });
        assert!(raw.read_to_end().contains(reason), "{reason}");
        good.send_timeout("good", LONG).unwrap();
        good.flush();
        until("the good one is served", || {
            let delivery = pull.recv_delivery(LONG).unwrap();
            pull.accept(&delivery) && delivery.message.body() == b"good"
        });
    }
}

#[test]
fn a_message_that_is_not_empty_for_a_task_without_a_result_ends_the_link_behind_what_came_before() {
    let run = TaskRun { id: TaskId { epoch: 1, sequence: 0 }, deliveries: 0, content: Content::Nothing };
    let pull = plain_pull(by_hand(20));
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    let mut raw = Raw::connect(&place, "PUSH");
    raw.send(&[&encoded(|out| encode_tasks(out, run))[..], b"\0\0\0\x01x"].concat());
    let mut messages = Vec::new();
    until("the link is refused", || {
        let _ = pull.recv_batch(&mut messages, 100, Duration::from_millis(1));
        pull.stats().failed_connections > 0
    });
    assert_eq!(messages, [Message::new()]);
    assert!(raw.read_to_end().contains("message 2 of a task without a result has 1 bytes"));
}

#[test]
fn what_comes_as_a_group_and_is_none_ends_the_link_behind_what_came_before() {
    let run = TaskRun { id: TaskId { epoch: 1, sequence: 0 }, deliveries: 0, content: Content::Group };
    let group = b"\x01\x04\0\0\0\x01\0\x01x";
    let good = [&encoded(|out| encode_tasks(out, run))[..], group].concat();
    let bad: [(&[u8], &str); 4] = [
        (b"\0\0", "message 2 is no group: 0 bytes for 0 frames"),
        (b"\x01\x03bad\0\x01x", "message 2 is no group: 3 bytes for 1 frames"),
        (b"\0\x04\0\0\0\0", "message 2 is no group: 4 bytes for 0 frames"),
        (b"\x01\x04\0\0\0\x02\0\x01x", "message 2 is no group: 4 bytes for 1 frames"),
    ];
    for (bytes, reason) in bad {
        let pull = plain_pull(by_hand(20));
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let mut raw = Raw::connect(&place, "PUSH");
        raw.send(&[&good[..], bytes, group].concat());
        let mut messages = Vec::new();
        until(reason, || {
            let _ = pull.recv_batch(&mut messages, 100, Duration::from_millis(1));
            pull.stats().failed_connections > 0
        });
        assert_eq!(messages.iter().map(split_group).collect::<Vec<_>>(), [Some(vec![Message::from("x")])]);
        assert!(raw.read_to_end().contains(reason), "{reason}");
    }
}

fn plain_push() -> (Push, String) {
    let options = Options { settlement: Some(window(1000)), ..Options::default() };
    let push = Push::with_options(&Context::new(), options).unwrap();
    let place = push.bind(&endpoint("tcp")).unwrap().to_string();
    (push, place)
}

pub fn plain_pull(settlement: Settlement) -> Pull {
    Pull::with_options(&Context::new(), Options { settlement: Some(settlement), ..Options::default() })
        .unwrap()
}
