//! DEALER and ROUTER: names.

use std::time::Duration;

use hairstreak_socket::{Dealer, Message, Options, Router, SendError};
use hairstreak_testkit::until;

use crate::LONG;
use crate::cell::{check, frames};
use crate::shapes::shapes;

/// A try among many.
const SHORT: Duration = Duration::from_millis(5);

fn named(name: &str) -> Options {
    Options { routing_id: Some(name.into()), reconnect_max_ms: 10, ..Options::default() }
}

#[test]
fn messages_of_every_shape_go_to_the_peer_named_and_come_with_its_name() {
    check(|cell| {
        let router: Router = cell.open(Options::default());
        let dealers = ["ann", "bob"].map(|name| cell.open(named(name)));
        let dealers: [&Dealer; 2] = [&dealers[0], &dealers[1]];
        dealers.iter().for_each(|dealer| cell.join(&router, dealer));
        for message in shapes() {
            for (dealer, name) in dealers.iter().zip(["ann", "bob"]) {
                cell.send(dealer, &message);
                let got = cell.recv(&router);
                assert_eq!(got.frame(0), Some(name.as_bytes()));
                assert!(got.frames().skip(1).eq(message.frames()), "{cell:?}: {got:?}");
                cell.send(&router, &got);
                assert_eq!(cell.recv(dealer), message, "{cell:?}");
            }
        }
    });
}

#[test]
fn dealers_exchange_messages_of_every_shape() {
    check(|cell| {
        let (a, b): (Dealer, Dealer) = cell.pair();
        for message in shapes() {
            cell.send(&a, &message);
            cell.send(&b, &message);
            assert_eq!((cell.recv(&a), cell.recv(&b)), (message.clone(), message));
        }
    });
}

/// Neither side flushes, so that most go the short way. Every form of the calls takes it alike.
#[test]
fn answers_in_a_burst_reach_the_peers_they_name_in_order() {
    const COUNT: usize = 300;
    check(|cell| {
        let router: Router = cell.open(Options::default());
        let dealers: [Dealer; 3] = ["ann", "bob", "eve"].map(|name| cell.open(named(name)));
        dealers.iter().for_each(|dealer| cell.join(&router, dealer));
        for number in 0..COUNT {
            dealers.iter().for_each(|dealer| dealer.send(&body_of(number)).unwrap());
        }
        dealers.iter().for_each(Dealer::flush);
        let mut message = Message::new();
        let mut held: Vec<Message> = Vec::new();
        for number in 0..3 * COUNT {
            router.recv_into(&mut message).unwrap();
            // One that is kept stays what it is, whatever is received into its place.
            held.push(message.clone());
            let answer: Vec<&[u8]> = message.frames().collect();
            match number % 3 {
                0 => router.send(&message).unwrap(),
                1 => router.send(&[answer[0], answer[1]]).unwrap(),
                _ => router.send(&answer[..]).unwrap(),
            }
            router.send(&[&b"nobody"[..], b"x"]).unwrap();
        }
        router.flush();
        for (dealer, name) in dealers.iter().zip(["ann", "bob", "eve"]) {
            let mut of_it = held.iter().filter(|message| message.frame(0) == Some(name.as_bytes()));
            for number in 0..COUNT {
                assert_eq!(cell.recv(dealer).body(), body_of(number), "{cell:?}");
                assert_eq!(of_it.next().map(Message::body), Some(&body_of(number)[..]), "{cell:?}");
            }
        }
        let stats = router.stats();
        assert_eq!((stats.sent, stats.drops.unroutable), (6 * COUNT as u64, 3 * COUNT as u64), "{cell:?}");
        assert!(router.peers().iter().all(|peer| peer.sent == COUNT as u64), "{cell:?}");
        assert!(router.peers().iter().all(|peer| peer.received == COUNT as u64), "{cell:?}");
    });
}

#[test]
fn a_batch_uses_the_lists_of_frames_of_the_last() {
    check(|cell| {
        let (router, dealer): (Router, Dealer) = cell.pair();
        let mut batch = Vec::new();
        let mut receive = || {
            cell.send(&dealer, "x");
            assert_eq!(router.recv_many(&mut batch, 1), Ok(1));
            batch[0].as_frames().as_ptr()
        };
        let first = receive();
        (0..3).for_each(|_| assert_eq!(receive(), first, "{cell:?}"));
    });
}

/// Each batch goes into the list of the last, of which some messages are kept.
#[test]
fn batches_are_received_into_the_same_list_with_their_peers_names() {
    const COUNT: usize = 300;
    check(|cell| {
        let router: Router = cell.open(Options::default());
        let dealers: [Dealer; 2] = ["ann", "bob"].map(|name| cell.open(named(name)));
        dealers.iter().for_each(|dealer| cell.join(&router, dealer));
        for number in 0..COUNT {
            for dealer in &dealers {
                match number % 5 {
                    0 => dealer.send(&[&b"two"[..], &body_of(number)]).unwrap(),
                    _ => dealer.send(&body_of(number)).unwrap(),
                }
            }
        }
        dealers.iter().for_each(Dealer::flush);
        let (mut batch, mut kept, mut max) = (vec![Message::new(); 7], Vec::new(), 1);
        while kept.len() < 2 * COUNT {
            let count = router.recv_many(&mut batch, max).unwrap();
            assert!((1..=max).contains(&count) && batch.len() == count, "{cell:?}");
            kept.extend(batch.iter().cloned());
            max = 1 + max * 7 % 40;
        }
        for name in ["ann", "bob"] {
            let of_it = kept.iter().filter(|message| message.frame(0) == Some(name.as_bytes()));
            for (number, message) in of_it.enumerate() {
                let frames: Vec<&[u8]> = message.frames().skip(1).collect();
                let body = body_of(number);
                let expected = if number % 5 == 0 { vec![&b"two"[..], &body] } else { vec![&body[..]] };
                assert_eq!(frames, expected, "{cell:?}, {name}, {number}");
            }
        }
    });
}

/// Of sizes that are held inside a message and of others.
fn body_of(number: usize) -> Vec<u8> {
    let size = [3, 62, 63, 64, 255, 256, 1000][number % 7];
    number.to_le_bytes().into_iter().cycle().take(size).collect()
}

#[test]
fn an_answer_arrives_though_whoever_gave_it_never_calls_again() {
    check(|cell| {
        let (router, dealer): (Router, Dealer) = cell.pair();
        for _ in 0..100 {
            dealer.send("a question").unwrap();
        }
        dealer.flush();
        for _ in 0..3 {
            router.send(&router.recv().unwrap()).unwrap();
        }
        // The other questions lie unread, and nobody is inside the router's engine.
        for _ in 0..3 {
            assert_eq!(dealer.recv_timeout(LONG).as_ref().map(Message::body), Ok(&b"a question"[..]));
        }
    });
}

#[test]
fn routers_talk_to_routers_by_name() {
    check(|cell| {
        let (a, b): (Router, Router) = (cell.server(named("a")), cell.client(named("b")));
        cell.join(&a, &b);
        cell.send(&a, &frames(["b", "hello"]));
        assert_eq!(cell.recv(&b), frames(["a", "hello"]));
    });
}

#[test]
fn a_message_for_nobody_is_dropped_and_counted_or_refused_when_mandatory() {
    check(|cell| {
        for router_mandatory in [false, true] {
            let router: Router = cell.open(Options { router_mandatory, ..Options::default() });
            for message in [frames(["nobody", "x"]), frames(["nobody"]), Message::new()] {
                let expected = if router_mandatory { Err(SendError::Unroutable) } else { Ok(()) };
                assert_eq!(cell.try_to_send(&router, &message), expected);
            }
            let (sent, dropped) = (router.stats().sent, router.stats().drops.unroutable);
            assert_eq!((sent, dropped), if router_mandatory { (0, 0) } else { (3, 3) });
        }
    });
}

#[test]
fn a_second_peer_of_a_name_is_refused_and_counted() {
    check(|cell| {
        let router: Router = cell.open(Options::default());
        let (first, second): (Dealer, Dealer) = (cell.open(named("x")), cell.open(named("x")));
        cell.join(&router, &first);
        cell.join_only(&router, &second);
        until("the second is refused", || router.stats().refused_connections > 0);
        cell.send(&router, &frames(["x", "to the first"]));
        assert_eq!(cell.recv_text(&first), "to the first");
        first.close();
        // What it sends before it is refused again is lost with the connection.
        until("the second has the name", || {
            let sent = second.try_send("from the second");
            second.flush();
            sent.is_ok() && router.recv_timeout(SHORT) == Ok(frames(["x", "from the second"]))
        });
    });
}

#[test]
fn with_handover_a_second_peer_of_a_name_takes_it() {
    check(|cell| {
        // The first would be connected again, and take the name again.
        let once = Options { reconnect_min_ms: 600_000, reconnect_max_ms: 600_000, ..Options::default() };
        let router: Router = cell.open(Options { router_handover: true, ..once.clone() });
        let first: Dealer = cell.open(Options { routing_id: named("x").routing_id, ..once });
        let second: Dealer = cell.open(named("x"));
        cell.join(&router, &first);
        cell.send(&first, "from the first");
        assert_eq!(cell.recv(&router), frames(["x", "from the first"]));
        cell.join_only(&router, &second);
        until("the first has lost its place", || first.peers().is_empty());
        (0..3).for_each(|_| router.send(&frames(["x", "to the second"])).unwrap());
        router.flush();
        (0..3).for_each(|_| assert_eq!(cell.recv_text(&second), "to the second"));
        cell.send(&second, "from the second");
        assert_eq!(cell.recv(&router), frames(["x", "from the second"]));
    });
}

#[test]
fn a_full_peer_of_a_router_costs_its_own_messages_only() {
    check(|cell| {
        let options = Options { send_count_max: 10, ..Options::default() };
        let router: Router = cell.open(options.clone());
        let reader: Dealer = cell.open(named("reader"));
        let idler: Dealer = cell.open(Options { receive_count_max: 1, ..named("idler") });
        cell.join(&router, &reader);
        cell.join(&router, &idler);
        let body = vec![7; 100_000];
        let to_idler = Message::from_frames([&b"idler"[..], &body]);
        let mut sent = 0;
        while router.stats().drops.newest < 5 {
            cell.send(&router, &to_idler);
            sent += 1;
            cell.send(&router, &frames(["reader", "x"]));
            assert_eq!(cell.recv_text(&reader), "x");
        }
        let here = router.peers().into_iter().find(|peer| peer.routing_id == b"idler").unwrap();
        assert_eq!((here.sent + here.drops.newest, here.drops.newest), (sent, 5), "{cell:?}");
        (0..here.sent).for_each(|_| assert_eq!(cell.recv(&idler).body(), body));
    });
}

#[test]
fn a_burst_beyond_a_routers_marks_is_dropped_and_counted_to_the_message() {
    const COUNT: u64 = 5000;
    check(|cell| {
        let router: Router = cell.open(Options { send_count_max: 100, ..Options::default() });
        let dealer: Dealer = cell.open(Options { receive_count_max: 10, ..named("x") });
        cell.join(&router, &dealer);
        for number in 0..COUNT {
            router.send(&[&b"x"[..], &number.to_be_bytes()]).unwrap();
        }
        router.flush();
        let (stats, peer) = (router.stats(), router.peers().remove(0));
        assert_eq!((stats.sent, peer.sent + peer.drops.newest), (COUNT, COUNT), "{cell:?}");
        let mut last = None;
        for _ in 0..peer.sent {
            let message = cell.recv(&dealer);
            let number = u64::from_be_bytes(message.body().try_into().unwrap());
            assert!(last < Some(number), "{cell:?}");
            last = Some(number);
        }
    });
}

#[test]
fn a_peer_is_known_by_its_name_until_it_goes() {
    check(|cell| {
        let router: Router = cell.open(Options::default());
        let dealer: Dealer = cell.open(named("ann"));
        cell.join(&router, &dealer);
        let peer = router.peer(b"ann").unwrap();
        assert_eq!((&peer.routing_id[..], peer.remote), (&b"ann"[..], router.peers()[0].remote));
        assert_eq!(router.peer(b"bob"), None);
        cell.send(&dealer, "farewell");
        dealer.close();
        assert_eq!(cell.recv(&router), frames(["ann", "farewell"]));
        until("it is gone", || router.peer(b"ann").is_none());
    });
}
