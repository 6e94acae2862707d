//! `Version`: MDP 0.1 or 0.2, with the bytes of the commands in each.

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// 0.1, ZeroMQ RFC 7.
    V01,
    /// 0.2, ZeroMQ RFC 18.
    V02,
}

/// A worker's command, independent of its byte in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerCommand {
    /// The worker serves a service.
    Ready,
    /// The broker sends a request to the worker.
    Request,
    /// A part of the reply; 0.2 only.
    Partial,
    /// The whole reply, or its last part.
    Final,
    /// The sender is alive.
    Heartbeat,
    /// The connection ends.
    Disconnect,
}

impl Version {
    pub(super) fn client_header(self) -> &'static [u8] {
        match self {
            Version::V01 => b"MDPC01",
            Version::V02 => b"MDPC02",
        }
    }

    pub(super) fn worker_header(self) -> &'static [u8] {
        match self {
            Version::V01 => b"MDPW01",
            Version::V02 => b"MDPW02",
        }
    }

    /// Returns the byte of the command. `None` if the version does not have the command.
    pub(super) fn byte_of(self, command: WorkerCommand) -> Option<&'static [u8]> {
        let commands = self.worker_commands();
        let index = commands.iter().position(|known| *known == command)?;
        Some(&[&[1], &[2], &[3], &[4], &[5], &[6_u8]][index][..])
    }

    pub(super) fn command_of(self, frame: &[u8]) -> Option<WorkerCommand> {
        let &[byte] = frame else { return None };
        self.worker_commands().get(usize::from(byte).checked_sub(1)?).copied()
    }

    /// Returns the commands in the order of their bytes, from 01.
    fn worker_commands(self) -> &'static [WorkerCommand] {
        use WorkerCommand::{Disconnect, Final, Heartbeat, Partial, Ready, Request};
        match self {
            Version::V01 => &[Ready, Request, Final, Heartbeat, Disconnect],
            Version::V02 => &[Ready, Request, Partial, Final, Heartbeat, Disconnect],
        }
    }
}
