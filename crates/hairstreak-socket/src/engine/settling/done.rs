//! Tasks that are done, whichever way their results went: who hears of it, and whom it tells.
//!
//! A sink reports them to their source. What a stage has passed on it would hear of only when settlements have come back from
//! stage to stage, in bulk: so the source tells it, on the link by which it gave the task and before the task that is given in its
//! place, and each stage tells the next. The last one is told nothing: only a sink would be sent its results again.

use hairstreak_wire::settlement::{Outcome, SettlementTerms, TaskId};

use crate::engine::Engine;
use crate::engine::link::{LinkKind, Origin};
use crate::engine::state::State;
use crate::session::Session;

impl State {
    /// Tasks of the socket are done, `count` in sequence from the first of each: the application says so, or who gave them.
    pub fn note_done(&mut self, engine: &Engine, socket: usize, tasks: &[(TaskId, u64)]) {
        if self.sockets.get(socket).is_some_and(|state| state.backlog.is_some()) {
            self.take_done(engine, socket, tasks);
            if !self.sockets[socket].closed {
                self.send_waiting_again(engine, socket);
            }
            self.end_sending_where_over(engine, socket);
            self.notify(socket);
        }
    }

    /// Tasks of the socket are done, whatever links they went: those are told that want to hear of it.
    pub(super) fn take_done(&mut self, engine: &Engine, socket: usize, tasks: &[(TaskId, u64)]) {
        let mut done_count = 0;
        for index in self.busy_sessions(socket).map(|(index, _)| index).collect::<Vec<_>>() {
            let link = &mut self.links[index];
            if matches!(link.origin, Origin::Ended) {
                continue;
            }
            let LinkKind::Stream(session) = &mut link.kind else { continue };
            let (mut done, mut news, informs) = (0, Vec::new(), session.informs());
            for &(first, count) in tasks {
                let settled = session.settle_done(first, count);
                done += settled;
                if informs && settled > 0 {
                    news.push((first, count));
                }
            }
            link.pace.on_settled(done, session.unsettled_count());
            done_count += done;
            if !news.is_empty() {
                session.tell_done(&news);
                // It goes with the next task, or by the flush tick.
                self.has_pushed(engine, index, true);
            }
            self.list_by_load(index);
        }
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        backlog.window.note_settled(done_count);
        tasks.iter().for_each(|(first, count)| backlog.redelivery.forget_tasks(*first, *count));
        if let Some(upstream) = backlog.upstream {
            for (first, count) in tasks {
                self.settle_tasks(engine, upstream, *first, *count, Outcome::Accepted, b"");
            }
        }
    }

    /// Takes what the sender of a link has told to be done: it is, where it was passed on.
    pub fn hear_done(&mut self, engine: &Engine, index: usize) {
        let Some(link) = self.links.get(index) else { return };
        let socket = link.socket;
        let tasks = self.take_heard_done(index);
        self.pass_on_done(engine, socket, &tasks);
    }

    /// What the sender of a link has told to be done, and was not asked for yet.
    pub fn take_heard_done(&mut self, index: usize) -> Vec<(TaskId, u64)> {
        self.links[index].session_mut().map_or(Vec::new(), Session::take_heard_done)
    }

    /// Tasks that came to a PULL are done, as their sender says: they are, where they were passed on.
    pub fn pass_on_done(&mut self, engine: &Engine, socket: usize, tasks: &[(TaskId, u64)]) {
        if let Some(next) = self.sockets[socket].passed_on_by.filter(|_| !tasks.is_empty())
            && self.sockets.get(next.index).is_some_and(|state| state.serial == next.serial)
        {
            self.note_done(engine, next.index, tasks);
        }
    }

    /// A receiver has connected. If it is of another stage, those whose tasks are passed on to it are to tell what is done,
    /// those that connect later too.
    pub fn have_done_told(&mut self, engine: &Engine, index: usize) {
        let link = &self.links[index];
        let theirs = link.peer.as_ref().and_then(|peer| SettlementTerms::of(&peer.properties).ok().flatten());
        let upstream = self.sockets[link.socket].backlog.as_ref().and_then(|backlog| backlog.upstream);
        let Some(upstream) = upstream.filter(|_| theirs.is_some_and(|theirs| theirs.passes_on)) else {
            return;
        };
        let Some(state) = self.sockets.get_mut(upstream) else { return };
        state.wants_done = true;
        for index in state.links.clone() {
            self.ask_for_done(engine, index);
        }
    }

    /// Asks a sender to tell what is done, if the socket wants to hear of it.
    pub fn ask_for_done(&mut self, engine: &Engine, index: usize) {
        if let Some(link) = self.links.get_mut(index)
            && self.sockets[link.socket].wants_done
            && let LinkKind::Stream(session) = &mut link.kind
            && let Some(receiving) = session.receiving()
        {
            receiving.inform();
            session.tell_settled(true);
            self.flush_link(engine, index);
        }
    }
}
