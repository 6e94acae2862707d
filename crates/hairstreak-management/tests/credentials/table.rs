//! The rights of each user, by password and by key: a row for each user.

use std::thread;

use hairstreak::service::{REPORT_SERVICE, Refusal, Report, RequestError, WorkerError};
use hairstreak::{AskError, Credentials, OpenError, Scope};
use hairstreak_testkit::until;

use crate::node::{Mechanism, Served, USERS};

/// The attempts of a client.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    registers: bool,
    calls: bool,
    serves: bool,
    sees_service: bool,
    sees_name: bool,
}

/// By the permissions for names like `echo`.
fn expected(user: &str) -> Row {
    let has = |names: &[&str]| names.contains(&user);
    let sees = has(&["everything", "configures", "writes", "reads"]);
    Row {
        registers: has(&["everything", "configures"]),
        calls: has(&["everything", "writes"]),
        serves: has(&["everything", "reads"]),
        sees_service: sees,
        sees_name: sees,
    }
}

fn found(served: &Served, credentials: &Credentials, number: usize) -> Row {
    let client = served.client(credentials.clone());
    let node = served.node(credentials.clone());
    let report: Report = serde_json::from_slice(client.call(REPORT_SERVICE, "").unwrap().body()).unwrap();
    Row {
        registers: match node.queue(&format!("echo.{number}")).scope(Scope::Global).open() {
            Ok(_) => true,
            Err(OpenError::Directory { error: AskError::Refused { text, .. }, .. }) => {
                assert!(text.contains("configure permission"), "{text}");
                false
            }
            Err(error) => panic!("{error}"),
        },
        calls: match client.call("echo", "hello") {
            Ok(reply) => reply.body() == b"hello",
            Err(RequestError::Refused { refusal: Refusal::AccessRefused, text }) => {
                assert!(text.contains("write permission"), "{text}");
                false
            }
            Err(error) => panic!("{error}"),
        },
        serves: serves(served, credentials, &format!("echo.{number}")),
        sees_service: report.services.iter().any(|service| service.name == "echo"),
        sees_name: node.list("").unwrap().iter().any(|entry| entry.name == "echo"),
    }
}

/// Whether a worker of that user gets a request of somebody who may do everything.
fn serves(served: &Served, credentials: &Credentials, service: &str) -> bool {
    let worker = served.worker(credentials.clone(), service);
    let control = worker.control();
    let run = thread::spawn(move || worker.run(|request| Ok(request.body().into())));
    let boss = served.client(served.credentials("everything", Mechanism::Plain));
    let number = boss.send(service, "hello").unwrap();
    let reply = until("a reply, or the end of the worker", || match boss.try_recv() {
        Some(reply) => Some(Some(reply)),
        None => run.is_finished().then_some(None),
    });
    boss.cancel(number);
    control.leave();
    match (reply, run.join().unwrap()) {
        (Some(reply), Ok(_)) => reply.result.unwrap().body() == b"hello",
        (None, Err(WorkerError::Unauthorized { reason, .. })) => {
            assert!(reason.contains("read permission"), "{reason}");
            false
        }
        (reply, run) => panic!("{reply:?} {run:?}"),
    }
}

#[test]
fn each_user_does_what_its_permissions_allow_by_password_and_by_key() {
    let served = Served::start(false);
    // Those who are asked, and are there to be seen: without credentials, from this host.
    let worker = served.worker(Credentials::default(), "echo");
    let control = worker.control();
    let run = thread::spawn(move || worker.run(|request| Ok(request.body().into())));
    let holder = served.node(Credentials::default());
    let _queue = holder.queue("echo").scope(Scope::Global).open().unwrap();
    assert_eq!(served.client(Credentials::default()).call("echo", "hello").unwrap().body(), b"hello");
    let mut number = 0;
    for mechanism in [Mechanism::Plain, Mechanism::Curve] {
        for (user, _) in USERS {
            number += 1;
            let credentials = served.credentials(user, mechanism);
            assert_eq!(found(&served, &credentials, number), expected(user), "{user} {mechanism:?}");
        }
    }
    number += 1;
    let anybody = Row { registers: true, calls: true, serves: true, sees_service: true, sees_name: true };
    assert_eq!(found(&served, &Credentials::default(), number), anybody);
    control.leave();
    run.join().unwrap().unwrap();
}
