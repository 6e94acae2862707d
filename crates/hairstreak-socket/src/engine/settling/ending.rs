//! A settled PUSH that has nothing new to send: which receivers are told that no message follows, and when.

use crate::engine::Engine;
use crate::engine::link::{Link, LinkKind};
use crate::engine::state::State;
use crate::settlement::Ending;

impl State {
    /// Tells a receiver that no message follows, if that is so.
    pub fn end_sending(&mut self, engine: &Engine, index: usize) {
        let Some(link) = self.links.get(index) else { return };
        let socket = link.socket;
        let is_over = self.is_over_for(socket, index);
        if let Some(Link { kind: LinkKind::Stream(session), .. }) = self.links.get_mut(index)
            && session.end_sending(is_over)
        {
            self.flush_link(engine, index);
        }
    }

    /// Whether a link of the socket will be sent no other message: nothing new follows, and no other link has one that may
    /// come back.
    fn is_over_for(&self, socket: usize, index: usize) -> bool {
        let Some(backlog) = &self.sockets[socket].backlog else { return false };
        // Links that drain are among them, though the socket has given them up.
        let mut others = self.links.iter().filter(|(other, link)| link.socket == socket && *other != index);
        let mut may_come_back = || {
            others.any(
                |(_, link)| matches!(&link.kind, LinkKind::Stream(session) if session.awaits_settlement()),
            )
        };
        match backlog.ending {
            None => false,
            Some(Ending::Now) => true,
            Some(Ending::WhenOver) => backlog.redelivery.waiting_count() == 0 && !may_come_back(),
        }
    }

    /// Tells the receivers that will be sent no other message.
    pub fn end_sending_where_over(&mut self, engine: &Engine, socket: usize) {
        let Some(state) = self.sockets.get(socket) else { return };
        if state.backlog.as_ref().is_some_and(|backlog| backlog.ending.is_some()) {
            for index in state.links.clone() {
                self.end_sending(engine, index);
            }
        }
    }

    /// Nothing new follows: tells the receivers.
    pub fn end_sending_to_all(&mut self, engine: &Engine, socket: usize, ending: Ending) {
        self.take_grant_back(socket);
        let Some(state) = self.sockets.get_mut(socket) else { return };
        if let Some(backlog) = &mut state.backlog {
            backlog.ending = Some(ending);
        }
        self.end_sending_where_over(engine, socket);
    }
}
