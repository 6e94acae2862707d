//! Settlement from outside: the bytes of the commands, both ends of a link together, and violations of the rules.

mod commands;
mod links;
mod rules;

use hairstreak_wire::settlement::{Content, SettlementCommand, TaskId, TaskRun, command};
use hairstreak_wire::zmtp;
use hairstreak_wire::zmtp::frame::{self, COMMAND_SIZE_MAX};

/// A run of the source with epoch 7.
pub fn run(sequence: u64, deliveries: u16) -> TaskRun {
    TaskRun { id: TaskId { epoch: 7, sequence }, deliveries, content: Content::Message }
}

/// Calls `take` with each command of settlement in these frames.
pub fn for_each_command(mut bytes: &[u8], mut take: impl FnMut(SettlementCommand<'_>)) {
    while let Some(header) = frame::decode_header(bytes, COMMAND_SIZE_MAX).unwrap() {
        let (body, rest) = bytes[header.header_size..].split_at(header.body_size);
        assert!(header.command);
        take(command::parse(&zmtp::command::parse(body).unwrap()).unwrap().unwrap());
        bytes = rest;
    }
    assert!(bytes.is_empty());
}
