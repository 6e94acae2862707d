//! PLAIN (RFC 24): the client sends a user name and a password unencrypted. All later data is unencrypted, too.
//!
//! ```text
//! client                                      server
//!   HELLO     size (1) | username | size (1) | password  ---->
//!                                 are these credentials good?
//!   <----     WELCOME
//!   INITIATE  metadata            ---->
//!   <----     READY     metadata
//! ```
//!
//! libzmq's server (observed in 4.3.5) begins its ERROR with `^RROR`, because its source has `"\x5ERROR"`. Its client
//! treats a correct ERROR as a protocol violation. This side accepts the malformed ERROR, and sends correct ones.

use zeroize::Zeroizing;

use crate::zmtp::command::{self, Command};
use crate::zmtp::metadata;
use crate::zmtp::progress::{HandshakeError, Progress, unexpected};
use crate::zmtp::role::{Credentials, Login};

/// Returns the reason in the ERROR of libzmq's server.
pub(super) fn refusal_of_libzmq(body: &[u8]) -> Option<&[u8]> {
    let (&size, reason) = body.strip_prefix(b"^RROR")?.split_first()?;
    (reason.len() == usize::from(size)).then_some(reason)
}

/// The client's side.
#[derive(Clone, Debug)]
pub(in crate::zmtp) struct PlainClient {
    metadata: Vec<u8>,
    login: Login,
    welcome: bool,
}

impl PlainClient {
    pub(super) fn new(metadata: Vec<u8>, login: Login) -> PlainClient {
        PlainClient { metadata, login, welcome: false }
    }

    pub(super) fn start(&mut self, outbox: &mut Vec<u8>) {
        let (username, password) = (self.login.username(), self.login.password());
        let sizes = [username.len() as u8, password.len() as u8];
        command::encode(outbox, b"HELLO", &[&sizes[..1], username, &sizes[1..], password]);
    }

    pub(super) fn handle_command(
        &mut self,
        command: &Command<'_>,
        outbox: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        match command {
            Command::Unknown { name: b"WELCOME", data } if !self.welcome => {
                if !data.is_empty() {
                    return Err(HandshakeError::Malformed { command: "WELCOME", size: data.len() });
                }
                self.welcome = true;
                command::encode(outbox, b"INITIATE", &[&self.metadata]);
                Ok(Progress::Waits)
            }
            Command::Ready { metadata } if self.welcome => Ok(Progress::Done(metadata::parse(metadata)?)),
            other => Err(unexpected(other)),
        }
    }
}

/// The server's side.
#[derive(Clone, Debug)]
pub(in crate::zmtp) struct PlainServer {
    metadata: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hello,
    Verdict,
    Initiate,
}

impl PlainServer {
    pub(super) fn new(metadata: Vec<u8>) -> PlainServer {
        PlainServer { metadata, state: State::Hello }
    }

    pub(super) fn handle_command(
        &mut self,
        command: &Command<'_>,
        outbox: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        match (self.state, command) {
            (State::Hello, Command::Unknown { name: b"HELLO", data }) => {
                self.state = State::Verdict;
                let malformed = HandshakeError::Malformed { command: "HELLO", size: data.len() };
                parse_hello(data).map(Progress::Asks).ok_or(malformed)
            }
            (State::Initiate, Command::Unknown { name: b"INITIATE", data }) => {
                let properties = metadata::parse(data)?;
                command::encode_ready(outbox, &self.metadata);
                Ok(Progress::Done(properties))
            }
            (_, command) => Err(unexpected(command)),
        }
    }

    /// Lets the client in: sends WELCOME.
    pub(super) fn accept(&mut self, outbox: &mut Vec<u8>) {
        if self.state == State::Verdict {
            self.state = State::Initiate;
            command::encode(outbox, b"WELCOME", &[]);
        }
    }
}

fn parse_hello(data: &[u8]) -> Option<Credentials> {
    let (username, rest) = split_text(data)?;
    let (password, rest) = split_text(rest)?;
    let (username, password) = (username.to_vec(), Zeroizing::new(password.to_vec()));
    rest.is_empty().then_some(Credentials::Plain { username, password })
}

fn split_text(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&size, rest) = data.split_first()?;
    rest.split_at_checked(usize::from(size))
}
