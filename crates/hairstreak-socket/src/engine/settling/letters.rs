//! Dead letters: what a settled PUSH has refused is sent by another of the same engine.
//!
//! They are put where messages wait to be sent again: nobody would wait for room there, and they go in the order of their
//! tasks.

use hairstreak_base::{Bytes, Message};
use hairstreak_wire::settlement::{Content, LetterNote, Refusal, TaskRun};

use crate::engine::Engine;
use crate::engine::state::{SocketState, State};
use crate::settlement::{Backlog, SocketName};

impl State {
    /// What `source` refuses is sent by `target`. Returns whether both settle.
    pub fn pass_refusals_to(&mut self, source: usize, target: usize) -> bool {
        let (Some(from), Some(to)) = (self.settled_name(source), self.settled_name(target)) else {
            return false;
        };
        if let Some(backlog) = self.backlog_of(from) {
            backlog.letters_to = Some(to);
            backlog.redelivery.hand_on_refusals();
        }
        if let Some(backlog) = self.backlog_of(to) {
            backlog.letters_of = Some(from);
        }
        true
    }

    fn settled_name(&self, index: usize) -> Option<SocketName> {
        let socket = self.sockets.get(index).filter(|socket| socket.backlog.is_some())?;
        Some(SocketName { index, serial: socket.serial })
    }

    /// What an open socket keeps.
    fn backlog_of(&mut self, name: SocketName) -> Option<&mut Backlog> {
        let is_it = |socket: &&mut SocketState| socket.serial == name.serial && !socket.closed;
        self.sockets.get_mut(name.index).filter(is_it)?.backlog.as_deref_mut()
    }

    /// Something of the socket may have been refused: that is sent on, if it is to be.
    pub fn pass_refusals(&mut self, engine: &Engine, socket: usize) {
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        let Some(target) = backlog.letters_to else { return };
        let letters = backlog.redelivery.take_refusals().into_iter().map(letter).collect::<Vec<_>>();
        if letters.is_empty() {
            return;
        }
        // Whoever holds the one holds the other: it is closed only when nobody asks for either any more.
        if let Some(backlog) = self.backlog_of(target) {
            backlog.redelivery.send_again(letters);
            self.send_waiting_again(engine, target.index);
        }
    }

    /// Whether as many messages that were refused are on their way as may be.
    pub fn has_letters_enough(&self, socket: usize) -> bool {
        let target = self.sockets.get(socket).and_then(|state| state.backlog.as_ref()?.letters_to);
        target.is_some_and(|SocketName { index, serial }| {
            let target = self.sockets.get(index).filter(|target| target.serial == serial);
            let window = target.and_then(|target| Some(target.backlog.as_ref()?.window.count()));
            window.is_some_and(|window| self.unsettled_count(index) >= window)
        })
    }

    /// The socket has fewer unsettled messages than before: if they were another's, that one may send.
    pub fn notify_of_letters(&mut self, socket: usize) {
        let source = self.sockets.get(socket).and_then(|state| state.backlog.as_ref()?.letters_of);
        if let Some(source) = source.filter(|source| self.backlog_of(*source).is_some()) {
            self.notify(source.index);
        }
    }
}

/// A refused message, with a note behind it.
fn letter(refusal: Refusal<Message>) -> (TaskRun, Message) {
    let Refusal { message, task, deliveries, cause } = refusal;
    let note = LetterNote { task, deliveries, cause }.encode();
    let frames = message.as_frames().iter().cloned().chain([Bytes::copy_of(&note)]);
    (TaskRun { id: task, deliveries: 0, content: Content::Message }, frames.collect())
}
