//! A settled PULL: what the application has dealt with, and when the senders are told.
//!
//! They are told when half of what they may send is settled, when the caller is about to sleep, and by the watch tick
//! if it does neither.

use std::time::Duration;

use hairstreak_base::Message;
use hairstreak_wire::settlement::{Content, Outcome, ReceivingLink, SettlementError, TaskId, TaskRun};

use crate::engine::Engine;
use crate::engine::link::{Link, LinkKind};
use crate::engine::routing::SetAside;
use crate::engine::state::State;
use crate::engine::timers::Due;
use crate::session::SessionError;
use crate::settlement::{Batch, Delivery, DeliveryMark, check_content};

/// How often it is looked what an application has settled that takes messages as they lie there, and how seldom when it
/// does not go on.
const SETTLE_TICK: Duration = Duration::from_millis(2);
const SETTLE_TICK_MAX: Duration = Duration::from_millis(64);

impl State {
    /// The application asks for messages: what that settles is settled.
    #[inline]
    pub fn begin_to_receive(&mut self, engine: &Engine, socket: usize) {
        if !self.settling_sockets.is_empty() {
            self.accept_received(engine, socket);
        }
    }

    /// The application asks for the next message: it has dealt with the ones before, unless it says so by hand.
    #[cold]
    fn accept_received(&mut self, engine: &Engine, socket: usize) {
        let Some(state) = self.sockets.get(socket) else { return };
        let Some(senders) = &state.senders else { return };
        // What was set aside has not been seen by anybody.
        if senders.settle_on_next_receive() && state.set_aside.is_none() {
            for &index in &senders.owing {
                let link = &mut self.links[index];
                if let LinkKind::Stream(session) = &mut link.kind
                    && let Some(receiving) = session.receiving()
                {
                    receiving.accept_through(link.received);
                    link.owed.with_batch = link.received;
                }
            }
        }
        self.tell_settled(engine, socket, false);
    }

    /// A batch call is about to return what it took since `begin_to_receive`.
    #[inline]
    pub fn end_batch(&mut self, socket: usize) {
        if self.settling_sockets.is_empty() {
            return;
        }
        let Some(senders) = self.sockets.get(socket).and_then(|state| state.senders.as_ref()) else { return };
        for &index in &senders.owing {
            let link = &mut self.links[index];
            let owed = &mut link.owed;
            (owed.before_batch, owed.with_batch) = (owed.with_batch, link.received);
        }
    }

    /// Tells the senders of a socket what they do not know; all of it, or what is due.
    pub fn tell_settled(&mut self, engine: &Engine, socket: usize, all: bool) {
        let count = self.sockets[socket].senders.as_ref().map_or(0, |senders| senders.owing.len());
        for slot in (0..count).rev() {
            let Some(senders) = &mut self.sockets[socket].senders else { return };
            let Some(&index) = senders.owing.get(slot) else { continue };
            let link = &mut self.links[index];
            let LinkKind::Stream(session) = &mut link.kind else { continue };
            let is_told = session.tell_settled(all);
            let has_more = link.listed_messages || session.has_unread();
            let all_is_told = |receiving: &mut ReceivingLink| {
                receiving.settled_through() == link.received && !receiving.has_news()
            };
            if !has_more && session.receiving().is_none_or(all_is_told) {
                link.owed.is_listed = false;
                senders.owing.swap_remove(slot);
            }
            if is_told {
                // May end the link, and so take it out of the list: those before it stay where they are.
                self.flush_link(engine, index);
            }
        }
    }

    /// A caller is about to sleep, or none has been here for a while: senders are told everything.
    pub fn tell_all_settled(&mut self, engine: &Engine) {
        for slot in 0..self.settling_sockets.len() {
            let socket = self.settling_sockets[slot];
            let Some(senders) = self.sockets.get(socket).and_then(|state| state.senders.as_ref()) else {
                continue;
            };
            let is_lazy = senders.is_lazy;
            self.tell_settled(engine, socket, !is_lazy);
            if is_lazy {
                // The rest is told by the watch tick.
                self.arm_look(engine);
            }
        }
    }

    /// Tells all peers that these tasks are done. Returns whether there is one to be told.
    pub fn report(&mut self, engine: &Engine, socket: usize, tasks: &[(TaskId, u64)]) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        let mut is_told = false;
        for index in state.links.clone() {
            if let Some(link) = self.links.get_mut(index)
                && let LinkKind::Stream(session) = &mut link.kind
                && session.settles_received()
            {
                session.tell_done(tasks);
                self.flush_link(engine, index);
                is_told = true;
            }
        }
        is_told
    }

    /// Nobody has called at length for a while: the application is at the last message, or batch, that it took. What
    /// came before is settled, unless that is done by hand.
    pub fn settle_unattended(&mut self, engine: &Engine) {
        let (mut has_more, mut has_gone_on) = (false, false);
        for slot in 0..self.settling_sockets.len() {
            let socket = self.settling_sockets[slot];
            let Some(senders) = self.sockets.get(socket).and_then(|state| state.senders.as_ref()) else {
                continue;
            };
            for &index in &senders.owing {
                let link = &mut self.links[index];
                let LinkKind::Stream(session) = &mut link.kind else { continue };
                has_more |= session.has_unread();
                let Some(receiving) = session.receiving() else { continue };
                let before = receiving.settled_through();
                if senders.settle_on_next_receive() {
                    let is_last = link.received == link.owed.with_batch;
                    let last_but_one = link.received.saturating_sub(1);
                    receiving.accept_through(if is_last { link.owed.before_batch } else { last_but_one });
                }
                has_gone_on |= receiving.settled_through() > before || receiving.has_news();
            }
            self.tell_settled(engine, socket, true);
        }
        self.settle_delay =
            if has_gone_on { SETTLE_TICK } else { (self.settle_delay * 2).min(SETTLE_TICK_MAX) };
        // What lies there is taken without a call at length.
        match has_more {
            true => self.timers.set(Due::Settled, self.now + self.settle_delay),
            false => self.timers.cancel(Due::Settled),
        }
    }

    /// Asks all senders, those that come later too, for nothing new.
    pub fn drain(&mut self, engine: &Engine, socket: usize) {
        let Some(state) = self.sockets.get_mut(socket) else { return };
        state.drains = true;
        for index in state.links.clone() {
            self.drain_link(engine, index);
        }
    }

    pub fn drain_link(&mut self, engine: &Engine, index: usize) {
        if let Some(link) = self.links.get_mut(index)
            && let LinkKind::Stream(session) = &mut link.kind
            && let Some(receiving) = session.receiving()
        {
            receiving.drain();
            session.tell_settled(true);
            self.flush_link(engine, index);
        }
    }

    /// A link is about to end.
    pub fn note_last_end(&mut self, index: usize) {
        let link = &mut self.links[index];
        if link.session_mut().is_some_and(|session| session.has_heard_end()) {
            self.sockets[link.socket].has_seen_end = true;
        }
    }

    /// Whether no message follows from any sender, and all that came has been taken.
    pub fn has_ended(&mut self, socket: usize) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        let is_wanted = state.drains || state.has_seen_end || !state.links.is_empty();
        if !is_wanted || state.set_aside.is_some() {
            return false;
        }
        let mut goes_on = |index: usize| {
            let session = self.links[index].session_mut();
            !session.is_some_and(|session| !session.has_unread() && session.has_heard_end())
        };
        let last = state.senders.as_ref().and_then(|senders| senders.going_on);
        let going_on = last.into_iter().chain(state.links.iter().copied()).find(|index| goes_on(*index));
        let senders = self.sockets.get_mut(socket).and_then(|state| state.senders.as_mut());
        if let Some(senders) = senders {
            senders.going_on = going_on;
        }
        going_on.is_none()
    }

    /// Whether a sender that is there, or the last one that was, has said that no message follows.
    pub fn has_heard_end(&mut self, socket: usize) -> bool {
        let Some(state) = self.sockets.get(socket) else { return false };
        let mut links = state.links.iter();
        state.has_seen_end
            || links
                .any(|&index| self.links[index].session_mut().is_some_and(|session| session.has_heard_end()))
    }

    /// Tells the senders, those that connect later too, how long a message takes.
    pub fn tell_pace(&mut self, engine: &Engine, socket: usize, nanos: u64) {
        let Some(state) = self.sockets.get_mut(socket) else { return };
        state.pace = Some(nanos);
        for index in state.links.clone() {
            self.tell_pace_to(engine, index);
        }
    }

    /// Tells a sender, if the socket has a pace.
    pub fn tell_pace_to(&mut self, engine: &Engine, index: usize) {
        let Some(link) = self.links.get_mut(index) else { return };
        if let Some(nanos) = self.sockets[link.socket].pace
            && let LinkKind::Stream(session) = &mut link.kind
            && session.settles_received()
        {
            session.tell_pace(nanos);
            self.flush_link(engine, index);
        }
    }

    /// Settles tasks of a socket by name, on whatever links they came.
    pub fn settle_tasks(
        &mut self,
        engine: &Engine,
        socket: usize,
        first: TaskId,
        count: u64,
        outcome: Outcome,
        reason: &[u8],
    ) {
        let Some(senders) = self.sockets.get(socket).and_then(|state| state.senders.as_ref()) else { return };
        let mut has_settled = false;
        for &index in &senders.owing {
            let link = &mut self.links[index];
            if let LinkKind::Stream(session) = &mut link.kind
                && let Some(receiving) = session.receiving()
            {
                has_settled |= receiving.settle_tasks(first, count, link.received, outcome, reason) > 0;
            }
        }
        if has_settled {
            self.tell_settled(engine, socket, false);
            // Whoever calls next, the senders are to hear of it.
            self.arm_look(engine);
        }
    }

    /// Messages of one link, at most `max` and at least one, appended to `into`, and what settles them. A link on which a group
    /// comes that is none is refused.
    pub fn receive_batch(
        &mut self,
        engine: &Engine,
        socket: usize,
        into: &mut Vec<Message>,
        max: usize,
    ) -> Option<Batch> {
        loop {
            let before = into.len();
            let mut batch = self.take_batch(engine, socket, into, max)?;
            let Err((count, error)) = check_contents(&batch, &into[before..]) else { return Some(batch) };
            if self.links.get(batch.mark.link).is_some_and(|link| link.serial == batch.mark.serial) {
                self.refuse_link(engine, batch.mark.link, &error.into());
            }
            into.truncate(before + count);
            batch.truncate(count as u64);
            if count > 0 {
                return Some(batch);
            }
        }
    }

    fn take_batch(
        &mut self,
        engine: &Engine,
        socket: usize,
        into: &mut Vec<Message>,
        max: usize,
    ) -> Option<Batch> {
        let mut message = Message::new();
        let set_aside = self.sockets.get(socket)?.set_aside.as_ref().and_then(SetAside::mark);
        let mark = match set_aside {
            Some(mark) => {
                self.take_set_aside(socket, &mut message);
                let is_last = |link: &Link| link.serial == mark.serial && link.received == mark.number;
                if !self.links.get(mark.link).is_some_and(is_last) {
                    into.push(message);
                    return Some(Batch { mark, count: 1, runs: self.tasks_of(mark, 1) });
                }
                mark
            }
            None => {
                let link = self.receive_in_turn(engine, socket, &mut message)?;
                self.delivery_mark(link)?
            }
        };
        into.push(message);
        let before = into.len();
        let link = &mut self.links[mark.link];
        let LinkKind::Stream(session) = &mut link.kind else { return None };
        let (further_frames, taken) = session.take_here_many(into, max.saturating_sub(1), link.received);
        self.work_since_turn.add_further_frames(further_frames);
        let count = 1 + (into.len() - before) as u64;
        link.received += count - 1;
        let runs = self.tasks_of(mark, count);
        match taken {
            Ok(()) => {}
            Err(error @ SessionError::Settlement(_)) => self.refuse_link(engine, mark.link, &error),
            Err(error) => self.end_link(engine, mark.link, &error),
        }
        self.hear_done(engine, mark.link);
        Some(Batch { mark, count, runs })
    }

    fn tasks_of(&mut self, mark: DeliveryMark, count: u64) -> Vec<(TaskRun, u64)> {
        let link = self.links.get_mut(mark.link).filter(|link| link.serial == mark.serial);
        let receiving = link.and_then(|link| link.session_mut()?.receiving());
        let runs = receiving.into_iter().flat_map(|receiving| {
            let parts = receiving.tasks(mark.number..mark.number + count);
            parts.map(|(range, run)| (run, range.end - range.start)).collect::<Vec<_>>()
        });
        runs.collect()
    }

    /// The next message with what settles it, if one is here.
    pub fn receive_delivery(&mut self, engine: &Engine, socket: usize) -> Option<Delivery> {
        let mut message = Message::new();
        let set_aside = self.sockets.get(socket)?.set_aside.as_ref().and_then(SetAside::mark);
        let mark = match set_aside {
            Some(mark) => {
                self.take_set_aside(socket, &mut message);
                mark
            }
            None => {
                let link = self.receive_in_turn(engine, socket, &mut message)?;
                self.delivery_mark(link)?
            }
        };
        let link = self.links.get_mut(mark.link).filter(|link| link.serial == mark.serial);
        let run = link.and_then(|link| link.session_mut()?.receiving()?.task_of(mark.number));
        self.hear_done(engine, mark.link);
        Some(Delivery {
            message,
            task: run.map(|run| run.id),
            deliveries: run.map_or(0, |run| run.deliveries),
            mark,
        })
    }

    /// What marks the last message of a link.
    pub fn delivery_mark(&self, index: usize) -> Option<DeliveryMark> {
        let link = self.links.get(index)?;
        Some(DeliveryMark { link: index, serial: link.serial, number: link.received })
    }

    /// Settles one message by hand. False: its connection is over, or it was settled before.
    pub fn settle_by_hand(
        &mut self,
        engine: &Engine,
        socket: usize,
        mark: DeliveryMark,
        count: u64,
        outcome: Outcome,
        reason: &[u8],
    ) -> bool {
        let Some(link) = self.links.get_mut(mark.link) else { return false };
        if link.serial != mark.serial || link.socket != socket {
            return false;
        }
        let LinkKind::Stream(session) = &mut link.kind else { return false };
        let Some(receiving) = session.receiving() else { return false };
        let is_settled = receiving.settle(mark.number..mark.number + count, outcome, reason);
        if receiving.is_due() {
            session.tell_settled(false);
            self.flush_link(engine, mark.link);
        } else {
            // Whatever the application does next, the sender is to hear of it.
            self.arm_look(engine);
        }
        is_settled
    }
}

/// Whether all messages of a batch are what they came as; else how many come before one that is not.
fn check_contents(batch: &Batch, messages: &[Message]) -> Result<(), (usize, SettlementError)> {
    let mut at = 0;
    for (run, count) in &batch.runs {
        let end = at + *count as usize;
        if run.content != Content::Message {
            for (offset, message) in messages[at..end].iter().enumerate() {
                let index = at + offset;
                let number = batch.mark.number + index as u64;
                check_content(number, run.content, message).map_err(|error| (index, error))?;
            }
        }
        at = end;
    }
    Ok(())
}
