//! Subscriptions on their way: from a subscriber to its publishers, and into a publisher's index.

use std::sync::Arc;

use hairstreak_base::Message;

use crate::engine::Engine;
use crate::engine::link::{Link, LinkKind};
use crate::engine::state::{After, State, Unread};
use crate::outgoing::{Outgoing, Parcel};
use crate::pattern::Incoming;
use crate::pubsub::is_subscription;
use crate::session::SessionError;

/// Messages taken in of one link in one go; then others have their turn.
const TAKEN_MAX: usize = 4096;
/// How often in one go one that has gone is read as far as there is room.
const LAST_READS_MAX: usize = 64;

impl State {
    /// Tells every publisher that this socket subscribes or cancels.
    pub fn send_subscription(&mut self, engine: &Engine, socket: usize, subscribes: bool, prefix: &[u8]) {
        // Sending may end a link: go by what is still there.
        for link in self.sockets[socket].links.clone() {
            if self.links.get(link).is_some_and(|l| l.socket == socket && l.peer.is_some()) {
                self.send_subscription_to(engine, link, subscribes, prefix);
            }
        }
    }

    /// Tells one publisher. One that takes no more is given up: when it comes back it is told all.
    pub fn send_subscription_to(&mut self, engine: &Engine, link: usize, subscribes: bool, prefix: &[u8]) {
        let socket = &self.sockets[self.links[link].socket];
        let (count, bytes) = socket.subscriber.sizes();
        let (count_max, bytes_max) =
            (count + socket.options.send_count_max, bytes + socket.options.send_bytes_max);
        match &mut self.links[link].kind {
            LinkKind::Stream(session) => match session.push_subscription(subscribes, prefix) {
                Ok(_) if session.connection.output.queued_bytes() > bytes_max => {
                    self.end_link(engine, link, &SessionError::Stuck);
                }
                Ok(gathers) => self.has_pushed(engine, link, gathers),
                Err(error) => self.end_link(engine, link, &error),
            },
            LinkKind::Ring(_) => {
                let message = Message::from([&[u8::from(subscribes)], prefix].concat());
                let serial = self.links[link].serial;
                let waiting = &mut self.links[link].subscriptions;
                waiting.push_back(message);
                if waiting.len() > count_max {
                    return self.end_link(engine, link, &SessionError::Stuck);
                }
                if waiting.len() == 1 {
                    self.after.push(After::HandOver(link, serial));
                }
            }
        }
    }

    /// Puts the subscriptions that wait before a ring into it, as far as there is room. Returns whether
    /// any was.
    pub fn push_subscriptions(&mut self, index: usize) -> bool {
        let Some(link) = self.links.get_mut(index) else { return false };
        let LinkKind::Ring(ring) = &mut link.kind else { return false };
        let mut pushed = false;
        while let Some(message) = link.subscriptions.front() {
            if !ring.has_room()
                || !ring.push_parcel(&Parcel::plain(&Outgoing::Message(message)), self.pause_count)
            {
                break;
            }
            link.subscriptions.pop_front();
            pushed = true;
        }
        ring.publish();
        pushed
    }

    /// Takes what has come over the link at once, if the pattern does so.
    pub fn take_in(&mut self, engine: &Engine, index: usize) {
        let mut message = Message::new();
        for _ in 0..TAKEN_MAX {
            let Some(link) = self.links.get_mut(index) else { return };
            let socket = &self.sockets[link.socket];
            let Incoming::AtOnce(take) = socket.rules.incoming else { return };
            if link.peer.is_none() {
                return;
            }
            if socket.publisher.stopped {
                return self.hold_back(engine, index);
            }
            let next = match &mut link.kind {
                LinkKind::Stream(session) => session.next_message(&mut message, link.received),
                LinkKind::Ring(ring) => match link.late.pop_front() {
                    Some(late) => {
                        message = late;
                        Ok(true)
                    }
                    None => Ok(ring.pop(&mut message)),
                },
            };
            match next {
                Ok(true) => {
                    if let Err(error) = take(self, index, &message) {
                        return self.refuse_link(engine, index, &error);
                    }
                }
                Ok(false) if matches!(&link.kind, LinkKind::Stream(session) if session.connection.is_readable()) =>
                {
                    let socket = link.socket;
                    let waits = matches!(&link.kind, LinkKind::Stream(session) if session.waits_for_room());
                    self.flush_answers(engine, index);
                    if waits {
                        // A timer finds the room.
                        return self.timers.look_for_room(socket, self.now);
                    }
                    break;
                }
                Ok(false) => return self.link_is_dry(engine, index),
                Err(error) if error.is_farewell() => return self.end_link(engine, index, &error),
                Err(error) => return self.refuse_link(engine, index, &error),
            }
        }
        if self.links.contains(index) {
            self.come_back_to(Unread::Link(index));
            self.arm_look(engine);
        }
    }

    /// The application does not receive, so what the peer sends has to wait. It is read ahead: commands are answered,
    /// and its end is seen. The subscriptions of one that has gone will never take effect, and it is let go unless it
    /// has left messages for the application.
    fn hold_back(&mut self, engine: &Engine, index: usize) {
        let link = &mut self.links[index];
        let (result, has_left) = match &mut link.kind {
            LinkKind::Stream(session) => {
                let mut result = Ok(());
                for _ in 0..LAST_READS_MAX {
                    result = session.read_ahead(link.received);
                    if result.is_ok() && !session.connection.has_peer_ended() {
                        break;
                    }
                    session.retain_ahead(|message| !is_subscription(message));
                    if result.is_err() || !session.connection.is_readable() || !session.has_room_ahead() {
                        break;
                    }
                }
                (result, session.has_ahead())
            }
            LinkKind::Ring(ring) if ring.is_gone() => {
                let mut message = Message::new();
                while ring.pop(&mut message) {
                    if !is_subscription(&message) {
                        link.late.push_back(std::mem::take(&mut message));
                    }
                }
                (Err(SessionError::Closed), !link.late.is_empty())
            }
            LinkKind::Ring(_) => return,
        };
        match result {
            Ok(()) => self.go_on_holding_back(engine, index),
            Err(SessionError::Io(_)) if has_left => self.publish_no_more_to(index),
            Err(error) if error.is_farewell() && has_left => self.publish_no_more_to(index),
            Err(error) if error.is_farewell() => self.end_link(engine, index, &error),
            Err(error) => self.refuse_link(engine, index, &error),
        }
    }

    /// The rest of a turn of [`State::hold_back`] at a stream that has not ended, as far as it was read.
    fn go_on_holding_back(&mut self, engine: &Engine, index: usize) {
        let LinkKind::Stream(session) = &self.links[index].kind else { return };
        if session.connection.has_write_failed() {
            self.publish_no_more_to(index);
        } else {
            self.flush_answers(engine, index);
        }
        let Some(Link { socket, kind: LinkKind::Stream(session), .. }) = self.links.get(index) else {
            return;
        };
        if session.waits_for_room() {
            self.timers.look_for_room(*socket, self.now);
        } else if session.connection.is_readable() && session.has_room_ahead() {
            self.come_back_to(Unread::Link(index));
            self.arm_look(engine);
        }
        self.note_waiting(index, self.now);
    }

    /// Its peer takes nothing more: a publisher that waits must not wait for it.
    fn publish_no_more_to(&mut self, index: usize) {
        let socket = self.links[index].socket;
        if self.sockets[socket].publisher.index.prefix_count(index) > 0 {
            (self.sockets[socket].rules.link_ended)(self, index, false);
            self.notify(socket);
        }
    }
}

impl Engine {
    /// Has a publisher of this process take what a ring to it holds now, so that a subscription is in
    /// force when the call that made it returns; and what waits before the ring, round by round. Never
    /// under a lock, and never under two.
    pub fn hand_over(self: &Arc<Self>, link: usize, serial: u32) {
        let mut idle_rounds = 0;
        loop {
            let mut state = self.lock();
            let pushed = state.push_subscriptions(link);
            let Some(found) = state.links.get(link).filter(|found| found.serial == serial) else { return };
            let (Some(across), left) = (found.across.clone(), !found.subscriptions.is_empty()) else {
                return;
            };
            drop(state);
            if let Some(engine) = across.engine.upgrade() {
                let mut state = engine.lock();
                if state.links.get(across.index).is_some_and(|found| found.serial == across.serial) {
                    state.take_in(&engine, across.index);
                }
            }
            if !left {
                return;
            }
            idle_rounds = if pushed { 0 } else { idle_rounds + 1 };
            if idle_rounds > 1 {
                // The publisher's application does not take them; when it does, there is room.
                let mut state = self.lock();
                state.rings_awaited = true;
                return state.arm_look(self);
            }
        }
    }
}
