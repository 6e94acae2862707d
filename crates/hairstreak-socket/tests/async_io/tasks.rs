//! Many tasks of tokio on the same sockets.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::TRANSPORTS;
use crate::pairs::{body, low_marks, number, pair};

const SENDERS: u64 = 10;
const RECEIVERS: u64 = 20;
const COUNT_EACH: u64 = 1000;

pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

async fn outputs<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut outputs = Vec::new();
    for task in tasks {
        outputs.push(task.await.unwrap());
    }
    outputs
}

fn spawn_all<F>(count: u64, make: impl Fn(u64) -> F) -> Vec<JoinHandle<F::Output>>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    (0..count).map(|index| tokio::spawn(make(index))).collect()
}

#[test]
fn many_tasks_share_a_sending_and_a_receiving_socket() {
    for transport in TRANSPORTS {
        let (push, pull) = pair(transport, &low_marks());
        runtime().block_on(async {
            let senders = spawn_all(SENDERS, |sender| {
                let push = push.clone();
                async move {
                    for index in 0..COUNT_EACH {
                        push.send_async(&body(sender * COUNT_EACH + index)).await.unwrap();
                    }
                }
            });
            let receivers = spawn_all(RECEIVERS, |_| {
                let pull = pull.clone();
                async move {
                    let mut numbers = Vec::new();
                    for _ in 0..SENDERS * COUNT_EACH / RECEIVERS {
                        numbers.push(number(&pull.recv_async().await.unwrap()));
                    }
                    numbers
                }
            });
            outputs(senders).await;
            let mut numbers = outputs(receivers).await.concat();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..SENDERS * COUNT_EACH), "{transport}");
        });
    }
}

#[test]
fn each_of_many_tasks_has_sockets_of_its_own_in_one_engine() {
    for transport in TRANSPORTS {
        runtime().block_on(async {
            let context = hairstreak_socket::Context::new();
            let tasks = spawn_all(50, |_| {
                let context = context.clone();
                async move {
                    let (push, pull) = crate::pairs::pair_in(&context, &context, transport, &low_marks());
                    for expected in 0..100 {
                        push.send_async(&body(expected)).await.unwrap();
                        tokio::task::yield_now().await;
                        assert_eq!(number(&pull.recv_async().await.unwrap()), expected);
                    }
                }
            });
            outputs(tasks).await;
        });
    }
}
