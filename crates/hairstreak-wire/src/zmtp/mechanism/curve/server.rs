//! `CurveServer`: the server's side of a CURVE handshake. Between WELCOME and INITIATE it keeps no state for the
//! client.

use std::sync::Arc;

use super::cookie::COOKIE_SIZE;
use super::key::{KEY_SIZE, KeyPair, PublicKey, SecretKey};
use super::sealed::{BoxKey, TAG_SIZE, numbered, salted};
use super::traffic::CurveCipher;
use crate::zmtp::command::{self, Command};
use crate::zmtp::metadata::{self, Properties};
use crate::zmtp::progress::{HandshakeError, Progress, unexpected};
use crate::zmtp::role::{Acceptance, Credentials, Entropy};

const READY_NUMBER: u64 = 1;
/// Size of the data behind the name of a HELLO, in bytes.
const HELLO_SIZE: usize = 2 + 72 + KEY_SIZE + 8 + TAG_SIZE + 64;
const VOUCH_SIZE: usize = TAG_SIZE + 2 * KEY_SIZE;

/// A server during its handshake.
#[derive(Clone, Debug)]
pub(in crate::zmtp) struct CurveServer {
    metadata: Vec<u8>,
    keys: KeyPair,
    acceptance: Arc<Acceptance>,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Hello(Entropy),
    Initiate,
    /// The client has proved its identity and waits for the verdict.
    Verdict {
        key: BoxKey,
        received: u64,
        properties: Properties,
    },
    Over(Option<Box<CurveCipher>>),
}

impl CurveServer {
    pub(in crate::zmtp) fn new(
        metadata: Vec<u8>,
        keys: KeyPair,
        acceptance: Arc<Acceptance>,
        entropy: Entropy,
    ) -> CurveServer {
        CurveServer { metadata, keys, acceptance, state: State::Hello(entropy) }
    }

    pub(in crate::zmtp) fn handle_command(
        &mut self,
        command: &Command<'_>,
        outbox: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        match (&self.state, command) {
            (State::Hello(entropy), Command::Unknown { name: b"HELLO", data }) => {
                self.welcome(data, entropy, outbox)?;
                self.state = State::Initiate;
                Ok(Progress::Waits)
            }
            (State::Initiate, Command::Unknown { name: b"INITIATE", data }) => self.examine(data),
            (_, command) => Err(unexpected(command)),
        }
    }

    fn welcome(&self, data: &[u8], entropy: &Entropy, outbox: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let malformed = || HandshakeError::Malformed { command: "HELLO", size: data.len() };
        let data: &[u8; HELLO_SIZE] = data.try_into().map_err(|_| malformed())?;
        let Some((&[1, 0], rest)) = data.split_first_chunk() else { return Err(malformed()) };
        let (client, rest) = rest[72..].split_first_chunk().ok_or_else(malformed)?;
        let (number, signature) = rest.split_first_chunk().ok_or_else(malformed)?;
        let client = PublicKey::from_bytes(*client);
        let sealed = HandshakeError::Sealed { command: "HELLO" };
        let key = BoxKey::agree(&client, self.keys.secret()).ok_or(sealed.clone())?;
        let opened = key.open(&numbered(b"CurveZMQHELLO---", number), signature).ok_or(sealed)?;
        if opened.iter().any(|&byte| byte != 0) {
            return Err(malformed());
        }
        let (transient, welcome_salt, cookie_salt) = entropy.for_server();
        let transient = KeyPair::new(SecretKey::from_bytes(transient));
        let cookie = self.acceptance.cookies().seal(&cookie_salt, &client, transient.secret());
        let cookie = cookie.ok_or(HandshakeError::Cookie)?;
        let inside: [&[u8]; 2] = [transient.public().as_bytes(), &cookie];
        let sealed = key.seal(&salted(b"WELCOME-", &welcome_salt), &inside);
        command::encode(outbox, b"WELCOME", &[&welcome_salt, &sealed]);
        Ok(())
    }

    /// Handles INITIATE: checks the cookie and the client's proof of identity.
    fn examine(&mut self, data: &[u8]) -> Result<Progress, HandshakeError> {
        let malformed = HandshakeError::Malformed { command: "INITIATE", size: data.len() };
        let parts = data.split_first_chunk::<COOKIE_SIZE>();
        let parts = parts.and_then(|(cookie, rest)| Some((cookie, rest.split_first_chunk()?)));
        let (cookie, (number, sealed)) = parts.ok_or(malformed.clone())?;
        let (transient, ours) = self.acceptance.cookies().open(cookie).ok_or(HandshakeError::Cookie)?;
        let wrong = HandshakeError::Sealed { command: "INITIATE" };
        let key = BoxKey::agree(&transient, &ours).ok_or(wrong.clone())?;
        let opened = key.open(&numbered(b"CurveZMQINITIATE", number), sealed).ok_or(wrong)?;
        let parts = opened.split_first_chunk::<KEY_SIZE>();
        let parts = parts.and_then(|(client, rest)| Some((client, rest.split_first_chunk()?)));
        let (client, (salt, rest)) = parts.ok_or(malformed.clone())?;
        let (vouch, metadata) = rest.split_first_chunk::<VOUCH_SIZE>().ok_or(malformed)?;
        let client = PublicKey::from_bytes(*client);
        let vouched =
            BoxKey::agree(&client, &ours).and_then(|key| key.open(&salted(b"VOUCH---", salt), vouch));
        let expected = [*transient.as_bytes(), *self.keys.public().as_bytes()];
        if vouched.is_none_or(|vouched| *vouched != *expected.as_flattened()) {
            return Err(HandshakeError::Vouch);
        }
        let properties = metadata::parse(metadata)?;
        self.state = State::Verdict { key, received: u64::from_be_bytes(*number), properties };
        Ok(Progress::Asks(Credentials::Curve { public_key: client }))
    }

    /// Lets the client in: sends READY.
    pub(in crate::zmtp) fn accept(&mut self, outbox: &mut Vec<u8>) -> Progress {
        match std::mem::replace(&mut self.state, State::Over(None)) {
            State::Verdict { key, received, properties } => {
                let number = READY_NUMBER.to_be_bytes();
                let sealed = key.seal(&numbered(b"CurveZMQREADY---", &number), &[&self.metadata]);
                command::encode(outbox, b"READY", &[&number, &sealed]);
                let cipher = CurveCipher::new(key, true, READY_NUMBER, received);
                self.state = State::Over(Some(Box::new(cipher)));
                Progress::Done(properties)
            }
            other => {
                self.state = other;
                Progress::Waits
            }
        }
    }

    pub(in crate::zmtp) fn take_cipher(&mut self) -> Option<Box<CurveCipher>> {
        match &mut self.state {
            State::Over(cipher) => cipher.take(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::zmtp::frame::decode_header;
    use crate::zmtp::mechanism::curve::CurveClient;

    fn keys(byte: u8) -> KeyPair {
        KeyPair::new(SecretKey::from_bytes([byte; KEY_SIZE]))
    }

    fn first_command(frame: &[u8]) -> Command<'_> {
        let header = decode_header(frame, 0).expect("a valid header").expect("a whole header");
        command::parse(&frame[header.header_size..]).expect("a command")
    }

    /// Returns a server's answer to a client that claims to be 2 and has the secret key of `secret`.
    fn outcome_of(secret: u8, server_key: u8) -> Result<Progress, HandshakeError> {
        let entropy = Entropy::new([9; Entropy::SIZE].into());
        let acceptance = Arc::new(Acceptance::new(false, false, Some(keys(1))));
        acceptance.renew_cookies(Duration::ZERO, &entropy);
        let claimed = KeyPair::claimed(*keys(2).public(), keys(secret).secret().clone());
        let mut client = CurveClient::new(Vec::new(), claimed, *keys(server_key).public(), &entropy);
        let mut server = CurveServer::new(Vec::new(), keys(1), acceptance, entropy);
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        client.start(&mut to_server)?;
        server.handle_command(&first_command(&to_server), &mut to_client)?;
        to_server.clear();
        client.handle_command(&first_command(&to_client), &mut to_server)?;
        server.handle_command(&first_command(&to_server), &mut to_client)
    }

    #[test]
    fn nobody_passes_as_a_client_without_that_clients_secret_key() {
        let asked = outcome_of(2, 1).expect("the client itself");
        assert!(
            matches!(asked, Progress::Asks(Credentials::Curve { public_key }) if public_key == *keys(2).public())
        );
        assert_eq!(outcome_of(3, 1).err(), Some(HandshakeError::Vouch));
    }

    #[test]
    fn a_client_of_another_server_is_refused_at_once() {
        assert_eq!(outcome_of(2, 4).err(), Some(HandshakeError::Sealed { command: "HELLO" }));
    }
}
