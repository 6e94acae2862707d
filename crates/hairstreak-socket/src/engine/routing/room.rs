//! Marks, writing what has gathered, and the lists of links with room and with messages.

use std::time::Instant;

use crate::engine::Engine;
use crate::engine::link::{LinkKind, Origin};
use crate::engine::state::State;
use crate::engine::timers::Due;

impl State {
    /// Answers to commands that came between the messages.
    pub(super) fn flush_answers(&mut self, engine: &Engine, index: usize) {
        if matches!(&self.links[index].kind, LinkKind::Stream(session) if !session.connection.output.is_empty())
        {
            self.flush_link(engine, index);
        }
    }

    /// Writes or publishes what a link has gathered.
    pub fn flush_link(&mut self, engine: &Engine, index: usize) {
        let result = match &mut self.links[index].kind {
            LinkKind::Stream(session) => {
                self.memory.keep(index, &mut session.connection);
                session.flush()
            }
            LinkKind::Ring(ring) => {
                ring.publish();
                Ok(())
            }
        };
        match result {
            Ok(()) if self.links[index].has_write_failed() => {
                self.unlist_room(index);
                self.on_readable(engine, index);
            }
            Ok(()) => {
                let socket = self.links[index].socket;
                let had_room = self.links[index].listed_room;
                self.list_room(index);
                self.push_held(engine, index);
                if !had_room && self.sockets[socket].backlog.is_some() {
                    self.send_waiting_again(engine, socket);
                    self.end_sending_where_over(engine, socket);
                }
            }
            Err(error) => self.end_link(engine, index, &error),
        }
    }

    /// Writes and publishes all that has gathered. Links whose kernel buffer is full stay listed.
    pub fn flush_dirty(&mut self, engine: &Engine, about_to_sleep: bool) {
        if about_to_sleep && !self.settling_sockets.is_empty() {
            self.tell_all_settled(engine);
        }
        let will_be_idle = about_to_sleep && !std::mem::take(&mut self.waits_for_room);
        self.sleep_count += u64::from(will_be_idle);
        let mut dirty = std::mem::take(&mut self.dirty);
        let mut now = None;
        dirty.retain(|&index| {
            if !self.links.get(index).is_some_and(|link| link.listed_dirty) {
                return false;
            }
            self.flush_link(engine, index);
            let Some(link) = self.links.get_mut(index) else { return false };
            if link.queued().0 > 0
                && let Some(again) = link.note_ages(*now.get_or_insert_with(Instant::now))
            {
                self.timers.set_earlier(Due::Link(index), again);
            }
            let left = match &mut link.kind {
                LinkKind::Stream(session) => {
                    link.wrote |= about_to_sleep;
                    // One whose caller writes by itself is likely to gather again: it stays until the tick looks.
                    about_to_sleep || !session.connection.output.is_empty()
                }
                // What was held may have followed what was published.
                LinkKind::Ring(ring) => ring.is_gathering(),
            };
            link.listed_dirty = left;
            left
        });
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
        if about_to_sleep {
            self.pause_count += 1;
        }
    }

    #[cold]
    pub(super) fn list_dirty(&mut self, engine: &Engine, index: usize) {
        let link = &mut self.links[index];
        (link.listed_dirty, link.wrote) = (true, false);
        self.dirty.push(index);
        self.arm_flush(engine);
    }

    /// Lists the link with room if it is ready, not listed and below its low-water marks.
    pub fn list_room(&mut self, index: usize) {
        let link = &mut self.links[index];
        let is_none = link.peer.is_none() || link.only_reports || matches!(link.origin, Origin::Ended);
        if link.listed_room || is_none {
            return;
        }
        let socket = link.socket;
        let state = &mut self.sockets[socket];
        let (count_low, bytes_low) = state.options.low_marks();
        let holds = link.held.is_some();
        let is_low = match &mut link.kind {
            LinkKind::Stream(session) if holds => !session.connection.has_write_failed(),
            LinkKind::Ring(_) if holds => true,
            LinkKind::Stream(session) => {
                !session.connection.has_write_failed()
                    && session.connection.output.queued_count() <= count_low
                    && session.connection.output.queued_bytes() <= bytes_low
            }
            LinkKind::Ring(ring) => ring.is_low(),
        };
        if !is_low {
            return;
        }
        if state.closed || !state.rules.sends {
            return;
        }
        link.listed_room = true;
        state.with_room.push(index);
        self.list_by_load(index);
        self.notify(socket);
    }

    /// Whether a stream holds as much as its marks allow.
    pub(super) fn is_at_mark(&self, index: usize) -> bool {
        let link = &self.links[index];
        if link.held.is_some() {
            return false;
        }
        let options = &self.sockets[link.socket].options;
        matches!(&link.kind, LinkKind::Stream(session)
            if session.connection.output.queued_count() >= options.send_count_max.max(1)
                || session.connection.output.queued_bytes() >= options.send_bytes_max.max(1))
    }

    #[cold]
    pub(super) fn unlist_room_if_full(&mut self, index: usize) {
        let link = &mut self.links[index];
        if let LinkKind::Stream(session) = &mut link.kind {
            // A count may be high only because small messages gather: writing them makes room. A write
            // that fails is found again by the next flush, which ends the link.
            let _ = session.flush();
        }
        if self.is_at_mark(index) {
            self.unlist_room(index);
        }
    }

    pub fn unlist_room(&mut self, index: usize) {
        let link = &mut self.links[index];
        if std::mem::take(&mut link.listed_room) {
            let state = &mut self.sockets[link.socket];
            if let Some(backlog) = &mut state.backlog
                && backlog.receivers.rouse(index, link.pace.settled)
            {
                return;
            }
            remove_turn(&mut state.with_room, &mut state.send_turn, index);
        }
    }

    pub fn list_messages(&mut self, index: usize) {
        let link = &mut self.links[index];
        if !link.listed_messages {
            link.listed_messages = true;
            let state = &mut self.sockets[link.socket];
            if let LinkKind::Stream(session) = &mut link.kind {
                self.memory.keep(index, &mut session.connection);
                if let Some(senders) = &mut state.senders
                    && session.settles_received()
                    && !std::mem::replace(&mut link.owed.is_listed, true)
                {
                    senders.owing.push(index);
                }
            }
            state.with_messages.push(index);
        }
    }

    pub fn unlist_messages(&mut self, index: usize) {
        let link = &mut self.links[index];
        if std::mem::take(&mut link.listed_messages) {
            let state = &mut self.sockets[link.socket];
            remove_turn(&mut state.with_messages, &mut state.receive_turn, index);
        }
    }
}

/// Removes `index` from a list that is taken in turn, so that nobody's turn is skipped.
pub(in crate::engine) fn remove_turn(list: &mut Vec<usize>, turn: &mut usize, index: usize) {
    // Of the last that was listed it is most often known first that there is nothing.
    if let Some(at) = list.iter().rposition(|&other| other == index) {
        list.remove(at);
        if *turn > at {
            *turn -= 1;
        }
    }
}
