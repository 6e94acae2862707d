//! kill -9 of the node while operators change users, permissions, policies and virtual hosts: what was answered is there, nothing is half, and nothing
//! else is there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use serde_json::{Value, json};

use hairstreak_testkit::{Rng, rng, until};

use crate::api::{Api, Request};
use crate::node::{Node, Place};
use crate::soak::amount;

const OPERATORS: usize = 6;
/// Users, virtual hosts and policies in each place that an operator has.
const EACH: usize = 3;
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
}

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
            state.insert(object, variant);
        }
        Change::Delete(object) => {
            state.remove(&object);
            state.retain(|other, _| match (object, other) {
                (Object::User(user), Object::Permission(of, _)) => *of != user,
                (Object::Host(host), Object::Permission(_, at) | Object::Policy(Some(at), _)) => *at != host,
                _ => true,
            });
        }
    }
}

/// A change that is granted in this state.
fn random_change(state: &State, rng: &mut Rng) -> Change {
    loop {
        let (one, other) = (rng.usize(..EACH), rng.usize(..EACH));
        let object = match rng.u8(..5) {
            0 => Object::User(one),
            1 => Object::Host(one),
            2 => Object::Permission(one, other),
            3 => Object::Policy(None, one),
            _ => Object::Policy(Some(other), one),
        };
        let has_place = match object {
            Object::Permission(user, host) => {
                state.contains_key(&Object::User(user)) && state.contains_key(&Object::Host(host))
            }
            Object::Policy(Some(host), _) => state.contains_key(&Object::Host(host)),
            _ => true,
        };
        match rng.u8(..4) {
            0 if state.contains_key(&object) => return Change::Delete(object),
            1.. if has_place => return Change::Put(object, rng.u64(..3)),
            _ => {}
        }
    }
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
        };
        match change {
            Change::Delete(object) => Request::Delete(path(object)),
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
    assert_eq!(node.stop().status, Some(0));
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
        node.kill();
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

/// Nothing is there but what operators made: no host without the rights of its creator, and no right or policy of a host that is not there.
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
