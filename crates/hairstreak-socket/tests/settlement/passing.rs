//! Three processes' worth of sockets in a row: what was passed on is settled where it came from when it is settled where
//! it went, and not before.

use std::collections::BTreeMap;

use hairstreak_base::Message;
use hairstreak_socket::settlement::{Batch, Settlement, Settling, TaskId};
use hairstreak_socket::{Context, Options, Pull, Push, RecvError};
use hairstreak_testkit::{until, until_eq};

use crate::endpoints::endpoint;
use crate::{LONG, by_hand, window};

/// Receives tasks and passes them on.
struct Worker {
    tasks: Pull,
    results: Push,
}

impl Worker {
    fn new(from: &str, to: &str) -> Worker {
        let context = Context::new();
        let tasks =
            Pull::with_options(&context, Options { settlement: Some(by_hand(100)), ..Options::default() })
                .unwrap();
        let results =
            Push::with_options(&context, Options { settlement: Some(window(1000)), ..Options::default() })
                .unwrap();
        assert!(results.settle_upstream(&tasks));
        results.connect(to).unwrap();
        tasks.connect(from).unwrap();
        Worker { tasks, results }
    }

    /// Passes on what comes next, up to `max`, as it came.
    fn pass(&self, max: usize) -> Result<u64, RecvError> {
        let mut messages = Vec::new();
        let Batch { runs, .. } = self.tasks.recv_batch(&mut messages, max, LONG)?;
        let mut rest = &messages[..];
        for (run, count) in runs {
            let (now, behind) = rest.split_at(count as usize);
            self.results.pass_on(run);
            now.iter().for_each(|message| self.results.send(message).unwrap());
            rest = behind;
        }
        assert!(rest.is_empty());
        self.results.flush();
        Ok(messages.len() as u64)
    }
}

/// Of a sink: it only collects.
fn collecting() -> Settlement {
    Settlement { collects: true, ..by_hand(1000) }
}

fn sink() -> (Pull, String) {
    let pull =
        Pull::with_options(&Context::new(), Options { settlement: Some(collecting()), ..Options::default() });
    let pull = pull.unwrap();
    let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
    (pull, place)
}

fn source() -> (Push, String) {
    let options = Options { settlement: Some(window(1000)), ..Options::default() };
    let push = Push::with_options(&Context::new(), options).unwrap();
    let place = push.bind(&endpoint("tcp")).unwrap().to_string();
    (push, place)
}

/// Takes `count` results, accepts them if wanted, and adds them to those seen: how often each task came.
fn take(sink: &Pull, count: usize, accepts: bool, seen: &mut BTreeMap<TaskId, (Message, usize)>) {
    let mut taken = 0;
    while taken < count {
        let mut messages = Vec::new();
        let batch = sink.recv_batch(&mut messages, count - taken, LONG).unwrap();
        let tasks = batch.runs.iter().flat_map(|(run, count)| (0..*count).map(|offset| run.plus(offset).id));
        for (task, message) in tasks.zip(&messages) {
            let entry = seen.entry(task).or_insert((message.clone(), 0));
            assert_eq!(entry.0, *message);
            entry.1 += 1;
        }
        assert!(!accepts || sink.accept_batch(&batch));
        taken += messages.len();
    }
}

#[test]
fn a_task_is_settled_where_it_came_from_when_its_result_is() {
    let ((source, from), (sink, to)) = (source(), sink());
    let worker = Worker::new(&from, &to);
    (0..50u8).for_each(|number| source.send_timeout(&[number], LONG).unwrap());
    source.flush();
    let mut passed = 0;
    while passed < 50 {
        passed += worker.pass(7).unwrap();
    }
    let mut seen = BTreeMap::new();
    take(&sink, 20, false, &mut seen);
    assert_eq!(source.unsettled().count, 50, "nothing is done yet");
    take(&sink, 30, true, &mut seen);
    // Thirty of them are; who comes when the worker has died gets the others.
    until_eq("unsettled tasks", 20, || source.unsettled().count);
    drop(worker);
    let other = Worker::new(&from, &to);
    let mut passed = 0;
    while passed < 20 {
        passed += other.pass(100).unwrap();
    }
    take(&sink, 20, true, &mut seen);
    assert!(source.wait_settled(LONG));
    assert_eq!(seen.len(), 50);
    assert!(seen.values().all(|(_, count)| *count <= 2));
}

#[test]
fn results_outlive_the_sink_and_a_rejected_one_is_rejected_where_it_came_from() {
    let ((source, from), (first, to)) = (source(), sink());
    let worker = Worker::new(&from, &to);
    (0..10u8).for_each(|number| source.send_timeout(&[number], LONG).unwrap());
    source.flush();
    let mut passed = 0;
    while passed < 10 {
        passed += worker.pass(100).unwrap();
    }
    take(&first, 10, false, &mut BTreeMap::new());
    first.close();
    until_eq("waiting tasks", 10, || worker.results.unsettled().waiting_count);
    let second = crate::rules::plain_pull(collecting());
    second.bind(&to).unwrap();
    for number in 0..10u8 {
        let delivery = second.recv_delivery(LONG).unwrap();
        assert_eq!((delivery.message.body(), delivery.deliveries), (&[number][..], 1));
        if number == 4 {
            second.reject(&delivery, "four")
        } else {
            second.accept(&delivery)
        };
    }
    // It tells when it looks in vain.
    assert!(second.recv_delivery(std::time::Duration::from_millis(1)).is_err());
    assert!(source.wait_settled(LONG));
    let refusals = source.take_refusals();
    assert_eq!((refusals.len(), refusals[0].message.body()), (1, &[4][..]));
    assert!(worker.results.take_refusals().is_empty());
}

#[test]
fn results_that_two_sinks_have_ended_with_still_come_together() {
    let ((source, from), (first, to)) = (source(), sink());
    let worker = Worker::new(&from, &to);
    (0..3u8).for_each(|number| source.send_timeout(&[number], LONG).unwrap());
    source.flush();
    let mut passed = 0;
    while passed < 3 {
        passed += worker.pass(100).unwrap();
    }
    take(&first, 3, false, &mut BTreeMap::new());
    first.close();
    until_eq("waiting tasks", 3, || worker.results.unsettled().waiting_count);
    let second = crate::rules::plain_pull(collecting());
    second.bind(&to).unwrap();
    crate::take(&second, 3, 1);
    second.close();
    until_eq("waiting tasks", 3, || worker.results.unsettled().waiting_count);
    let third = crate::rules::plain_pull(collecting());
    third.bind(&to).unwrap();
    // A sink that wants them in order would wait for ever for one that comes behind the first.
    let taken = crate::take(&third, 3, 2);
    taken.iter().for_each(|delivery| assert!(third.accept(delivery)));
    assert!(source.wait_settled(LONG));
}

#[test]
fn a_result_is_under_way_until_the_sink_settles_it() {
    let ((source, from), (first, to)) = (source(), sink());
    let worker = Worker::new(&from, &to);
    source.send_timeout("task", LONG).unwrap();
    source.flush();
    assert_eq!(worker.pass(1), Ok(1));
    let task = first.recv_delivery(LONG).unwrap().task.unwrap();
    assert!(worker.results.is_under_way(task) && !worker.results.is_under_way(task.plus(1)));
    first.close();
    until_eq("waiting tasks", 1, || worker.results.unsettled().waiting_count);
    assert!(worker.results.is_under_way(task));
    let second = crate::rules::plain_pull(collecting());
    second.bind(&to).unwrap();
    assert!(second.accept(&crate::take(&second, 1, 1)[0]));
    assert!(source.wait_settled(LONG));
    assert!(!worker.results.is_under_way(task));
}

#[test]
fn in_order_the_task_that_all_wait_for_passes_one_that_travels_alone_or_is_to() {
    let (source, from) = source();
    let context = Context::new();
    let tasks =
        Pull::with_options(&context, Options { settlement: Some(by_hand(100)), ..Options::default() });
    let settlement = Settlement { in_order: true, alone_deliveries: 1, ..window(100) };
    let results =
        Push::with_options(&context, Options { settlement: Some(settlement), ..Options::default() });
    let (tasks, results) = (tasks.unwrap(), results.unwrap());
    assert!(results.settle_upstream(&tasks));
    let to = results.bind(&endpoint("tcp")).unwrap().to_string();
    let receiver = |credit_count| {
        let pull = crate::rules::plain_pull(by_hand(credit_count));
        pull.connect(&to).unwrap();
        pull
    };
    tasks.connect(&from).unwrap();
    (0..5u8).for_each(|number| source.send_timeout(&[number], LONG).unwrap());
    source.flush();
    let mut messages = Vec::new();
    let mut first = None;
    while messages.len() < 5 {
        let batch = tasks.recv_batch(&mut messages, 5, LONG).unwrap();
        first.get_or_insert(batch.runs[0].0);
    }
    let pass_on = |number: u8| {
        results.pass_on(first.unwrap().plus(number.into()));
        results.send_timeout(&[number], LONG).unwrap();
        results.flush();
    };
    let next = |pull: &Pull| pull.recv_delivery(LONG).unwrap();

    let other = receiver(1);
    assert!(results.wait_for_peers(1, LONG));
    pass_on(2);
    assert_eq!(next(&other).message.body(), [2]);
    let one = receiver(100);
    assert!(results.wait_for_peers(2, LONG));
    pass_on(1);
    let second = next(&one);
    drop(other);
    until_eq("waiting tasks", 1, || results.unsettled().waiting_count);
    pass_on(0);
    let first = next(&one);
    assert_eq!(first.message.body(), [0]);
    assert!(one.accept(&first) && one.accept(&second));
    let third = next(&one);
    assert_eq!((third.message.body(), third.deliveries), (&[2][..], 1));
    assert!(one.accept(&third));

    pass_on(4);
    assert_eq!(next(&one).message.body(), [4]);
    drop(one);
    let last = receiver(100);
    let fifth = next(&last);
    pass_on(3);
    let fourth = next(&last);
    assert_eq!((fifth.message.body(), fourth.message.body()), (&[4][..], &[3][..]));
    assert!(last.accept(&fourth) && last.accept(&fifth));
    assert!(source.wait_settled(LONG));
}

#[test]
fn a_receiver_that_drains_gets_what_is_under_way_and_nothing_new() {
    let (source, from) = source();
    let open = || {
        let pull = crate::rules::plain_pull(by_hand(5));
        pull.connect(&from).unwrap();
        pull
    };
    let leaving = open();
    (0..5u8).for_each(|number| source.send_timeout(&[number], LONG).unwrap());
    source.flush();
    let mut taken = vec![leaving.recv_delivery(LONG).unwrap()];
    leaving.drain();
    while let Ok(delivery) =
        leaving.recv_delivery(LONG).inspect_err(|error| assert_eq!(*error, RecvError::Ended))
    {
        taken.push(delivery);
    }
    assert_eq!(taken.len(), 5);
    taken.iter().for_each(|delivery| assert!(leaving.accept(delivery)));
    assert!(source.wait_settled(LONG));
    assert!(source.try_send("new").is_err(), "there is nobody else");
    let staying = open();
    source.send_timeout("new", LONG).unwrap();
    assert_eq!(staying.recv_delivery(LONG).unwrap().message.body(), b"new");
}

#[test]
fn behind_the_end_of_all_senders_there_is_nothing_to_wait_for() {
    let (pull, place) = sink();
    let pushes = [0, 1].map(|_| {
        let options = Options { settlement: Some(window(1000)), ..Options::default() };
        let push = Push::with_options(&Context::new(), options).unwrap();
        push.connect(&place).unwrap();
        push
    });
    pushes.iter().for_each(|push| push.send_timeout("x", LONG).unwrap());
    assert!(!pushes[0].end(std::time::Duration::from_millis(1)), "it is not settled");
    for _ in 0..2 {
        let delivery = pull.recv_delivery(LONG).unwrap();
        assert!(pull.accept(&delivery));
    }
    assert!(pushes[0].end(LONG));
    assert!(pushes[0].try_send("more").is_err());
    assert_eq!(pull.recv_delivery(std::time::Duration::from_millis(5)), Err(RecvError::TimedOut));
    assert!(pushes[1].end(LONG));
    assert_eq!(pull.recv_delivery(LONG), Err(RecvError::Ended));
    drop(pushes);
    until("they are gone", || pull.peers().is_empty());
    assert_eq!(pull.recv_delivery(LONG), Err(RecvError::Ended), "they had said so");
}

#[test]
fn only_sockets_of_one_engine_settle_for_each_other() {
    let (push, _) = source();
    let settlement = Some(Settlement { settling: Settling::ByHand, ..window(10) });
    let pull = Pull::with_options(&Context::new(), Options { settlement, ..Options::default() }).unwrap();
    assert!(!push.settle_upstream(&pull));
}
