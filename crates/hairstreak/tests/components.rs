//! Exchanges and queues within one process: scopes, styles, marks and refusals.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use hairstreak::{
    BindError, Component, Exchange, Kind, OpenError, Queue, RecvError, Scope, SendError, Style,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn component() -> Component {
    Component::builder().patience(PATIENCE).build().unwrap()
}

/// A component without patience.
fn hasty() -> Component {
    Component::builder().patience(Duration::ZERO).build().unwrap()
}

fn text(queue: &Queue) -> String {
    String::from_utf8(queue.recv_timeout(PATIENCE).unwrap().body().to_vec()).unwrap()
}

/// An exchange `E` bound to queues `Q0`, `Q1`, ..., all connected.
fn fan(component: &Component, style: Style, count: usize) -> (Exchange, Vec<Queue>) {
    let exchange = component.exchange("E").style(style).open().unwrap();
    let queues = (0..count).map(|i| {
        let queue = component.queue(&format!("Q{i}")).open().unwrap();
        component.bind("E", &format!("Q{i}")).unwrap();
        queue
    });
    let queues = queues.collect();
    assert!(exchange.wait_for_queues(count, PATIENCE));
    (exchange, queues)
}

#[test]
fn load_balancing_gives_each_message_to_one_queue_in_turn() {
    let component = component();
    let (exchange, queues) = fan(&component, Style::LoadBalancing, 2);
    exchange.send_all(["0", "1", "2", "3"]).unwrap();
    let mut got: Vec<Vec<String>> = queues.iter().map(|queue| vec![text(queue), text(queue)]).collect();
    got.sort();
    assert_eq!(got, [["0", "2"], ["1", "3"]]);
}

#[test]
fn data_distribution_gives_each_message_to_every_queue() {
    let component = component();
    let (exchange, queues) = fan(&component, Style::DataDistribution, 3);
    exchange.send_all(["a", "b"]).unwrap();
    for queue in &queues {
        assert_eq!([text(queue), text(queue)], ["a", "b"]);
    }
    assert_eq!(exchange.stats().sent, 2);
    assert_eq!(queues[0].stats().received, 2);
}

#[test]
fn load_balancing_with_no_queue_waits() {
    let component = component();
    let exchange = component.exchange("E").open().unwrap();
    assert_eq!(exchange.try_send(b"m"), Err(SendError::WouldBlock));
    assert_eq!(exchange.send_timeout(b"m", Duration::from_millis(10)), Err(SendError::TimedOut));
    let sender = thread::spawn({
        let exchange = exchange.clone();
        move || exchange.send(b"m")
    });
    let queue = component.queue("Q").open().unwrap();
    component.bind("E", "Q").unwrap();
    assert_eq!(text(&queue), "m");
    assert_eq!(sender.join().unwrap(), Ok(()));
    assert_eq!((exchange.stats().sent, exchange.stats().dropped_unroutable), (1, 0));
}

#[test]
fn data_distribution_with_no_queue_drops_and_counts() {
    let component = component();
    let exchange = component.exchange("E").style(Style::DataDistribution).open().unwrap();
    exchange.send(b"m").unwrap();
    exchange.try_send(b"m").unwrap();
    assert_eq!((exchange.stats().sent, exchange.stats().dropped_unroutable), (2, 2));
}

#[test]
fn a_queue_gets_messages_of_every_exchange_that_is_bound_to_it() {
    let component = component();
    let queue = component.queue("Q").open().unwrap();
    let exchanges: Vec<Exchange> = ["A", "B"].map(|name| component.exchange(name).open().unwrap()).into();
    for exchange in &exchanges {
        component.bind(exchange.name(), "Q").unwrap();
        exchange.send(exchange.name()).unwrap();
    }
    let mut got = [text(&queue), text(&queue)];
    got.sort();
    assert_eq!(got, ["A", "B"]);
    assert_eq!(queue.stats().exchange_count, 2);
}

/// Fills a link without a receiver, and returns the number of messages that it took.
fn fill(exchange: &Exchange, size: usize) -> usize {
    let message = vec![7; size];
    let full = (0..100_000).find(|_| exchange.try_send(&message) == Err(SendError::WouldBlock));
    full.expect("there is an end to what is taken")
}

#[test]
fn marks_bound_what_is_taken_by_count_and_by_bytes() {
    let component = component();
    let count = |name: &str, high_count, high_bytes| {
        let exchange = component.exchange(name).high_water_count(high_count).high_water_bytes(high_bytes);
        let exchange = exchange.open().unwrap();
        let to = format!("{name}-to");
        let queue = component.queue(&to).high_water_count(high_count).high_water_bytes(high_bytes);
        let queue = queue.open().unwrap();
        component.bind(name, &to).unwrap();
        assert!(exchange.wait_for_queues(1, PATIENCE));
        let taken = fill(&exchange, 1000);
        // All accepted messages arrive, and make room again.
        (0..taken).for_each(|_| drop(queue.recv_timeout(PATIENCE).unwrap()));
        exchange.send_timeout(b"more", PATIENCE).unwrap();
        assert_eq!(text(&queue), "more");
        taken
    };
    let few = count("few", 64, 1 << 30);
    let small = count("small", 1 << 20, 64_000);
    let many = count("many", 1024, 1 << 30);
    assert!((64..1024).contains(&few), "{few}");
    assert!((64..1024).contains(&small), "{small}");
    assert!((1024..16_384).contains(&many), "{many}");
}

#[test]
fn a_low_water_mark_above_the_high_one_is_refused() {
    let error = component().exchange("E").high_water_count(10).low_water_count(11).open().unwrap_err();
    assert_eq!(error.to_string(), "E: low-water mark 11 stands above the high-water mark 10");
}

#[test]
fn a_local_name_is_the_nodes_own() {
    let (one, other) = (hasty(), hasty());
    let _queue = one.queue("local-Q").open().unwrap();
    let _same_name = other.queue("local-Q").open().unwrap();
    let _exchange = other.exchange("local-E").open().unwrap();
    let error = one.bind("local-E", "local-Q").unwrap_err();
    assert!(matches!(error, BindError::UnknownName { kind: Kind::Exchange, .. }), "{error}");
}

#[test]
fn a_process_name_is_found_by_every_node_of_the_process() {
    let (one, other) = (component(), component());
    let queue = one.queue("process-Q").scope(Scope::Process).open().unwrap();
    let exchange = other.exchange("E").open().unwrap();
    other.bind("E", "process-Q").unwrap();
    exchange.send(b"m").unwrap();
    assert_eq!(text(&queue), "m");
    let error = other.queue("process-Q").scope(Scope::Process).open().unwrap_err();
    assert_eq!(error.to_string(), "process-Q is taken: this process has an exchange or queue of that name");
}

#[test]
fn binding_waits_for_a_process_name() {
    let one = component();
    let _exchange = one.exchange("E").open().unwrap();
    let binder = thread::spawn(move || one.bind("E", "late-Q"));
    let _queue = component().queue("late-Q").scope(Scope::Process).open().unwrap();
    binder.join().unwrap().unwrap();
}

#[test]
fn a_name_is_taken_until_its_last_handle_is_dropped() {
    let component = component();
    let first = component.queue("Q").open().unwrap();
    let clone = first.clone();
    let error = component.exchange("Q").open().unwrap_err();
    assert_eq!(error.to_string(), "Q is taken: this component has an exchange or queue of that name");
    drop(first);
    assert!(component.queue("Q").open().is_err());
    drop(clone);
    component.exchange("Q").open().unwrap();
}

#[test]
fn what_cannot_be_bound_is_refused_by_name() {
    let component = hasty();
    let _exchange = component.exchange("E").open().unwrap();
    let _queue = component.queue("Q").open().unwrap();
    let check = |exchange, queue, expected: &str| {
        assert_eq!(component.bind(exchange, queue).unwrap_err().to_string(), expected);
    };
    check("Q", "Q", "Q is no exchange but queue");
    check("E", "E", "E is no queue but exchange");
    check("X", "Y", "neither exchange X nor queue Y is of this process, one of them must be");
    check("E", "Y", "there is no queue Y: waited 0 s for it in this process");
    component.bind("E", "Q").unwrap();
    check("E", "Q", "E is bound to Q already");
}

#[test]
fn what_cannot_be_opened_is_refused_by_name() {
    let component = hasty();
    let check = |result: Result<Queue, OpenError>, expected: &str| {
        assert_eq!(result.unwrap_err().to_string(), expected);
    };
    check(component.queue("").open(), ": name is empty");
    check(
        component.queue("Q").scope(Scope::Global).open(),
        "Q is to be global, but its component was built without a directory",
    );
    check(
        component.queue("Q").scope(Scope::Process).interface("lo").open(),
        "Q is process: only what is global listens on an interface or advertises one",
    );
    assert!(Component::builder().directory("host:port").build().is_err());
}

/// A minimal executor.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn any_executor_will_do() {
    let component = component();
    let (exchange, queues) = fan(&component, Style::LoadBalancing, 1);
    let sender = thread::spawn(move || {
        block_on(async {
            for i in 0..10_000u32 {
                exchange.send_async(&i.to_be_bytes()).await.unwrap();
            }
        });
        exchange
    });
    block_on(async {
        for i in 0..10_000u32 {
            assert_eq!(queues[0].recv_async().await.unwrap().body(), i.to_be_bytes());
        }
    });
    assert_eq!(sender.join().unwrap().stats().sent, 10_000);
}

#[test]
fn what_has_gathered_is_received_in_batches() {
    let component = component();
    let (exchange, queues) = fan(&component, Style::LoadBalancing, 1);
    assert_eq!(exchange.send_all((0..100u8).map(|i| vec![i]).collect::<Vec<_>>().iter()), Ok(100));
    exchange.flush();
    let (mut got, mut batch) = (Vec::new(), Vec::new());
    while got.len() < 100 {
        let count = queues[0].recv_many(&mut batch, 30).unwrap();
        assert!((1..=30).contains(&count));
        got.append(&mut batch);
    }
    assert!(got.iter().enumerate().all(|(i, message)| message.body() == [i as u8]));
}

#[test]
fn a_queue_without_messages_says_so() {
    let queue = component().queue("Q").open().unwrap();
    assert_eq!(queue.try_recv(), Err(RecvError::WouldBlock));
    assert_eq!(queue.recv_timeout(Duration::from_millis(1)), Err(RecvError::TimedOut));
}
