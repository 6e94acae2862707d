//! Workers and brokers are killed while requests are under way: each reply arrives once. A request is executed twice only if
//! its first worker died, and then by another worker.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::service::{Client, ClientOptions, Refusal, RequestError};
use hairstreak_testkit::until_eq;

use crate::daemon::Daemon;
use crate::part::{Execution, Part, executions, new_log};
use crate::script::Script;
use crate::soak::amount;
use crate::{broker, place};

const WORKERS: usize = 4;
const WINDOW: usize = 1_000;

/// The process that is killed next, and started again. A test without a fabric ignores the victim `Fabric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Broker,
    Fabric,
}

#[test]
fn each_reply_comes_once_although_broker_and_workers_are_killed() {
    let place = place();
    check("one-broker", &[&place], None);
}

#[test]
fn each_reply_comes_once_although_the_brokers_are_killed_in_turn() {
    let places = [place(), place()];
    check("two-brokers", &[&places[0], &places[1]], None);
}

#[test]
fn each_reply_comes_once_although_ranks_of_a_fabric_are_killed_and_the_fabric_itself() {
    let fabric = format!("services-{}", std::process::id());
    check("fabric", &[&format!("vortex://{fabric}/0:5555")], Some(&fabric));
}

fn fabric(name: &str) -> Daemon {
    let mut fabric = Daemon::start("fabric", &["serve", name, "--heights", "4", "--angles", "2"]);
    fabric.place(&format!("fabric {name}"));
    fabric
}

/// Workers are killed eight times in the course of the requests, brokers three times, and the fabric, if there is one, twice.
fn check(name: &str, places: &[&str], fabric_name: Option<&str>) {
    let count = amount(20_000, 100_000);
    let log = new_log(name);
    let mut running = fabric_name.map(fabric);
    let mut brokers: Vec<_> = places.iter().map(|place| Some(broker(&[place]).0)).collect();
    let (order, orders) = mpsc::channel();
    let (killed, cut_off) = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let start = || Part::start(&log, Duration::from_micros(100), places);
            let mut workers: Vec<Part> = (0..WORKERS).map(|_| start()).collect();
            let (mut killed, mut cut_off, mut turn) = (Vec::new(), Vec::new(), 0);
            for victim in orders {
                match victim {
                    Victim::Worker => {
                        killed.push(workers.remove(0).kill());
                        workers.push(start());
                    }
                    Victim::Broker => {
                        let index = turn % places.len();
                        turn += 1;
                        drop(brokers[index].take());
                        brokers[index] = Some(broker(&[places[index]]).0);
                    }
                    Victim::Fabric => {
                        if running.is_some() {
                            cut_off.extend(workers.iter().map(Part::id));
                        }
                        drop(running.take());
                        running = fabric_name.map(fabric);
                    }
                }
            }
            (killed, cut_off)
        });
        ask(count, places, &order);
        drop(order);
        killer.join().unwrap()
    });
    explain(&executions(&log), &killed, &cut_off, count);
    std::fs::remove_file(&log).unwrap();
}

fn ask(count: usize, places: &[&str], order: &mpsc::Sender<Victim>) {
    let options = ClientOptions {
        window: WINDOW,
        timeout: None,
        failover_after: Duration::from_millis(200),
        ..ClientOptions::default()
    };
    let client = Client::with_options(places, options).unwrap();
    let mut bodies: HashMap<u64, String> = HashMap::new();
    let mut replied = 0;
    let mut take = |reply: hairstreak::service::Reply, bodies: &mut HashMap<u64, String>| {
        let body = bodies.remove(&reply.number).unwrap_or_else(|| panic!("{} twice", reply.number));
        let text = String::from_utf8(reply.result.unwrap().body().to_vec()).unwrap();
        assert!(reply.is_last && text.starts_with(&format!("{body} by ")), "{text:?} to {body:?}");
        replied += 1;
        if replied % (count / 8) == count / 16 {
            order.send(Victim::Worker).unwrap();
        }
        if replied % (count / 4) == count / 8 && replied < count * 3 / 4 {
            order.send(Victim::Broker).unwrap();
        }
        if replied % (count / 2) == count / 4 {
            order.send(Victim::Fabric).unwrap();
        }
    };
    for number in 0..count {
        let body = format!("request {number}");
        let number = client.send("work", body.as_str()).unwrap();
        bodies.insert(number, body);
        while let Some(reply) = client.try_recv() {
            take(reply, &mut bodies);
        }
    }
    while let Some(reply) = client.recv() {
        take(reply, &mut bodies);
    }
    assert_eq!((replied, bodies.len()), (count, 0));
}

/// Each request was executed. A repeated execution says that it is one, and follows one of a worker that was killed, or that was cut off when its fabric was
/// killed. A worker that is away for too long counts as dead.
fn explain(executions: &[Execution], killed: &[u32], cut_off: &[u32], count: usize) {
    let mut before: HashMap<&str, u32> = HashMap::new();
    let (mut repeated_count, mut done) = (0, HashSet::new());
    for execution in executions {
        assert!(
            done.insert((&execution.request, execution.process)),
            "a live worker did it twice: {execution:?}"
        );
        if let Some(process) = before.insert(&execution.request, execution.process) {
            repeated_count += 1;
            assert!(execution.is_repeated, "not marked as repeated: {execution:?}");
            let is_lost = killed.contains(&process) || cut_off.contains(&process);
            assert!(is_lost, "{process} lives, and {execution:?} repeats what it did");
        }
    }
    assert_eq!(before.len(), count);
    println!(
        "{count} requests, {} executions, {repeated_count} of them repeated, {} workers killed",
        executions.len(),
        killed.len()
    );
}

/// Plain workers of both versions, whose next requests wait in their sockets, are killed in turn.
#[test]
fn each_reply_comes_once_although_plain_workers_are_killed_with_requests_in_their_sockets() {
    let count = amount(5_000, 50_000);
    let (_broker, at) = broker(&["tcp://127.0.0.1:*", "--limit", "plain-capacity=16"]);
    let start = |version| {
        let mut worker = Script::majordomo(&["worker", &at, version]);
        assert_eq!(worker.line(), "ready");
        worker
    };
    let mut versions = ["0.1", "0.2"].into_iter().cycle();
    let mut workers: Vec<Script> = versions.by_ref().take(2).map(start).collect();
    let options = ClientOptions { window: 200, timeout: None, ..ClientOptions::default() };
    let client = Client::with_options(&[&at], options).unwrap();
    let (mut asked, mut replied) = (HashMap::new(), HashSet::new());
    // A reply of 0.2 comes in two parts. Returns a request that is to be asked again: its worker died behind the first part, and one of
    // 0.1 has another reply.
    let mut take = |reply: hairstreak::service::Reply, asked: &HashMap<u64, usize>| {
        let number = asked[&reply.number];
        let text = match reply.result {
            Ok(message) => message.frames().collect::<Vec<_>>().concat(),
            Err(error) => {
                assert_eq!((error, reply.is_last), (RequestError::RepliesDiffer, true));
                return Some(number);
            }
        };
        if !reply.is_last {
            assert_eq!(text, b"FIRST ");
            return None;
        }
        let expected = format!("REQUEST {number}");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert!(replied.insert(number), "{number} twice");
        if replied.len().is_multiple_of(count / 10) {
            workers.remove(0).kill();
            workers.extend(versions.next().map(start));
        }
        None
    };
    let ask = |number: usize, asked: &mut HashMap<u64, usize>| {
        asked.insert(client.send("shout", format!("request {number}")).unwrap(), number);
    };
    for number in 1..=count {
        ask(number, &mut asked);
        while let Some(reply) = client.try_recv() {
            if let Some(again) = take(reply, &asked) {
                ask(again, &mut asked);
            }
        }
    }
    while let Some(reply) = client.recv() {
        if let Some(again) = take(reply, &asked) {
            ask(again, &mut asked);
        }
    }
    assert_eq!(replied.len(), count);
    let report = client.call("hairstreak.services", "").unwrap();
    let report: serde_json::Value = serde_json::from_slice(report.body()).unwrap();
    println!("{count} requests: {}", report["services"]);
}

/// Three of a hundred requests kill every worker that gets them: these three are refused, and all others are answered.
#[test]
fn requests_that_kill_their_workers_are_refused_and_take_no_others_along() {
    const DO: &str = r#"read body; case $body in deadly*) kill -9 $PPID; sleep 9;; esac; echo "$body""#;
    let (_broker, at) = broker(&[]);
    let words = ["worker", "--broker", &at, "--service", "frail", "--capacity", "16", "--", "sh", "-c", DO];
    let mut workers = [0, 1].map(|_| Script::hairstreak(&words));
    let options = ClientOptions { timeout: None, ..ClientOptions::default() };
    let client = Client::with_options(&[&at], options).unwrap();
    let mut bodies = HashMap::new();
    for place in 0..100 {
        let body = if place % 40 == 10 { format!("deadly {place}") } else { format!("harmless {place}") };
        bodies.insert(client.send("frail", body.as_str()).unwrap(), body);
    }
    let mut deaths = 0;
    until_eq("requests without a reply", 0, || {
        for worker in workers.iter_mut().filter_map(|worker| worker.is_gone().then_some(worker)) {
            deaths += 1;
            *worker = Script::hairstreak(&words);
        }
        while let Some(reply) = client.try_recv() {
            let body = bodies.remove(&reply.number).unwrap();
            match reply.result {
                Ok(text) => assert_eq!(text.body(), format!("{body}\n").as_bytes()),
                Err(RequestError::Refused { refusal: Refusal::GivenUp, text }) => {
                    assert_eq!(text, "5 workers had the request, and none answered");
                    assert!(body.starts_with("deadly"), "{body} is refused");
                }
                Err(error) => panic!("{body}: {error}"),
            }
        }
        bodies.len()
    });
    // Each of the three deadly requests kills five workers. Requests may share a dying worker, except their last one.
    assert!((7..=15).contains(&deaths), "{deaths}");
}

/// Effects in a database that commit with the number of their request happen once, although workers are killed.
#[test]
fn effects_that_commit_with_the_number_happen_once() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("effects-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    crate::commands::count_in_sqlite(&folder, amount(60, 600));
    std::fs::remove_dir_all(&folder).unwrap();
}
