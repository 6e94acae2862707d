//! Verdicts on clients: a table's at once, under the lock; the application's with the lock released, at once or later.

use std::sync::Arc;
use std::time::Instant;

use hairstreak_wire::zmtp::{Credentials, Verdict};

use super::link::LinkKind;
use super::state::{After, State};
use super::wait::Engine;
use crate::security::{Answer, Applicant, Authenticator};
use crate::session::{Advance, SessionError};

/// A client that the application is asked about.
pub(crate) struct Question {
    link: usize,
    serial: u32,
    applicant: Applicant,
    authenticator: Arc<Authenticator>,
}

impl Engine {
    /// Asks the application; the lock is not held.
    pub(super) fn authenticate(self: &Arc<Self>, question: Question) {
        let Question { link, serial, applicant, authenticator } = question;
        // An answer that is kept for long keeps no engine.
        let engine = Arc::downgrade(self);
        let answer = Answer::new(move |verdict| {
            if let Some(engine) = engine.upgrade() {
                engine.take_verdict(link, serial, verdict);
            }
        });
        authenticator.judge(applicant, answer);
    }

    /// The application has decided, in whichever thread; the lock is not held.
    fn take_verdict(self: &Arc<Self>, link: usize, serial: u32, verdict: Verdict) {
        let mut state = self.lock();
        if state.links.get(link).is_some_and(|link| link.serial == serial) {
            state.now = Instant::now();
            state.deliver_verdict(self, link, verdict);
            state.look_after(self);
        }
    }
}

impl State {
    pub(super) fn ask_about(&mut self, engine: &Engine, index: usize, credentials: Credentials) {
        let link = &self.links[index];
        let Some(authenticator) = self.sockets[link.socket].options.security.authenticator() else { return };
        let LinkKind::Stream(session) = &link.kind else { return };
        let applicant = Applicant {
            credentials,
            remote: session.connection.stream().remote_address(),
            endpoint: link.endpoint.to_string(),
        };
        match authenticator.judge_at_once(&applicant) {
            Some(verdict) => self.deliver_verdict(engine, index, verdict),
            None => {
                let authenticator = Arc::clone(authenticator);
                let question = Question { link: index, serial: link.serial, applicant, authenticator };
                self.after.push(After::Authenticate(Box::new(question)));
            }
        }
    }

    fn deliver_verdict(&mut self, engine: &Engine, index: usize, verdict: Verdict) {
        let LinkKind::Stream(session) = &mut self.links[index].kind else { return };
        let advance = session.deliver_verdict(verdict);
        self.follow_handshake(engine, index, advance);
    }

    /// What follows from how far a handshake got.
    pub(super) fn follow_handshake(
        &mut self,
        engine: &Engine,
        index: usize,
        advance: Result<Advance, SessionError>,
    ) {
        match advance {
            Ok(Advance::Ready(peer)) => {
                if let LinkKind::Stream(session) = &mut self.links[index].kind {
                    // What came behind the READY makes no new edge.
                    session.connection.mark_readable();
                }
                if self.link_is_ready(engine, index, peer) {
                    self.on_readable(engine, index);
                }
            }
            Ok(Advance::Asks(credentials)) => self.ask_about(engine, index, credentials),
            Ok(Advance::Waits) => {}
            Err(error) => self.end_link(engine, index, &error),
        }
    }
}
