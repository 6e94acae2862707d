//! Two stages that pass tasks on: the first hears what is done from where it has them, and before it gets others for them.

use std::thread;

use hairstreak_base::Message;
use hairstreak_socket::settlement::{Content, Delivery, Settlement, TaskId, TaskRun};
use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::{until, until_eq};
use hairstreak_wire::settlement::command::{encode_done, encode_tasks};

use crate::endpoints::endpoint;
use crate::rules::{Raw, encoded};
use crate::{Cell, LONG, ROLES, by_hand, by_task, check, take, window};

/// Receives tasks and passes them on to those who connect.
struct Stage {
    tasks: Pull,
    results: Push,
    place: String,
}

/// With these, no PING, nor its answer, takes along what was not written.
fn options(role: Options, settlement: Settlement) -> Options {
    Options { security: role.security, heartbeat_ms: 0, settlement: Some(settlement), ..Options::default() }
}

impl Stage {
    fn new(cell: Cell, from: &str) -> Stage {
        let context = Context::new();
        let pulls = options(cell.roles.client(), by_hand(1000));
        let pushes = options(cell.roles.server(), window(1000));
        let tasks = Pull::with_options(&context, pulls).unwrap();
        let results = Push::with_options(&context, pushes).unwrap();
        assert!(results.settle_upstream(&tasks));
        let place = results.bind(&endpoint(cell.transport)).unwrap().to_string();
        tasks.connect(from).unwrap();
        Stage { tasks, results, place }
    }

    /// Passes on the next tasks, which nobody has had before.
    fn pass(&self, count: usize) {
        for Delivery { message, task, .. } in take(&self.tasks, count, 0) {
            self.pass_on(task.unwrap(), &message);
        }
    }

    fn next(&self) -> (TaskId, Message) {
        let next = self.tasks.recv_delivery(LONG).unwrap();
        (next.task.unwrap(), next.message)
    }

    fn next_batch(&self) -> (TaskId, Message) {
        let mut messages = Vec::new();
        let batch = self.tasks.recv_batch(&mut messages, 1, LONG).unwrap();
        (batch.runs[0].0.id, messages.remove(0))
    }

    fn pass_on(&self, id: TaskId, message: &Message) {
        self.results.pass_on(TaskRun { id, deliveries: 0, content: Content::Message });
        self.results.send(message).unwrap();
        self.results.flush();
    }
}

fn send(source: &Push, numbers: std::ops::Range<u8>) {
    numbers.for_each(|number| source.send_timeout(&[number], LONG).unwrap());
    source.flush();
}

/// Waits until the source tells the first stage what is done: it has to be asked. Leaves nothing unsettled.
fn until_told(source: &Push, reporter: &Pull, one: &Stage, two: &Stage) {
    until("the stage is told", || {
        let first = source.first_unsettled().unwrap();
        send(source, 0..1);
        one.pass(1);
        until("the reporter is there", || reporter.report(&[(first, 1)]));
        assert!(source.wait_settled(LONG));
        send(source, 1..2);
        one.pass(1);
        let is_told = one.results.unsettled().count == 1;
        take(&two.tasks, 2, 0).iter().for_each(|delivery| assert!(two.tasks.accept(delivery)));
        assert!(one.results.wait_settled(LONG) && source.wait_settled(LONG));
        is_told
    });
}

#[test]
fn what_is_reported_to_the_source_the_next_stage_is_not_sent_again() {
    check(|cell| {
        let (source, from) = cell.push(window(1000));
        let one = Stage::new(cell, &from);
        let two = Stage::new(cell, &one.place);
        let (sink, reporter) = (cell.pull(&two.place, by_hand(1000)), cell.pull(&from, by_hand(0)));
        until_told(&source, &reporter, &one, &two);
        let first = source.first_unsettled().unwrap();
        send(&source, 0..10);
        one.pass(10);
        two.pass(10);
        let results = take(&sink, 10, 0);
        assert!(reporter.report(&[(first.plus(2), 3), (first.plus(8), 1)]));
        until_eq("unsettled tasks", 6, || one.results.unsettled().count);
        // Behind it on the same links, had the last stage been told.
        send(&source, 10..11);
        one.pass(1);
        two.pass(1);
        assert_eq!(two.results.unsettled().count, 11, "the last stage is not");
        drop((two, sink));
        let again = Stage::new(cell, &one.place);
        let again = take(&again.tasks, 7, 1);
        let left = [0, 1, 5, 6, 7, 9].map(|at: usize| &results[at]);
        assert!(by_task(left).into_iter().eq(by_task(&again[..6])));
        assert_eq!(again[6].task, Some(first.plus(10)));
    });
}

#[test]
fn a_stage_hears_what_is_done_before_it_gets_the_task_that_takes_its_place() {
    check(|cell| {
        let (source, from) = cell.push(window(1));
        let one = Stage::new(cell, &from);
        let two = Stage::new(cell, &one.place);
        let reporter = cell.pull(&from, by_hand(0));
        until_told(&source, &reporter, &one, &two);
        send(&source, 0..1);
        one.pass(1);
        take(&two.tasks, 1, 0);
        for number in 1..20 {
            let done = source.first_unsettled().unwrap();
            assert!(reporter.report(&[(done, 1)]));
            send(&source, number..number + 1);
            let (next, message) = if number % 2 == 0 { one.next() } else { one.next_batch() };
            assert_eq!(one.results.unsettled().count, 0, "{done:?} was done before {next:?}");
            one.pass_on(next, &message);
            take(&two.tasks, 1, 0);
        }
    });
}

#[test]
fn a_source_that_comes_when_there_is_another_stage_tells_it_too() {
    check(|cell| {
        let (_first, from) = cell.push(window(1000));
        let one = Stage::new(cell, &from);
        let two = Stage::new(cell, &one.place);
        assert!(one.results.wait_for_peers(1, LONG));
        let source = Push::with_options(&Context::new(), options(cell.roles.server(), window(1000))).unwrap();
        let from = source.bind(&endpoint(cell.transport)).unwrap().to_string();
        one.tasks.connect(&from).unwrap();
        let reporter = cell.pull(&from, by_hand(0));
        until_told(&source, &reporter, &one, &two);
        let first = source.first_unsettled().unwrap();
        send(&source, 0..3);
        one.pass(3);
        take(&two.tasks, 3, 0);
        // Whether somebody waits for the next task or not.
        assert!(reporter.report(&[(first, 1)]));
        until_eq("unsettled tasks", 2, || one.results.unsettled().count);
        thread::scope(|scope| {
            let next = scope.spawn(|| one.next());
            assert!(reporter.report(&[(first.plus(1), 1)]));
            until_eq("unsettled tasks", 1, || one.results.unsettled().count);
            send(&source, 3..4);
            assert_eq!(next.join().unwrap().0, first.plus(3));
        });
    });
}

#[test]
fn what_is_told_to_be_done_with_the_end_of_the_stream_is_done() {
    let (mechanism, roles) = &ROLES[0];
    let cell = Cell { transport: "tcp", mechanism, roles };
    let (_source, from) = cell.push(window(1000));
    let one = Stage::new(cell, &from);
    let place = one.tasks.bind(&endpoint("tcp")).unwrap().to_string();
    let two = Stage::new(cell, &one.place);
    assert!(one.results.wait_for_peers(1, LONG));
    // What is said last may be read before the end is there: mostly it is not.
    for epoch in 0..20 {
        let run = TaskRun { id: TaskId { epoch, sequence: 0 }, deliveries: 0, content: Content::Message };
        let mut raw = Raw::connect(&place, "PUSH");
        raw.read_to(b"X-INFORM");
        raw.send(&[&encoded(|out| encode_tasks(out, run))[..], b"\0\x01x"].concat());
        one.pass(1);
        take(&two.tasks, 1, 0);
        raw.send(&encoded(|out| encode_done(out, &[(run.id, 1)])));
        drop(raw);
        until_eq("unsettled tasks", 0, || one.results.unsettled().count);
    }
}
