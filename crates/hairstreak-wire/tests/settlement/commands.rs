//! The bytes of the commands, and refusals of other bytes.

use hairstreak_wire::settlement::command::{
    REJECTION_SIZE_MAX, encode_credit, encode_done, encode_drain, encode_end, encode_entry, encode_inform,
    encode_pace, encode_settle, encode_tasks, parse,
};
use hairstreak_wire::settlement::{Content, Entry, Outcome, SettlementCommand, SettlementError, TaskRun};
use hairstreak_wire::zmtp::Command;

use crate::{for_each_command, run};

/// The name of the command, if the frame is one.
fn parse_data(name: &[u8], data: &[u8]) -> Result<Option<&'static str>, SettlementError> {
    parse(&Command::Unknown { name, data }).map(|command| command.map(|command| command.name()))
}

fn entry(outcome: Outcome, first: u64, last: u64, reason: &[u8]) -> Entry<'_> {
    Entry { outcome, first, last, reason }
}

#[test]
fn each_command_is_what_the_documentation_says() {
    let mut bytes = Vec::new();
    encode_tasks(&mut bytes, run(258, 3));
    assert_eq!(bytes, b"\x04\x1b\x07X-TASKS\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x01\x02\0\x03\0");
    bytes.clear();
    encode_end(&mut bytes, 9);
    assert_eq!(bytes, b"\x04\x0e\x05X-END\0\0\0\0\0\0\0\x09");
    bytes.clear();
    encode_credit(&mut bytes, 1000);
    assert_eq!(bytes, b"\x04\x11\x08X-CREDIT\0\0\0\0\0\0\x03\xe8");
    bytes.clear();
    encode_drain(&mut bytes);
    assert_eq!(bytes, b"\x04\x08\x07X-DRAIN");
    bytes.clear();
    encode_done(&mut bytes, &[(run(258, 0).id, 5)]);
    assert_eq!(bytes, b"\x04\x1f\x06X-DONE\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x05");
    bytes.clear();
    encode_inform(&mut bytes);
    assert_eq!(bytes, b"\x04\x09\x08X-INFORM");
    bytes.clear();
    encode_pace(&mut bytes, 2500);
    assert_eq!(bytes, b"\x04\x0f\x06X-PACE\0\0\0\0\0\0\x09\xc4");
    let mut entries = Vec::new();
    encode_entry(&mut entries, &entry(Outcome::Accepted, 4, 5, b""));
    encode_entry(&mut entries, &entry(Outcome::Rejected, 7, 7, b"no"));
    bytes.clear();
    encode_settle(&mut bytes, 2, &entries);
    let parts: [&[u8]; 4] = [
        b"\x04\x36\x08X-SETTLE\0\0\0\0\0\0\0\x02",
        b"\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x05",
        b"\x02\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x07",
        b"\x02no",
    ];
    assert_eq!(bytes, parts.concat());
}

#[test]
fn commands_come_back_as_they_were_sent() {
    let long = [b'x'; REJECTION_SIZE_MAX + 9];
    let sent = [
        entry(Outcome::Accepted, 4, 5, b""),
        entry(Outcome::Rejected, 9, 9, &long),
        entry(Outcome::Released, 7, 8, b""),
        entry(Outcome::Rejected, 10, u64::MAX, b""),
    ];
    let (mut bytes, mut entries) = (Vec::new(), Vec::new());
    sent.iter().for_each(|entry| encode_entry(&mut entries, entry));
    encode_settle(&mut bytes, 3, &entries);
    let blank = TaskRun { content: Content::Nothing, ..run(u64::MAX, u16::MAX) };
    encode_tasks(&mut bytes, blank);
    let group = TaskRun { content: Content::Group, ..blank };
    encode_tasks(&mut bytes, group);
    let done = [(run(3, 0).id, 1), (run(9, 0).id, u64::MAX)];
    encode_done(&mut bytes, &done);
    encode_pace(&mut bytes, u64::MAX);
    encode_inform(&mut bytes);
    encode_drain(&mut bytes);
    let mut seen = 0;
    for_each_command(&bytes, |command| {
        seen += 1;
        match command {
            SettlementCommand::Settle { through, entries } => {
                assert_eq!(through, 3);
                let cut = entry(Outcome::Rejected, 9, 9, &long[..REJECTION_SIZE_MAX]);
                assert_eq!(entries.collect::<Vec<_>>(), [sent[0], cut, sent[2], sent[3]]);
            }
            SettlementCommand::Tasks(got) => assert_eq!(got, if seen == 2 { blank } else { group }),
            SettlementCommand::Done(tasks) => assert_eq!(tasks.collect::<Vec<_>>(), done),
            SettlementCommand::Pace(nanos) => assert_eq!(nanos, u64::MAX),
            SettlementCommand::Inform => assert_eq!(seen, 6),
            other => assert_eq!(other, SettlementCommand::Drain),
        }
    });
    assert_eq!(seen, 7);
}

#[test]
fn a_command_of_the_wrong_size_is_named() {
    let good: [(&[u8], usize); 7] = [
        (b"X-TASKS", 19),
        (b"X-END", 8),
        (b"X-CREDIT", 8),
        (b"X-DRAIN", 0),
        (b"X-DONE", 24),
        (b"X-PACE", 8),
        (b"X-INFORM", 0),
    ];
    for (name, good_size) in good {
        for size in 0..40 {
            let data = vec![1; size];
            let result = parse_data(name, &data);
            assert_eq!(result.is_ok(), size == good_size, "{} of {size}", name.escape_ascii());
            if let Err(error) = result {
                let text = format!("malformed {} with {size} bytes of data", name.escape_ascii());
                assert_eq!(error.to_string(), text);
            }
        }
    }
    let mut settle = 5u64.to_be_bytes().to_vec();
    encode_entry(&mut settle, &entry(Outcome::Rejected, 1, 2, b"why"));
    for size in 0..settle.len() {
        assert_eq!(parse_data(b"X-SETTLE", &settle[..size]).is_ok(), size == 8, "{size}");
    }
    assert!(parse_data(b"X-SETTLE", &settle).is_ok());
    assert!(parse_data(b"X-DONE", &[1; 48]).is_ok());
    assert!(parse_data(b"X-DONE", &[0; 24]).is_err(), "no task");
    assert_eq!(parse_data(b"X-OTHER", &settle), Ok(None));
    assert_eq!(parse(&Command::Pong { context: b"X-END" }), Ok(None));
}

#[test]
fn tasks_are_empty_or_groups_or_neither() {
    let with = |flags: u8| parse_data(b"X-TASKS", &[&[0; 18][..], &[flags]].concat());
    for flags in 0..=u8::MAX {
        let expected =
            if flags < 3 { Ok(Some("X-TASKS")) } else { Err(SettlementError::UnknownFlags { flags }) };
        assert_eq!(with(flags), expected);
    }
}

#[test]
fn an_entry_has_a_known_outcome_and_a_range() {
    let with = |outcome: u8, first: u64, last: u64| {
        [
            &[0; 8][..],
            &[outcome],
            &first.to_be_bytes(),
            &last.to_be_bytes(),
            &[0][..usize::from(outcome == 2)],
        ]
        .concat()
    };
    assert!(parse_data(b"X-SETTLE", &with(2, 1, 1)).is_ok());
    assert_eq!(parse_data(b"X-SETTLE", &with(3, 1, 1)), Err(SettlementError::UnknownOutcome { outcome: 3 }));
    for (first, last) in [(0, 0), (0, 5), (5, 4), (u64::MAX, 1)] {
        assert_eq!(
            parse_data(b"X-SETTLE", &with(0, first, last)),
            Err(SettlementError::NoRange { first, last })
        );
    }
}
