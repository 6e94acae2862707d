//! All combinations: {our broker, a plain broker} x {our client, a plain client} x {our worker, a plain worker}, MDP 0.1 and 0.2.

use hairstreak::service::{Client, ClientOptions, Version};

use crate::script::Script;
use crate::{LONG, broker};

const COUNT: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ours,
    Plain(&'static str),
}

const KINDS: [Kind; 3] = [Kind::Ours, Kind::Plain("0.1"), Kind::Plain("0.2")];

#[test]
fn every_client_is_answered_by_every_worker_through_our_broker() {
    for worker in KINDS {
        let (_broker, endpoint) = broker(&[]);
        let _worker = start_worker(worker, &endpoint);
        for client in KINDS {
            check(client, worker, &endpoint, Some(true));
        }
    }
}

#[test]
fn every_client_is_answered_by_every_worker_through_a_plain_broker() {
    for worker in KINDS {
        let mut broker = Script::majordomo(&["broker", "tcp://127.0.0.1:*"]);
        let endpoint = broker.line();
        let _worker = start_worker(worker, &endpoint);
        for client in KINDS {
            check(client, worker, &endpoint, Some(false));
        }
    }
}

fn start_worker(kind: Kind, endpoint: &str) -> Script {
    match kind {
        Kind::Ours => Script::hairstreak(&[
            "worker",
            "--broker",
            endpoint,
            "--service",
            "shout",
            "--",
            "tr",
            "a-z",
            "A-Z",
        ]),
        Kind::Plain(version) => {
            let mut worker = Script::majordomo(&["worker", endpoint, version]);
            assert_eq!(worker.line(), "ready");
            worker
        }
    }
}

fn check(client: Kind, worker: Kind, endpoint: &str, numbers: Option<bool>) {
    // A plain worker of 0.2 sends its reply in two parts. A client that takes one message gets them together.
    let begin = if worker == Kind::Plain("0.2") { "FIRST " } else { "" };
    let expected: Vec<String> = (0..COUNT).map(|number| format!("{begin}REQUEST {number}")).collect();
    let case = format!("{client:?} -> {endpoint} -> {worker:?}");
    let replies: Vec<String> = match client {
        Kind::Ours => {
            for version in [Version::V01, Version::V02] {
                let options = ClientOptions { plain_version: version, ..ClientOptions::default() };
                let client = Client::with_options(&[endpoint], options).unwrap();
                assert_eq!(client.uses_hsn1(LONG), numbers, "{case}");
                let call = |number| client.call("shout", format!("request {number}")).unwrap();
                let text = |number| call(number).frames().collect::<Vec<_>>().concat();
                let replies = (0..COUNT).map(|number| String::from_utf8(text(number)).unwrap());
                let replies: Vec<String> = replies.collect();
                // 0.1 has no parts, and a plain broker passes on each part of a 0.2 worker as a whole reply.
                let is_lossy = numbers == Some(false) && version == Version::V01 && !begin.is_empty();
                if !is_lossy {
                    assert_eq!(replies, expected, "{case} {version:?}");
                }
            }
            return;
        }
        Kind::Plain("0.1") if numbers == Some(false) && !begin.is_empty() => return,
        Kind::Plain(version) => {
            let mut client = Script::majordomo(&["client", endpoint, version, &COUNT.to_string()]);
            (0..COUNT).map(|_| client.line()).collect()
        }
    };
    assert_eq!(replies, expected, "{case}");
}
