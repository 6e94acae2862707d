//! Violations of the rules, at each end of a link.

use hairstreak_wire::settlement::command::{encode_done, encode_entry, encode_settle};
use hairstreak_wire::settlement::{
    Entry, Outcome, ReceivingLink, Refused, SendingLink, Settled, SettlementCommand, SettlementError,
    SettlementTerms,
};

use crate::{for_each_command, run};

fn sender(credit: u64) -> SendingLink {
    let mut link = SendingLink::new(SettlementTerms { credit, ..Default::default() });
    link.begin(0, run(100, 0), &mut Vec::new());
    link
}

/// The verdict of a sender that has sent 10 messages, on a settlement.
fn settle(
    link: &mut SendingLink,
    through: u64,
    ranges: &[(Outcome, u64, u64)],
) -> Result<Settled, SettlementError> {
    let (mut bytes, mut entries) = (Vec::new(), Vec::new());
    for &(outcome, first, last) in ranges {
        encode_entry(&mut entries, &Entry { outcome, first, last, reason: b"" });
    }
    encode_settle(&mut bytes, through, &entries);
    let mut result = None;
    for_each_command(&bytes, |command| result = Some(link.handle(command, 10)));
    result.unwrap()
}

#[test]
fn a_sender_knows_which_tasks_are_not_settled_and_may_have_been_seen() {
    let mut link = sender(20);
    settle(&mut link, 2, &[(Outcome::Accepted, 5, 9)]).unwrap();
    let unsettled = |sequence| link.has_unsettled(run(sequence, 0).id, 10);
    let all: Vec<u64> = (90..120).filter(|sequence| unsettled(*sequence)).collect();
    assert_eq!(all, [102, 103, 109]);
    let lost: Vec<_> = link.lost(10, 4).collect();
    assert_eq!(lost, [(3, run(102, 1)), (4, run(103, 1)), (10, run(109, 0))]);
}

#[test]
fn nothing_is_settled_that_was_not_sent() {
    let error = |number| Err(SettlementError::NeverSent { number, sent: 10 });
    assert_eq!(settle(&mut sender(20), 11, &[]), error(11));
    assert_eq!(settle(&mut sender(20), u64::MAX, &[]), error(u64::MAX));
    assert_eq!(settle(&mut sender(20), 0, &[(Outcome::Accepted, 10, 11)]), error(11));
    assert_eq!(settle(&mut sender(20), 0, &[(Outcome::Released, 5, u64::MAX)]), error(u64::MAX));
    assert!(settle(&mut sender(20), 10, &[]).is_ok());
}

#[test]
fn nothing_is_settled_twice() {
    let mut link = sender(20);
    assert_eq!(settle(&mut link, 2, &[(Outcome::Accepted, 5, 6)]).unwrap().count, 4);
    for (first, last) in [(2, 2), (1, 9), (5, 5), (4, 5), (6, 9)] {
        let ranges = [(Outcome::Released, 10, 10), (Outcome::Released, first, last)];
        let error = settle(&mut link, 2, &ranges).unwrap_err();
        assert!(matches!(error, SettlementError::SettledTwice { .. }), "{first} to {last}: {error}");
    }
    assert_eq!(link.unsettled_count(10), 6, "a bad command settles nothing");
    assert_eq!(settle(&mut link, 1, &[]), Err(SettlementError::SettledTwice { number: 1 }));
    assert_eq!(settle(&mut link, 7, &[]).unwrap().count, 3, "5 and 6 were known");
    assert_eq!(settle(&mut link, 7, &[]).unwrap().count, 0, "as often as one likes");
}

#[test]
fn what_is_not_accepted_is_told_with_its_reason() {
    let mut link = sender(20);
    let ranges = [(Outcome::Released, 2, 3), (Outcome::Rejected, 5, 5), (Outcome::Accepted, 9, 10)];
    let settled = settle(&mut link, 6, &ranges).unwrap();
    assert_eq!(settled.count, 8);
    assert_eq!(settled.accepted, [(run(108, 0), 2), (run(100, 0), 1), (run(103, 0), 1), (run(105, 0), 1)]);
    let refused = |numbers, run, outcome| Refused { numbers, run, outcome, reason: Vec::new() };
    let first = refused(2..4, run(101, 0), Outcome::Released);
    assert_eq!(settled.refused, [first, refused(5..6, run(104, 0), Outcome::Rejected)]);
    assert_eq!(link.unsettled(10).collect::<Vec<_>>(), [(7..9, run(106, 0))]);
    assert_eq!((link.settled_through(), link.unsettled_count(10)), (6, 2));
}

#[test]
fn credit_only_grows_and_a_drained_link_has_no_room() {
    let mut link = sender(20);
    assert_eq!(link.room(15), 5);
    link.handle(SettlementCommand::Credit(20), 15).unwrap();
    let error = SettlementError::CreditBackwards { credit: 19, before: 20 };
    assert_eq!(link.handle(SettlementCommand::Credit(19), 15), Err(error));
    link.handle(SettlementCommand::Credit(30), 15).unwrap();
    assert_eq!(link.room(15), 15);
    link.handle(SettlementCommand::Drain, 15).unwrap();
    assert_eq!((link.room(15), link.drains()), (0, true));
    let mut bytes = Vec::new();
    link.end(15, &mut bytes);
    link.end(15, &mut bytes);
    let mut ends = Vec::new();
    for_each_command(&bytes, |command| ends.push(matches!(command, SettlementCommand::End { count: 15 })));
    assert_eq!(ends, [true]);
}

#[test]
fn each_end_has_its_own_commands() {
    let mut link = sender(20);
    for command in [SettlementCommand::Tasks(run(1, 0)), SettlementCommand::End { count: 10 }] {
        let error = SettlementError::WrongEnd { command: command.name(), end: "receives" };
        assert_eq!(link.handle(command, 10), Err(error));
    }
    let mut link = ReceivingLink::new(5);
    for command in [SettlementCommand::Credit(1), SettlementCommand::Drain, SettlementCommand::Inform] {
        let error = SettlementError::WrongEnd { command: command.name(), end: "sends" };
        assert_eq!(link.handle(command, 0), Err(error));
    }
}

#[test]
fn a_sender_tells_what_is_done_if_it_was_asked_and_it_is_asked_once() {
    let mut done = Vec::new();
    encode_done(&mut done, &[(run(3, 0).id, 2)]);
    let (mut sender, mut receiver) = (sender(20), ReceivingLink::new(5));
    let unasked = SettlementError::WrongEnd { command: "X-DONE", end: "sends" };
    for_each_command(&done, |command| assert_eq!(receiver.handle(command, 0), Err(unasked.clone())));
    let mut asked = Vec::new();
    receiver.inform();
    receiver.inform();
    assert!(receiver.is_due());
    receiver.tell(&mut asked);
    assert_eq!(asked, b"\x04\x09\x08X-INFORM");
    assert!(!sender.informs());
    for_each_command(&asked, |command| drop(sender.handle(command, 10).unwrap()));
    assert!(sender.informs());
    for_each_command(&done, |command| assert_eq!(receiver.handle(command, 0), Ok(())));
}

#[test]
fn a_sender_keeps_to_its_credit_names_its_tasks_and_ends_once_with_the_right_count() {
    let mut link = ReceivingLink::new(5);
    assert_eq!(link.check(1), Err(SettlementError::NoTask { number: 1 }));
    link.handle(SettlementCommand::Tasks(run(0, 0)), 0).unwrap();
    assert_eq!(link.check(5), Ok(()));
    let over = SettlementError::OverCredit { number: 6, credit: 5 };
    assert_eq!(link.check(6), Err(over.clone()));
    assert_eq!(link.handle(SettlementCommand::End { count: 6 }, 6), Err(over));
    for count in [0, 4, 6, u64::MAX] {
        let error = SettlementError::WrongEndCount { count, received: 5 };
        assert_eq!(link.handle(SettlementCommand::End { count }, 5), Err(error));
    }
    link.handle(SettlementCommand::End { count: 5 }, 5).unwrap();
    assert!(link.has_ended());
    for command in [SettlementCommand::Tasks(run(9, 0)), SettlementCommand::End { count: 5 }] {
        assert_eq!(link.handle(command, 5), Err(SettlementError::AfterEnd { what: command.name() }));
    }
    let mut link = ReceivingLink::new(9);
    link.handle(SettlementCommand::Tasks(run(0, 0)), 0).unwrap();
    link.handle(SettlementCommand::End { count: 5 }, 5).unwrap();
    assert_eq!(
        (link.check(5), link.check(6)),
        (Ok(()), Err(SettlementError::AfterEnd { what: "a message" }))
    );
}

#[test]
fn a_sequence_that_would_wrap_is_refused_before_anybody_counts_on() {
    for sequence in [1 << 63, u64::MAX - 1, u64::MAX] {
        let mut link = ReceivingLink::new(5);
        let error = SettlementError::SequenceTooLarge { sequence };
        assert_eq!(link.handle(SettlementCommand::Tasks(run(sequence, 0)), 0), Err(error));
    }
    let mut link = ReceivingLink::new(5);
    assert_eq!(link.handle(SettlementCommand::Tasks(run((1 << 63) - 1, 0)), 0), Ok(()));
}

#[test]
fn a_receiver_settles_by_task_what_it_was_handed_and_has_not_settled() {
    let mut link = ReceivingLink::new(100);
    link.handle(SettlementCommand::Tasks(run(10, 0)), 0).unwrap();
    link.handle(SettlementCommand::Tasks(run(12, 1)), 6).unwrap();
    assert!(link.settle(2..3, Outcome::Accepted, b""));
    assert_eq!(
        link.settle_tasks(run(11, 0).id, 3, 7, Outcome::Accepted, b""),
        3,
        "3, 4 and again 12 as message 7"
    );
    assert_eq!(link.settle_tasks(run(11, 0).id, 3, 8, Outcome::Accepted, b""), 1, "13 as message 8");
    assert_eq!(link.settle_tasks(run(0, 0).id, u64::MAX, 4, Outcome::Rejected, b""), 1);
    assert_eq!(link.settled_through(), 4);
}

#[test]
fn a_receiver_settles_a_message_once() {
    let mut link = ReceivingLink::new(100);
    link.handle(SettlementCommand::Tasks(run(0, 0)), 0).unwrap();
    assert!(link.settle(3..5, Outcome::Accepted, b""));
    assert!(!link.settle(4..6, Outcome::Rejected, b"late"));
    link.accept_through(6);
    assert!(!link.settle(2..3, Outcome::Released, b""));
    assert_eq!(link.settled_through(), 6);
}
