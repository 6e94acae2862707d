//! Calls in tasks, many at a time, with threads and other clients beside them.

use std::time::Duration;

use hairstreak::service::{Client, ClientOptions, RequestError};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::broker;
use crate::script::Script;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn tasks_and_threads_share_a_client_and_each_gets_its_own_reply() {
    let (_broker, at) = broker(&[]);
    let _worker = Script::majordomo(&["worker", &at, "0.1"]);
    let client =
        Client::with_options(&[&at], ClientOptions { window: 8, ..ClientOptions::default() }).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let asking = client.clone();
            scope.spawn(move || {
                let mut tasks = JoinSet::new();
                let runtime = runtime();
                for number in 0..50 {
                    let client = asking.clone();
                    let call = async move {
                        let body = format!("task {thread} {number}");
                        let reply = client.call_async("shout", body.as_str()).await.unwrap();
                        assert_eq!(reply.body(), body.to_uppercase().as_bytes());
                    };
                    tasks.spawn_on(call, runtime.handle());
                }
                assert_eq!(runtime.block_on(tasks.join_all()).len(), 50);
            });
            let client = &client;
            scope.spawn(move || {
                for number in 0..50 {
                    let body = format!("thread {thread} {number}");
                    assert_eq!(
                        client.call("shout", body.as_str()).unwrap().body(),
                        body.to_uppercase().as_bytes()
                    );
                }
            });
        }
    });
    assert_eq!(client.open_count(), 0);
}

#[test]
fn a_call_in_a_task_is_answered_through_a_plain_broker_and_times_out_without_one() {
    let mut broker = Script::majordomo(&["broker", "tcp://127.0.0.1:*"]);
    let at = broker.line();
    let _worker = Script::majordomo(&["worker", &at, "0.1"]);
    let client = Client::connect(&at).unwrap();
    let reply = runtime().block_on(client.call_async("shout", "hello")).unwrap();
    assert_eq!(reply.body(), b"HELLO");
    let timeout = Duration::from_millis(300);
    let options = ClientOptions { timeout: Some(timeout), ..ClientOptions::default() };
    let nobody = Client::with_options(&["tcp://127.0.0.1:9"], options).unwrap();
    let reply = runtime().block_on(nobody.call_async("shout", "hello"));
    assert_eq!(reply, Err(RequestError::TimedOut(timeout)));
}
