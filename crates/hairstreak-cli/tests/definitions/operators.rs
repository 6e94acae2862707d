//! kill -9 of the node while operators change users, permissions, policies and virtual hosts: answered changes are there, complete, and
//! no others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use serde_json::{Value, json};

use hairstreak_testkit::{Rng, rng, until};

use crate::api::{Api, Request};
use crate::daemon::End;
use crate::node::{Node, Place};
use crate::soak::amount;

const OPERATORS: usize = 6;
/// Users, virtual hosts and policies in each place that an operator has.
const EACH: usize = 3;
/// The routing key of each binding, which is its key in a path.
const BINDING_KEY: &str = "k";
/// RabbitMQ's hash of `test12`.
const HASH: &str = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";

/// An object of an operator, by the numbers of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    User(usize),
    Host(usize),
    /// The permissions of a user in a host.
    Permission(usize, usize),
    /// In `/`, or in a host.
    Policy(Option<usize>, usize),
    /// The topic permissions of a user in a host.
    TopicPermission(usize, usize),
    /// A limit of a user.
    UserLimit(usize),
    /// The limits of a host, as RabbitMQ's tools set them.
    HostLimit(usize),
    Parameter(usize, usize),
    Exchange(usize, usize),
    Queue(usize, usize),
    /// From an exchange to a queue of the same host.
    Binding(usize, usize, usize),
}

/// Reads a row of a host, which is given by its number.
type OfHost<'a> = dyn Fn(usize, &Value) -> Option<(Object, u64)> + 'a;

/// The objects of an operator, and the variant that each has.
type State = BTreeMap<Object, u64>;

#[derive(Clone, Copy, Debug)]
enum Change {
    Put(Object, u64),
    Delete(Object),
}

fn apply(state: &mut State, change: Change) {
    match change {
        Change::Put(object, variant) => {
            // A binding has no values.
            state.insert(object, if matches!(object, Object::Binding(..)) { 0 } else { variant });
        }
        Change::Delete(object) => {
            state.remove(&object);
            state.retain(|other, _| !owners(*other).contains(&object));
        }
    }
}

/// The objects that an object depends on.
fn owners(object: Object) -> Vec<Object> {
    match object {
        Object::User(_) | Object::Host(_) | Object::Policy(None, _) => Vec::new(),
        Object::Permission(user, host) | Object::TopicPermission(user, host) => {
            vec![Object::User(user), Object::Host(host)]
        }
        Object::UserLimit(user) => vec![Object::User(user)],
        Object::Policy(Some(host), _)
        | Object::HostLimit(host)
        | Object::Parameter(host, _)
        | Object::Exchange(host, _)
        | Object::Queue(host, _) => vec![Object::Host(host)],
        Object::Binding(host, exchange, queue) => {
            vec![Object::Host(host), Object::Exchange(host, exchange), Object::Queue(host, queue)]
        }
    }
}

/// A change that is granted in this state.
fn random_change(state: &State, rng: &mut Rng) -> Change {
    loop {
        let (one, other, third) = (rng.usize(..EACH), rng.usize(..EACH), rng.usize(..EACH));
        let object = match rng.u8(..18) {
            0 => Object::User(one),
            1 => Object::Host(one),
            2 => Object::Permission(one, other),
            3 => Object::Policy(None, one),
            4 => Object::Policy(Some(other), one),
            5 => Object::TopicPermission(one, other),
            6 => Object::UserLimit(one),
            7 => Object::HostLimit(one),
            8 => Object::Parameter(one, other),
            9..12 => Object::Exchange(one, other),
            12..15 => Object::Queue(one, other),
            _ => Object::Binding(one, other, third),
        };
        let has_owners = owners(object).iter().all(|owner| state.contains_key(owner));
        match rng.u8(..4) {
            0 if state.contains_key(&object) => return Change::Delete(object),
            // Exchanges, queues and bindings are not changed.
            1.. if has_owners && (is_changed(object) || !state.contains_key(&object)) => {
                return Change::Put(object, rng.u64(..3));
            }
            _ => {}
        }
    }
}

/// Returns `true` if an existing object can be put again with other values.
fn is_changed(object: Object) -> bool {
    !matches!(object, Object::Exchange(..) | Object::Queue(..) | Object::Binding(..))
}

/// The names of an operator's objects.
#[derive(Clone, Copy)]
struct Names(usize);

impl Names {
    fn user(self, user: usize) -> String {
        format!("o{}.u{user}", self.0)
    }

    fn host(self, host: Option<usize>) -> String {
        host.map_or("%2F".into(), |host| format!("o{}.v{host}", self.0))
    }

    fn request(self, change: Change) -> Request {
        let path = |object| match object {
            Object::User(user) => format!("users/{}", self.user(user)),
            Object::Host(host) => format!("vhosts/{}", self.host(Some(host))),
            Object::Permission(user, host) => {
                format!("permissions/{}/{}", self.host(Some(host)), self.user(user))
            }
            Object::Policy(host, policy) => format!("policies/{}/o{}.p{policy}", self.host(host), self.0),
            Object::TopicPermission(user, host) => {
                format!("topic-permissions/{}/{}", self.host(Some(host)), self.user(user))
            }
            Object::UserLimit(user) => format!("user-limits/{}/max-channels", self.user(user)),
            Object::HostLimit(host) => format!("vhost-limits/{}/max-queues", self.host(Some(host))),
            Object::Parameter(host, number) => {
                format!("parameters/shovel/{}/s{number}", self.host(Some(host)))
            }
            Object::Exchange(host, number) => format!("exchanges/{}/x{number}", self.host(Some(host))),
            Object::Queue(host, number) => format!("queues/{}/q{number}", self.host(Some(host))),
            Object::Binding(host, exchange, queue) => {
                format!("bindings/{}/e/x{exchange}/q/q{queue}", self.host(Some(host)))
            }
        };
        match change {
            Change::Delete(object @ Object::Binding(..)) => {
                Request::Delete(format!("{}/{BINDING_KEY}", path(object)))
            }
            Change::Delete(object) => Request::Delete(path(object)),
            Change::Put(object @ Object::Binding(..), _) => {
                Request::Post(path(object), json!({"routing_key": BINDING_KEY}))
            }
            Change::Put(object, variant) => {
                let body = match object {
                    Object::User(_) => json!({"password_hash": HASH, "tags": format!("tag{variant}")}),
                    Object::Host(_) => json!({"description": format!("{variant}")}),
                    Object::Permission(..) => {
                        json!({"configure": format!("^{variant}"), "write": "", "read": ""})
                    }
                    Object::Policy(..) => {
                        json!({"pattern": "^x", "definition": {"max-length": 1}, "priority": variant})
                    }
                    Object::TopicPermission(..) => {
                        json!({"exchange": "amq.topic", "write": format!("^{variant}"), "read": ""})
                    }
                    // Above the number of queues.
                    Object::UserLimit(_) | Object::HostLimit(_) => json!({"value": variant + 10}),
                    Object::Parameter(..) => {
                        json!({"value": {"src-uri": "amqp://", "dest-uri": "amqp://", "n": variant}})
                    }
                    Object::Exchange(..) => {
                        json!({"type": "topic", "durable": true, "arguments": {"n": variant}})
                    }
                    Object::Queue(..) => json!({"durable": true, "arguments": {"n": variant}}),
                    Object::Binding(..) => unreachable!("bindings are posted"),
                };
                Request::Put(path(object), body)
            }
        }
    }

    /// The operator's objects among the definitions.
    fn state(self, definitions: &Value) -> State {
        let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
        let last = |text: &str| text[text.len() - 1..].parse().unwrap();
        let own = format!("o{}.", self.0);
        let number = |name: &str| -> usize { name[own.len() + 1..].parse().unwrap() };
        let mut state = State::new();
        for row in definitions["users"].as_array().unwrap() {
            let name = text(row, "name");
            if name.starts_with(&own) {
                assert_eq!(row["password_hash"], HASH, "{row}");
                state.insert(Object::User(number(&name)), last(row["tags"][0].as_str().unwrap()));
                if let Some(limit) = row["limits"]["max-channels"].as_u64() {
                    state.insert(Object::UserLimit(number(&name)), limit - 10);
                }
            }
        }
        for row in definitions["vhosts"].as_array().unwrap() {
            let name = text(row, "name");
            if name.starts_with(&own) {
                let description =
                    row["description"].as_str().or(row["metadata"]["description"].as_str()).unwrap();
                state.insert(Object::Host(number(&name)), last(description));
            }
        }
        for row in definitions["permissions"].as_array().unwrap() {
            let (user, host) = (text(row, "user"), text(row, "vhost"));
            if user.starts_with(&own) {
                let object = Object::Permission(number(&user), number(&host));
                state.insert(object, last(row["configure"].as_str().unwrap()));
            }
        }
        for row in definitions["policies"].as_array().unwrap() {
            let (name, host) = (text(row, "name"), text(row, "vhost"));
            if name.starts_with(&own) {
                let host = host.starts_with(&own).then(|| number(&host));
                state.insert(Object::Policy(host, number(&name)), row["priority"].as_u64().unwrap());
            }
        }
        for row in definitions["topic_permissions"].as_array().unwrap() {
            let (user, host) = (text(row, "user"), text(row, "vhost"));
            if user.starts_with(&own) {
                let object = Object::TopicPermission(number(&user), number(&host));
                state.insert(object, last(row["write"].as_str().unwrap()));
            }
        }
        let mut of_hosts = |list: &str, object: &OfHost<'_>| {
            for row in definitions[list].as_array().unwrap() {
                let host = text(row, "vhost");
                state.extend(host.starts_with(&own).then(|| object(number(&host), row)).flatten());
            }
        };
        let numbered = |row: &Value, field: &str| row[field].as_str().unwrap()[1..].parse().unwrap();
        of_hosts("parameters", &|host, row| match row["component"].as_str().unwrap() {
            "vhost-limits" => {
                Some((Object::HostLimit(host), row["value"]["max-queues"].as_u64().unwrap() - 10))
            }
            _ => Some((Object::Parameter(host, numbered(row, "name")), row["value"]["n"].as_u64().unwrap())),
        });
        of_hosts("exchanges", &|host, row| {
            Some((Object::Exchange(host, numbered(row, "name")), row["arguments"]["n"].as_u64().unwrap()))
        });
        of_hosts("queues", &|host, row| {
            Some((Object::Queue(host, numbered(row, "name")), row["arguments"]["n"].as_u64().unwrap()))
        });
        of_hosts("bindings", &|host, row| {
            Some((Object::Binding(host, numbered(row, "source"), numbered(row, "destination")), 0))
        });
        state
    }
}

/// The changes of an operator. All but the last were answered, if that was not.
struct Log {
    state: State,
    /// The state, if the change that was not answered acts.
    after: State,
    answered: usize,
}

#[test]
fn what_operators_were_answered_survives_kill_9_and_nothing_is_half() {
    let mut rng = rng();
    let place = Place::new("operators");
    let mut node = place.start();
    let mut states = vec![State::new(); OPERATORS];
    let mut killed_in_the_middle = 0;
    for round in 0..amount(10, 150) {
        let logs = run_until_killed(node, &states, &mut rng);
        killed_in_the_middle += usize::from(logs.iter().any(|log| log.answered > 0));
        node = place.start();
        let definitions = Api::new(&node.http).get("definitions");
        for (number, log) in logs.into_iter().enumerate() {
            let seen = Names(number).state(&definitions);
            assert!(
                seen == log.state || seen == log.after,
                "round {round}, operator {number}: {seen:?}\nanswered: {:?}\nnot answered: {:?}",
                log.state,
                log.after
            );
            states[number] = seen;
        }
        check_the_rest(&definitions);
    }
    assert!(killed_in_the_middle > 5, "{killed_in_the_middle} nodes lived to answer");
    let End { status, errors, .. } = node.stop();
    assert!(status == Some(0) && !errors.contains("dropped"), "{status:?}: {errors}");
}

fn run_until_killed(node: Node, states: &[State], rng: &mut Rng) -> Vec<Log> {
    let (answered, wanted) = (AtomicUsize::new(0), rng.usize(..300));
    let seeds: Vec<u64> = states.iter().map(|_| rng.u64(..)).collect();
    let url = node.http.clone();
    thread::scope(|scope| {
        let operators: Vec<_> = states
            .iter()
            .zip(seeds)
            .enumerate()
            .map(|(number, (state, seed))| {
                let (url, answered) = (&url, &answered);
                scope.spawn(move || change(url, Names(number), state.clone(), seed, answered))
            })
            .collect();
        until(&format!("{wanted} answers, or the end of an operator"), || match answered.load(Relaxed) {
            count if count >= wanted || operators.iter().any(|operator| operator.is_finished()) => Ok(()),
            count => Err(count),
        });
        let said = node.kill();
        assert!(!said.contains("dropped"), "the definitions before this start were half: {said}");
        operators.into_iter().map(|operator| operator.join().unwrap()).collect()
    })
}

/// Changes one after the other until the node is gone.
fn change(url: &str, names: Names, mut state: State, seed: u64, answers: &AtomicUsize) -> Log {
    let (api, mut rng) = (Api::new(url), Rng::with_seed(seed));
    for answered in 0.. {
        let change = random_change(&state, &mut rng);
        let mut after = state.clone();
        apply(&mut after, change);
        match api.send(&names.request(change)) {
            Ok((201 | 204, _)) => state = after,
            Ok((status, body)) => panic!("{status} {body}: {:?} in {state:?}", names.request(change)),
            Err(_) => return Log { state, after, answered },
        }
        answers.fetch_add(1, Relaxed);
    }
    unreachable!("the node is killed");
}

/// Checks that only objects of operators are there: no host without the rights of its creator, and no right or policy of an absent host.
fn check_the_rest(definitions: &Value) {
    let rows = |kind: &str| definitions[kind].as_array().unwrap().clone();
    let names = |kind: &str| -> Vec<Value> { rows(kind).iter().map(|row| row["name"].clone()).collect() };
    let (hosts, users) = (names("vhosts"), names("users"));
    let is_known = |name: &Value, others: &str| {
        let name = name.as_str().unwrap();
        name == others || name.starts_with('o')
    };
    assert!(hosts.iter().all(|name| is_known(name, "/")), "{hosts:?}");
    assert!(users.iter().all(|name| is_known(name, "guest")), "{users:?}");
    for row in rows("permissions") {
        assert!(hosts.contains(&row["vhost"]) && users.contains(&row["user"]), "{row}");
    }
    assert!(rows("policies").iter().all(|row| hosts.contains(&row["vhost"])));
    for host in &hosts {
        let is_of_guest = |row: &Value| row["vhost"] == *host && row["user"] == "guest";
        assert!(rows("permissions").iter().any(is_of_guest), "{host} is there without its creator's rights");
    }
}
