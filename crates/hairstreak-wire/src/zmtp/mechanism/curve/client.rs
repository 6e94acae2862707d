//! `CurveClient`: the client's side of a CURVE handshake.

use super::cookie::COOKIE_SIZE;
use super::key::{KEY_SIZE, KeyPair, PublicKey, SecretKey};
use super::sealed::{BoxKey, TAG_SIZE, numbered, salted};
use super::traffic::CurveCipher;
use crate::zmtp::command::{self, Command};
use crate::zmtp::metadata;
use crate::zmtp::progress::{HandshakeError, Progress, unexpected};
use crate::zmtp::role::Entropy;

const HELLO_NUMBER: u64 = 1;
const INITIATE_NUMBER: u64 = 2;
/// Size of the data behind the name of a WELCOME, in bytes.
const WELCOME_SIZE: usize = 16 + TAG_SIZE + KEY_SIZE + COOKIE_SIZE;

/// A client during its handshake.
#[derive(Clone, Debug)]
pub(in crate::zmtp) struct CurveClient {
    metadata: Vec<u8>,
    keys: KeyPair,
    server_key: PublicKey,
    transient: KeyPair,
    vouch_salt: [u8; 16],
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Waits for WELCOME, in a box of this key (C' and S).
    Welcome(BoxKey),
    /// Waits for READY, in a box of this key (C' and S').
    Ready(BoxKey),
    Over(Option<Box<CurveCipher>>),
}

impl CurveClient {
    pub(in crate::zmtp) fn new(
        metadata: Vec<u8>,
        keys: KeyPair,
        server_key: PublicKey,
        entropy: &Entropy,
    ) -> CurveClient {
        let (transient, vouch_salt) = entropy.for_client();
        let transient = KeyPair::new(SecretKey::from_bytes(transient));
        CurveClient { metadata, keys, server_key, transient, vouch_salt, state: State::Over(None) }
    }

    /// Sends HELLO.
    pub(in crate::zmtp) fn start(&mut self, outbox: &mut Vec<u8>) -> Result<Progress, HandshakeError> {
        let key = BoxKey::agree(&self.server_key, self.transient.secret());
        let key = key.ok_or(HandshakeError::Sealed { command: "HELLO" })?;
        let number = HELLO_NUMBER.to_be_bytes();
        let signature = key.seal(&numbered(b"CurveZMQHELLO---", &number), &[&[0; 64]]);
        let transient = self.transient.public().as_bytes();
        command::encode(outbox, b"HELLO", &[&[1, 0], &[0; 72], transient, &number, &signature]);
        self.state = State::Welcome(key);
        Ok(Progress::Waits)
    }

    pub(in crate::zmtp) fn handle_command(
        &mut self,
        command: &Command<'_>,
        outbox: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        match (&self.state, command) {
            (State::Welcome(key), Command::Unknown { name: b"WELCOME", data }) => {
                let (server, cookie) = open_welcome(key, data)?;
                self.initiate(&server, &cookie, outbox)
            }
            (State::Ready(key), Command::Ready { metadata: data }) => {
                let malformed = HandshakeError::Malformed { command: "READY", size: data.len() };
                let (number, sealed) = data.split_first_chunk().ok_or(malformed)?;
                let opened = key.open(&numbered(b"CurveZMQREADY---", number), sealed);
                let opened = opened.ok_or(HandshakeError::Sealed { command: "READY" })?;
                let properties = metadata::parse(&opened)?;
                let received = u64::from_be_bytes(*number);
                let cipher = CurveCipher::new(key.clone(), false, INITIATE_NUMBER, received);
                self.state = State::Over(Some(Box::new(cipher)));
                Ok(Progress::Done(properties))
            }
            (_, command) => Err(unexpected(command)),
        }
    }

    /// Sends INITIATE: the cookie, our identity, and its proof.
    fn initiate(
        &mut self,
        server: &PublicKey,
        cookie: &[u8],
        outbox: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        let agree =
            |secret| BoxKey::agree(server, secret).ok_or(HandshakeError::Sealed { command: "WELCOME" });
        let (key, vouch_key) = (agree(self.transient.secret())?, agree(self.keys.secret())?);
        let vouched: [&[u8]; 2] = [self.transient.public().as_bytes(), self.server_key.as_bytes()];
        let vouch = vouch_key.seal(&salted(b"VOUCH---", &self.vouch_salt), &vouched);
        let number = INITIATE_NUMBER.to_be_bytes();
        let inside: [&[u8]; 4] = [self.keys.public().as_bytes(), &self.vouch_salt, &vouch, &self.metadata];
        let sealed = key.seal(&numbered(b"CurveZMQINITIATE", &number), &inside);
        command::encode(outbox, b"INITIATE", &[cookie, &number, &sealed]);
        self.state = State::Ready(key);
        Ok(Progress::Waits)
    }

    pub(in crate::zmtp) fn take_cipher(&mut self) -> Option<Box<CurveCipher>> {
        match &mut self.state {
            State::Over(cipher) => cipher.take(),
            _ => None,
        }
    }
}

/// Returns the server's transient key and its cookie.
fn open_welcome(key: &BoxKey, data: &[u8]) -> Result<(PublicKey, [u8; COOKIE_SIZE]), HandshakeError> {
    let data: &[u8; WELCOME_SIZE] =
        data.try_into().map_err(|_| HandshakeError::Malformed { command: "WELCOME", size: data.len() })?;
    let sealed = HandshakeError::Sealed { command: "WELCOME" };
    let opened = data.split_first_chunk().and_then(|(salt, rest)| key.open(&salted(b"WELCOME-", salt), rest));
    let inside = opened.as_ref().and_then(|opened| opened.split_first_chunk());
    let (server, cookie) = inside.and_then(|(key, rest)| Some((key, rest.first_chunk()?))).ok_or(sealed)?;
    Ok((PublicKey::from_bytes(*server), *cookie))
}
