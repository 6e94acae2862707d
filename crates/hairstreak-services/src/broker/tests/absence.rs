//! Tests of absent clients: they are remembered until other clients need their places.

use super::*;

/// Connects, sends one request, gets its reply and disconnects.
fn visit(bench: &mut Bench, client: char) -> Vec<String> {
    bench.ask("c", client, 1);
    bench.reply("w", client, 1);
    bench.lose("c");
    bench.said_to("c")
}

fn is_known(bench: &Bench, client: char) -> bool {
    bench.broker.clients.find(request_id(client, 1).client).is_some()
}

#[test]
fn more_clients_than_may_be_here_ask_once_and_go_and_all_are_answered() {
    let mut bench = Bench::new(Options { clients_max: 10, ..Options::default() });
    bench.ready("w", 1);
    for client in (100..=250).map(char::from) {
        assert_eq!(visit(&mut bench, client).len(), 1);
        assert!(is_known(&bench, client) && bench.broker.clients.len() <= 10);
    }
    assert_eq!(bench.broker.report(bench.now).services[0].replies, 151);
    // A client of plain MDP gets a place too.
    bench.frames("p", &[b"", b"MDPC01", b"echo", b"body"]);
    assert_eq!(bench.broker.report(bench.now).drops.refused, 0);
}

#[test]
fn who_has_been_gone_the_longest_is_forgotten_first_and_nobody_who_is_back_or_has_something_open() {
    let mut bench = Bench::new(Options { clients_max: 4, ..Options::default() });
    bench.ready("w", 2);
    bench.ask("open", 'o', 1);
    bench.lose("open");
    ['a', 'b', 'c'].iter().for_each(|client| drop(visit(&mut bench, *client)));
    // The client comes back, and leaves again after the others.
    visit(&mut bench, 'a');
    bench.ask("d", 'd', 1);
    assert!(!is_known(&bench, 'b') && ['o', 'a', 'c', 'd'].iter().all(|client| is_known(&bench, *client)));
    bench.ask("e", 'e', 1);
    assert!(!is_known(&bench, 'c') && ['o', 'a', 'd', 'e'].iter().all(|client| is_known(&bench, *client)));
    bench.ask("f", 'f', 1);
    bench.said();
    assert!(!is_known(&bench, 'a') && is_known(&bench, 'o'));
    // The other clients are connected, or have open requests.
    bench.ask("g", 'g', 1);
    bench.frames("p", &[b"", b"MDPC01", b"echo", b"body"]);
    assert_eq!(
        (bench.said(), bench.broker.report(bench.now).drops.refused),
        (vec!["g: REFUSED g/1 503".into()], 1)
    );
    // A client with an unread reply is kept too.
    bench.reply("w", 'o', 1);
    bench.ask("g", 'g', 2);
    assert_eq!(bench.said_to("g"), ["REFUSED g/2 503"]);
    bench.ask("open", 'o', 2);
    bench.pass(10);
    assert_eq!(bench.said_to("open"), ["FINAL o/1 #0 done"]);
}

#[test]
fn who_has_nothing_open_any_more_makes_room_although_it_was_gone_before() {
    let mut bench = Bench::new(Options { clients_max: 1, replies_bytes_max: 0, ..Options::default() });
    bench.ready("w", 1);
    bench.ask("a", 'a', 1);
    bench.lose("a");
    bench.ask("b", 'b', 1);
    // There is no room for this request.
    bench.reply("w", 'a', 1);
    bench.ask("b", 'b', 2);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1", "b: REFUSED b/1 503", "w: REQUEST b/2 2"]);
}

#[test]
fn a_client_that_comes_and_goes_over_and_over_takes_one_place_among_those_that_are_gone() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    for _ in 0..1_000 {
        ['a', 'b'].iter().for_each(|client| drop(visit(&mut bench, *client)));
    }
    assert_eq!(bench.broker.clients.len(), 2);
    assert!(bench.broker.clients.departures_len() <= 70, "{}", bench.broker.clients.departures_len());
}

#[test]
fn clients_that_workers_tell_of_make_room_for_those_that_come() {
    let mut bench = Bench::new(Options { clients_max: 4, ..Options::default() });
    bench.ready_with("w", 9, &[('a', 1, 1), ('b', 1, 1), ('x', 1, 1)]);
    assert!(is_known(&bench, 'a') && is_known(&bench, 'b') && !is_known(&bench, 'x'));
    ['c', 'd', 'e', 'f'].iter().for_each(|client| bench.ask(&client.to_string(), *client, 1));
    assert_eq!((bench.said_to("w").len(), bench.broker.clients.len()), (4, 4));
    assert!(!is_known(&bench, 'a') && !is_known(&bench, 'b'));
    bench.send("w", Header::Held, &[&held(&[('x', 1, 1)])]);
    assert!(!is_known(&bench, 'x'), "what workers tell takes nobody's place");
}
