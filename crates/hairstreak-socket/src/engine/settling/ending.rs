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
        let is_over = self.is_over_for(socket, Some(index));
        if let Some(Link { kind: LinkKind::Stream(session), .. }) = self.links.get_mut(index)
            && session.end_sending(is_over)
        {
            self.list_by_load(index);
            self.flush_link(engine, index);
        }
    }

    /// Whether a link of the socket will be sent no other message: nothing new follows, and no other link has one that may
    /// come back. Without a link: whether that is so for all of them.
    fn is_over_for(&self, socket: usize, index: Option<usize>) -> bool {
        let Some(backlog) = &self.sockets[socket].backlog else { return false };
        let may_come_back = || {
            let mut busy = self.busy_sessions(socket);
            busy.any(|(other, session)| Some(other) != index && session.awaits_settlement())
        };
        match backlog.ending {
            None => false,
            Some(Ending::Now) => true,
            Some(Ending::WhenOver) => backlog.redelivery.waiting_count() == 0 && !may_come_back(),
        }
    }

    /// Tells the receivers that will be sent no other message, unless they know.
    pub fn end_sending_where_over(&mut self, engine: &Engine, socket: usize) {
        let backlog = self.sockets.get(socket).and_then(|state| state.backlog.as_ref());
        if !backlog.is_some_and(|backlog| backlog.ending.is_some() && !backlog.has_told_end) {
            return;
        }
        let is_over = self.is_over_for(socket, None);
        let mut busy = self.busy_sessions(socket).filter(|(_, session)| session.awaits_settlement());
        if let (false, Some((last, _)), None) = (is_over, busy.next(), busy.next()) {
            // All others wait for what it has.
            drop(busy);
            return self.end_sending(engine, last);
        }
        drop(busy);
        let state = &mut self.sockets[socket];
        if let Some(backlog) = state.backlog.as_mut().filter(|_| is_over) {
            backlog.has_told_end = true;
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
            (backlog.ending, backlog.has_told_end) = (Some(ending), false);
        }
        self.end_sending_where_over(engine, socket);
    }
}
