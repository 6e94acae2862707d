//! What was left unread: links that had used up their turn, and links whose application stopped receiving.

use super::link::{Link, LinkKind};
use super::state::{State, Unread};
use super::wait::Engine;
use crate::pattern::Incoming;
use crate::session::{Phase, SessionError};

impl State {
    /// There is more to be read at once, but others have their turn first.
    pub fn come_back_to(&mut self, what: Unread) {
        if !self.unread.contains(&what) {
            self.unread.push(what);
        }
        self.work_since_turn.add_io(1);
        if self.leader {
            self.doorbell.poller.wake();
        }
    }

    /// Goes on with what had used up its turn with more to be read. Returns how many visits were made.
    pub fn read_again(&mut self, engine: &Engine) -> usize {
        let unread = std::mem::take(&mut self.unread);
        for what in &unread {
            match *what {
                Unread::Socket(socket) => self.notify(socket),
                Unread::Link(index) => self.read_link_again(engine, index),
            }
        }
        unread.len()
    }

    fn read_link_again(&mut self, engine: &Engine, index: usize) {
        let Some(link) = self.links.get(index) else { return };
        let socket = link.socket;
        let mut is_readable = false;
        if let LinkKind::Stream(session) = &link.kind {
            if session.waits_for_room() {
                // Its bytes stay where they are until a timer finds room for them.
                return self.timers.look_for_room(socket, self.now);
            }
            is_readable = session.phase == Phase::Ready && session.connection.is_readable();
        }
        match self.sockets[socket].rules.incoming {
            Incoming::AtOnce(_) => self.take_in(engine, index),
            Incoming::Messages if is_readable => {
                self.list_messages(index);
                self.notify_of_messages(socket);
            }
            Incoming::Nothing if is_readable => self.on_readable(engine, index),
            Incoming::Messages | Incoming::Nothing => {}
        }
    }

    /// Links whose edge has come and whose application stopped receiving before it had read to the end:
    /// they are read ahead, for there may be a command or the end of the stream and no edge will follow. Links that
    /// have ended and whose last message it has taken are let go: it may never look at them again. Links that have nothing
    /// for the application are not visited. Returns how many were.
    pub fn read_unattended(&mut self, engine: &Engine) -> usize {
        let mut count = 0;
        for socket in 0..self.sockets.capacity() {
            // From the last to the first: a visit may take links out of the list.
            let mut slot = self.sockets.get(socket).map_or(0, |state| state.with_messages.len());
            count += slot;
            while slot > 0 {
                slot -= 1;
                let listed = self.sockets.get(socket).and_then(|state| state.with_messages.get(slot));
                if let Some(&index) = listed {
                    self.visit_unattended(engine, index);
                }
            }
            for slot in 0..self.sockets.get(socket).map_or(0, |state| state.rings.len()) {
                self.note_waiting(self.sockets[socket].rings[slot], self.now);
            }
        }
        count
    }

    fn visit_unattended(&mut self, engine: &Engine, index: usize) {
        let Some(link @ Link { kind: LinkKind::Stream(session), .. }) = self.links.get(index) else { return };
        let state = &self.sockets[link.socket];
        let unattended = state.receivers == 0 || matches!(state.rules.incoming, Incoming::AtOnce(_));
        if session.phase == Phase::Ready && session.connection.is_readable() && unattended {
            self.on_readable(engine, index);
        } else if session.is_over() && unattended {
            self.end_link(engine, index, &SessionError::Closed);
        } else if link.is_dry() {
            self.unlist_messages(index);
        } else {
            // What the last read brought may lie there for long.
            self.note_waiting(index, self.now);
        }
    }
}
