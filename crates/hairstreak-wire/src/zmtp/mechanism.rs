//! The security mechanism: the part of a connection between the greetings and the first traffic.
//!
//! The handshake passes the peer's commands to the mechanism, one at a time, and sends the data that the mechanism
//! appends to the outbox. A mechanism does not know greetings, the framing of the stream, or the meaning of
//! properties. It ends by returning the peer's properties. A server's mechanism asks about the credentials that it
//! was shown, and continues when it is told to [`Mechanism::accept`] them.

pub mod curve;
mod null;
mod plain;

use std::sync::Arc;

use curve::{CurveCipher, CurveClient, CurveServer};
use null::Null;
use plain::{PlainClient, PlainServer};

use super::command::Command;
use super::greeting;
use super::progress::{HandshakeError, Progress};
use super::role::{Acceptance, Entropy, Role};

/// A mechanism in progress.
#[derive(Clone, Debug)]
pub(super) enum Mechanism {
    /// No security: each side sends READY.
    Null(Null),
    PlainClient(PlainClient),
    PlainServer(PlainServer),
    CurveClient(Box<CurveClient>),
    CurveServer(Box<CurveServer>),
}

impl Mechanism {
    /// Returns the mechanism of this role. `None` for a server that leaves the choice to its client.
    pub(super) fn of_role(role: &Role, metadata: &[u8], entropy: &Entropy) -> Option<Mechanism> {
        let metadata = metadata.to_vec();
        Some(match role {
            Role::Peer => Mechanism::Null(Null::new(metadata, false)),
            Role::PlainClient(login) => Mechanism::PlainClient(PlainClient::new(metadata, login.clone())),
            Role::CurveClient { keys, server_key } => {
                let client = CurveClient::new(metadata, keys.clone(), *server_key, entropy);
                Mechanism::CurveClient(Box::new(client))
            }
            Role::Server(acceptance) => match acceptance.names()[..] {
                [only] => return Mechanism::of_server(acceptance, only, metadata, entropy),
                _ => return None,
            },
        })
    }

    /// Returns a server's side of the mechanism with that name. `None` if the server does not accept it.
    pub(super) fn of_server(
        acceptance: &Arc<Acceptance>,
        name: &str,
        metadata: Vec<u8>,
        entropy: &Entropy,
    ) -> Option<Mechanism> {
        if !acceptance.names().contains(&name) {
            return None;
        }
        Some(match (name, acceptance.curve()) {
            (greeting::CURVE, Some(keys)) => {
                let (keys, acceptance) = (keys.clone(), Arc::clone(acceptance));
                Mechanism::CurveServer(Box::new(CurveServer::new(
                    metadata,
                    keys,
                    acceptance,
                    entropy.clone(),
                )))
            }
            (greeting::PLAIN, _) => Mechanism::PlainServer(PlainServer::new(metadata)),
            _ => Mechanism::Null(Null::new(metadata, true)),
        })
    }

    /// Returns the name in the greeting.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Mechanism::Null(_) => greeting::NULL,
            Mechanism::PlainClient(_) | Mechanism::PlainServer(_) => greeting::PLAIN,
            Mechanism::CurveClient(_) | Mechanism::CurveServer(_) => greeting::CURVE,
        }
    }

    /// Returns the as-server flag in the greeting.
    pub(super) fn as_server(&self) -> bool {
        matches!(self, Mechanism::PlainServer(_) | Mechanism::CurveServer(_))
    }

    /// Starts after matching greetings: appends the data that this side sends first.
    pub(super) fn start(&mut self, outbox: &mut Vec<u8>) -> Result<Progress, HandshakeError> {
        match self {
            Mechanism::Null(null) => return Ok(null.start(outbox)),
            Mechanism::PlainClient(client) => client.start(outbox),
            Mechanism::CurveClient(client) => return client.start(outbox),
            Mechanism::PlainServer(_) | Mechanism::CurveServer(_) => {}
        }
        Ok(Progress::Waits)
    }

    /// Handles a command other than ERROR and appends the answer.
    pub(super) fn handle_command(
        &mut self,
        command: &Command<'_>,
        outbox: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        match self {
            Mechanism::Null(null) => null.handle_command(command),
            Mechanism::PlainClient(client) => client.handle_command(command, outbox),
            Mechanism::PlainServer(server) => server.handle_command(command, outbox),
            Mechanism::CurveClient(client) => client.handle_command(command, outbox),
            Mechanism::CurveServer(server) => server.handle_command(command, outbox),
        }
    }

    /// Returns the reason of a refusal that is not a valid ZMTP command, but is meant as an ERROR.
    pub(super) fn odd_refusal<'a>(&self, body: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Mechanism::PlainClient(_) => plain::refusal_of_libzmq(body),
            _ => None,
        }
    }

    /// Accepts the credentials in question.
    pub(super) fn accept(&mut self, outbox: &mut Vec<u8>) -> Progress {
        match self {
            Mechanism::Null(null) => null.accept(outbox),
            Mechanism::PlainServer(server) => server.accept(outbox),
            Mechanism::CurveServer(server) => return server.accept(outbox),
            Mechanism::PlainClient(_) | Mechanism::CurveClient(_) => {}
        }
        Progress::Waits
    }

    /// Returns the cipher of the traffic, once, when the mechanism is complete. `None` if the traffic is not
    /// encrypted.
    pub(super) fn take_cipher(&mut self) -> Option<Box<CurveCipher>> {
        match self {
            Mechanism::CurveClient(client) => client.take_cipher(),
            Mechanism::CurveServer(server) => server.take_cipher(),
            _ => None,
        }
    }
}
