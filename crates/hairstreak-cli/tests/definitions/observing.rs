//! The objects of a started node, observed by passive declarations, and by messages that come back if no queue takes them.

use std::collections::{BTreeMap, BTreeSet};

use hairstreak_wire::amqp::{Method, exchange, queue};

use crate::client::Client;
use crate::model::{
    Binding, EXCHANGES, Names, QUEUES, SINK, Source, State, all_bindings, exchange_declaration,
    queue_declaration,
};

/// Declares the sink. A queue of this client takes what goes there.
pub fn prepare(client: &mut Client) {
    let sink =
        exchange::Declare { exchange: SINK.as_bytes(), kind: b"fanout", durable: true, ..Default::default() };
    client.is_granted(&Method::ExchangeDeclare(sink)).unwrap();
    let probe = queue::Declare { exclusive: true, ..Default::default() };
    client.is_granted(&Method::QueueDeclare(probe)).unwrap();
    let bind = queue::Bind { exchange: SINK.as_bytes(), ..Default::default() };
    client.is_granted(&Method::QueueBind(bind)).unwrap();
}

/// The objects of a client that are there.
pub fn observe(client: &mut Client, names: Names) -> State {
    let mut state = State::default();
    for exchange in 0..EXCHANGES {
        let name = names.exchange(exchange);
        let passive = exchange::Declare { passive: true, ..exchange_declaration(&name, false) };
        match client.is_granted(&Method::ExchangeDeclare(passive)) {
            Ok(()) => {
                let declare =
                    |is_auto_delete| Method::ExchangeDeclare(exchange_declaration(&name, is_auto_delete));
                state.exchanges.insert(exchange, which(client, declare));
            }
            Err(text) => assert!(text.starts_with("404 "), "{name}: {text}"),
        }
    }
    let queue_names: Vec<String> = (0..QUEUES).map(|queue| names.queue(queue)).collect();
    let missing = client.unroutable("", &queue_names);
    for queue in (0..QUEUES).filter(|queue| !missing.contains(&queue_names[*queue])) {
        let declare = |is_limited| Method::QueueDeclare(queue_declaration(&queue_names[queue], is_limited));
        state.queues.insert(queue, which(client, declare));
    }
    let sources = state.exchanges.keys().map(|exchange| Source::Own(*exchange)).chain([Source::Direct]);
    for source in sources {
        let of_source = all_bindings().filter(|binding| binding.source == source);
        let keys: BTreeMap<String, Binding> =
            of_source.map(|binding| (names.key(&binding), binding)).collect();
        let missing = client.unroutable(&names.source(source), &keys.keys().cloned().collect::<Vec<_>>());
        let there = keys.into_iter().filter(|(key, _)| !missing.contains(key)).map(|(_, binding)| binding);
        state.bindings.extend(there);
    }
    state
}

/// The variant with which an existing object was declared.
fn which<'a>(client: &mut Client, declare: impl Fn(bool) -> Method<'a>) -> bool {
    let Err(text) = client.is_granted(&declare(true)) else { return true };
    assert!(text.starts_with("406 "), "{text}");
    client.is_granted(&declare(false)).unwrap();
    false
}

/// The numbers below `count` of the existing shared queues of a round.
pub fn observe_shared(client: &mut Client, names: Names, count: usize) -> BTreeSet<usize> {
    let keys: Vec<String> = (1..=count).map(|number| names.shared(number)).collect();
    let missing: BTreeSet<String> = client.unroutable("", &keys).into_iter().collect();
    (1..=count).filter(|number| !missing.contains(&keys[number - 1])).collect()
}
