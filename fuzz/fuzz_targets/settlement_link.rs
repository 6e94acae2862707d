//! Both ends of a settled link: any commands, at any time, are taken or refused, and what an end knows stays in order.
#![no_main]

use hairstreak_wire::settlement::{
    Content, Outcome, ReceivingLink, SendingLink, SettlementTerms, TaskId, TaskRun, command, parse_group,
};
use hairstreak_wire::zmtp;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Step {
    /// A command of the peer, as it came.
    Command(Vec<u8>),
    /// A settlement with these ranges, of which some are likely to fit.
    Settle { through: u8, ranges: Vec<(u8, u8, u8)> },
    Credit(u8),
    /// Messages go through the link.
    Messages(u8),
    Begin { sequence: u64, deliveries: u16 },
    SettleHere { first: u8, count: u8, outcome: u8 },
    Expire { below: u64, begun: u8 },
    /// The sender is asked to tell what is done.
    Inform,
    Tell,
}

fuzz_target!(|input: (u8, Vec<Step>)| {
    let (window, steps) = input;
    let mut sender = SendingLink::new(SettlementTerms { credit: window.into(), ..Default::default() });
    let mut receiver = ReceivingLink::new(window.into());
    let (mut sent, mut received) = (0, 0);
    for step in steps {
        let mut bytes = Vec::new();
        match step {
            Step::Command(body) => bytes = body,
            Step::Settle { through, ranges } => {
                bytes.extend(b"\x08X-SETTLE");
                bytes.extend(u64::from(through).to_be_bytes());
                for (outcome, first, last) in ranges {
                    bytes.push(outcome);
                    bytes.extend(u64::from(first).to_be_bytes());
                    bytes.extend(u64::from(last).to_be_bytes());
                    bytes.extend([0].iter().take(usize::from(outcome == 2)));
                }
            }
            Step::Credit(number) => {
                bytes.extend(b"\x08X-CREDIT");
                bytes.extend(u64::from(number).to_be_bytes());
            }
            Step::Messages(count) => {
                if sender.next_task(sent).is_some() {
                    sent += sender.room(sent).min(count.into());
                }
                if receiver.check(received + u64::from(count)).is_ok() {
                    received += u64::from(count);
                }
            }
            Step::Begin { sequence, deliveries } => {
                let content = [Content::Nothing, Content::Group, Content::Message][(sequence % 3) as usize];
                let run = TaskRun { id: TaskId { epoch: 1, sequence }, deliveries, content };
                let mut frames = Vec::new();
                sender.begin(sent, run, &mut frames);
                assert_eq!(sender.next_task(sent), Some(run));
            }
            Step::SettleHere { first, count, outcome } => {
                let first = u64::from(first).clamp(1, received + 1);
                let end = (first + u64::from(count)).min(received + 1);
                let outcome = [Outcome::Accepted, Outcome::Released, Outcome::Rejected][usize::from(outcome % 3)];
                receiver.settle(first..end, outcome, b"");
            }
            Step::Expire { below, begun } => {
                let before = sender.unsettled_count(sent);
                let expired = sender.expire(sent, u64::from(begun).min(sent), |task| task.sequence < below);
                assert_eq!(before - expired.len() as u64, sender.unsettled_count(sent));
            }
            Step::Inform => receiver.inform(),
            Step::Tell => {
                receiver.tell(&mut Vec::new());
                assert!(!receiver.has_news());
            }
        }
        if let Some(counts) = parse_group(&bytes, bytes.len() / 4) {
            assert_eq!(counts.sum::<usize>(), bytes.len() / 4);
        }
        let parsed = zmtp::command::parse(&bytes).ok();
        if let Some(Ok(Some(parsed))) = parsed.as_ref().map(command::parse) {
            let before = sender.unsettled_count(sent);
            match sender.handle(parsed, sent) {
                Ok(settled) => assert_eq!(before - settled.count, sender.unsettled_count(sent)),
                // The link is over: what is unsettled is asked for once more.
                Err(_) => assert!(sender.unsettled(sent).all(|(range, _)| range.end <= sent + 1)),
            }
            let _ = receiver.handle(parsed, received);
        }
        assert!(sender.settled_through() <= sent && receiver.settled_through() <= received);
        let unsettled = sender.unsettled(sent).map(|(range, _)| range.end - range.start).sum::<u64>();
        assert_eq!(unsettled, sender.unsettled_count(sent));
    }
});
