//! A settled PUSH: which link is given the next messages, and what is sent again.
//!
//! New messages go to one link at a time, in blocks, so that their tasks follow in sequence and a receiver is woken once
//! for several. The link with the fewest unsettled messages gets the next block; of equals, the one that settled last: it is
//! awake. How large a block is follows how fast the link settles (`pace`): what takes long is spread, what is done at once is
//! not.
//!
//! What is to be sent again goes before what is new, lowest task first; but where tasks are passed on in order new ones wait for none. A task that two connections have ended with
//! travels alone, so that one that kills its receivers takes no other with it.

use std::cmp::Reverse;
use std::task::Waker;
use std::time::Instant;

use hairstreak_base::Message;
use hairstreak_wire::settlement::{LinkChoice, Outcome, Returned, TaskId, TaskRun};

use crate::engine::Engine;
use crate::engine::link::LinkKind;
use crate::engine::routing::{Sent, remove_turn};
use crate::engine::settling::pace::{self, LARGE_BLOCK_TIME};
use crate::engine::state::{After, State};
use crate::engine::timers::Due;
use crate::outgoing::{Outgoing, Parcel};
use crate::session::{Session, SettledNews};
use crate::settlement::GrantedLink;

/// What the links of a socket are compared by when one is to be given messages.
struct Field {
    /// Nanoseconds for a message of the fastest.
    fastest: u64,
    /// Of the window.
    half: u64,
    /// Whether one is passed over that seems to hang. A source knows what is done; what is passed on may be done without this side
    /// having heard of it.
    may_be_late: bool,
}

impl State {
    fn settled_session(&mut self, index: usize) -> Option<&mut Session> {
        match &mut self.links.get_mut(index)?.kind {
            LinkKind::Stream(session) if session.is_settled() => Some(session),
            _ => None,
        }
    }

    /// The links of a socket that have something unsettled or granted, those among them that drain, though the socket has given
    /// them up.
    pub(super) fn busy_sessions(&self, socket: usize) -> impl Iterator<Item = (usize, &Session)> {
        let backlog = self.sockets.get(socket).and_then(|state| state.backlog.as_ref());
        let links = backlog.into_iter().flat_map(|backlog| backlog.receivers.with_something());
        links.filter_map(|index| Some((index, self.links.get(index)?.session()?)))
    }

    /// A settled link has been given something, has settled something, or has room: it is listed by what it has now.
    pub fn list_by_load(&mut self, index: usize) {
        let Some(link) = self.links.get(index) else { return };
        let state = &mut self.sockets[link.socket];
        let (Some(session), Some(backlog)) = (link.session(), &mut state.backlog) else { return };
        let has_something = session.unsettled_count() > 0 || session.granted() > 0;
        backlog.receivers.note_something(index, has_something);
        if !link.listed_room {
            return;
        }
        let is_at_rest =
            !has_something && link.pace.is_at_rest() && session.credit() > 0 && !session.is_stuck();
        if is_at_rest && backlog.receivers.rest(index, link.pace.settled) {
            remove_turn(&mut state.with_room, &mut state.send_turn, index);
        } else if !is_at_rest && backlog.receivers.rouse(index, link.pace.settled) {
            state.with_room.push(index);
        }
    }

    /// Messages of the socket that are not settled, those that wait to be sent again among them.
    pub fn unsettled_count(&self, socket: usize) -> u64 {
        let Some(state) = self.sockets.get(socket) else { return 0 };
        let waiting = state.backlog.as_ref().map_or(0, |backlog| backlog.redelivery.waiting_count());
        waiting + self.busy_sessions(socket).map(|(_, session)| session.unsettled_count()).sum::<u64>()
    }

    /// The next new task of a socket.
    pub fn next_new(&self, socket: usize) -> Option<TaskId> {
        let backlog = self.sockets.get(socket)?.backlog.as_ref()?;
        let granted = backlog.granted.and_then(|granted| {
            let link = self.links.get(granted.index).filter(|link| link.serial == granted.serial)?;
            link.session()?.next_task()
        });
        Some(granted.map_or(backlog.next.id, |task| task.id))
    }

    /// The first of the socket's tasks that is not settled; the next new one if all are.
    pub fn first_unsettled(&self, socket: usize) -> Option<TaskId> {
        let backlog = self.sockets.get(socket)?.backlog.as_ref()?;
        let on_links = self.busy_sessions(socket).filter_map(|(_, session)| session.first_unsettled());
        let waiting = backlog.redelivery.first_waiting().map(|task| task.id);
        on_links.chain(waiting).min().or_else(|| self.next_new(socket))
    }

    /// The next new task of a socket that is the source of its tasks, and those before it that are not settled: the first of
    /// each run, and how many follow in sequence with it.
    pub fn unsettled_tasks(&self, socket: usize) -> Option<(TaskId, Vec<(TaskId, u64)>)> {
        let backlog = self.sockets.get(socket)?.backlog.as_ref()?;
        let mut runs = backlog.redelivery.waiting().map(|task| (task.id, 1)).collect::<Vec<_>>();
        runs.extend(self.busy_sessions(socket).flat_map(|(_, session)| session.unsettled_tasks()));
        runs.sort_unstable();
        Some((self.next_new(socket)?, runs))
    }

    /// Sends one message as a new task.
    pub fn send_settled(&mut self, engine: &Engine, socket: usize, message: &Outgoing<'_>) -> Sent {
        if self.sockets[socket].backlog.as_ref().is_some_and(|backlog| backlog.ending.is_some()) {
            return Sent::Closed;
        }
        self.send_waiting_again(engine, socket);
        loop {
            let waits = self.sockets[socket].backlog.as_ref().is_some_and(|backlog| backlog.holds_up_new());
            let Some(index) =
                self.granted_link(socket).or_else(|| if waits { None } else { self.grant(engine, socket) })
            else {
                return self.overflow(socket, None);
            };
            if self.send_to_link(engine, index, &Parcel::plain(message)) {
                if let Some(link) = self.links.get_mut(index) {
                    link.pace.on_sent();
                }
                return self.count_sent(socket);
            }
            self.take_grant_back(socket);
        }
    }

    /// The link that has a grant and something left of it.
    fn granted_link(&mut self, socket: usize) -> Option<usize> {
        let GrantedLink { index, serial } = self.sockets[socket].backlog.as_ref()?.granted?;
        let link = self.links.get(index).filter(|link| link.serial == serial && link.listed_room)?;
        match &link.kind {
            LinkKind::Stream(session) if session.granted() > 0 => Some(index),
            _ => None,
        }
    }

    /// What is left of a grant is nobody's.
    pub fn take_grant_back(&mut self, socket: usize) {
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        let Some(granted) = backlog.granted.take() else { return };
        let is_it = self.links.get(granted.index).is_some_and(|link| link.serial == granted.serial);
        if is_it
            && let Some(next) = self.settled_session(granted.index).and_then(Session::take_grant)
            && let Some(backlog) = &mut self.sockets[socket].backlog
        {
            backlog.next = next;
        }
        self.list_by_load(granted.index);
    }

    /// Gives the next block to a link. Returns which.
    fn grant(&mut self, engine: &Engine, socket: usize) -> Option<usize> {
        self.take_grant_back(socket);
        let backlog = self.sockets[socket].backlog.as_ref()?;
        let (window, run) = (backlog.window.count(), backlog.next);
        let unsettled = self.unsettled_count(socket);
        let left = backlog.room(unsettled);
        if self.has_letters_enough(socket) {
            return None;
        }
        let backlog = self.sockets[socket].backlog.as_mut()?;
        if left == 0 {
            backlog.window.note_full();
            return None;
        }
        if let Some(until) = backlog.redelivery.held_until(Instant::now) {
            // Whoever waits is to look again then.
            self.timers.set_earlier(Due::Refusals(socket), until);
            self.due_soon(engine);
            return None;
        }
        let choice = self.sockets[socket].backlog.as_ref()?.link_choice_of_new();
        let index = self.choose_link(socket, choice)?;
        let room = self.room_of(index);
        self.wake_deadlines(engine, socket);
        let link_count = self.sockets[socket].links.len() as u64;
        let link = &mut self.links[index];
        if let LinkKind::Stream(session) = &mut link.kind
            && session.is_settled()
        {
            let block = link.pace.block(session, window, link_count);
            let count = block.min(left).min(room);
            // Where nothing is under way, the first is not to wait for others.
            session.grant(run, count, unsettled > 0);
            self.list_by_load(index);
        }
        self.note_grant(socket, index);
        Some(index)
    }

    /// What a link was granted before it was known how long it takes may be more than it is to have.
    fn shorten_grant(&mut self, socket: usize, index: usize) {
        if self.granted_link(socket) == Some(index)
            && let LinkKind::Stream(session) = &self.links[index].kind
            && session.granted() > self.room_of(index)
        {
            self.take_grant_back(socket);
        }
    }

    /// How many messages the link may be given now.
    fn room_of(&self, index: usize) -> u64 {
        let link = &self.links[index];
        let LinkKind::Stream(session) = &link.kind else { return u64::MAX };
        let socket = &self.sockets[link.socket];
        let (Some(backlog), Some(settlement)) = (&socket.backlog, &socket.options.settlement) else {
            return u64::MAX;
        };
        let ahead = match backlog.knows_what_is_done() {
            true => link.pace.ahead(session, settlement.ahead_time).saturating_sub(session.unsettled_count()),
            false => u64::MAX,
        };
        ahead.min(session.credit())
    }

    fn note_grant(&mut self, socket: usize, index: usize) {
        let serial = self.links[index].serial;
        let is_settled = self.settled_session(index).is_some();
        let state = &mut self.sockets[socket];
        if let Some(backlog) = &mut state.backlog {
            backlog.granted = Some(GrantedLink { index, serial });
        }
        state.send_turn = state.with_room.iter().position(|&other| other == index).unwrap_or(0);
        // Peers that do not settle take turns, message by message.
        state.turn_step = usize::from(!is_settled);
    }

    /// The link with room, and credit, that has the fewest unsettled messages for its pace, of those that fit `choice`.
    fn choose_link(&mut self, socket: usize, choice: LinkChoice) -> Option<usize> {
        let state = &self.sockets[socket];
        let is_any_at_rest = state.backlog.iter().any(|backlog| backlog.receivers.at_rest_count() > 0);
        if state.with_room.is_empty() && !is_any_at_rest {
            self.find_room(socket);
        }
        let state = &self.sockets[socket];
        let count = state.with_room.len();
        let in_turn = (0..count).map(|offset| state.with_room[(state.send_turn + 1 + offset) % count]);
        let fit = in_turn.filter(|index| self.may_take(*index, choice));
        // The first link at rest is the best of them.
        let mut at_rest = state.backlog.iter().flat_map(|backlog| backlog.receivers.at_rest());
        let rested = at_rest.find(|index| self.may_take(*index, choice));
        let field = self.field(socket);
        fit.chain(rested).min_by_key(|index| self.rank(*index, &field))
    }

    /// What the links of a socket that have room are compared by.
    fn field(&self, socket: usize) -> Field {
        let state = &self.sockets[socket];
        let paces = state.with_room.iter().filter_map(|&index| {
            let link = &self.links[index];
            Some(link.pace.nanos_of(link.session()?)).filter(|nanos| *nanos > 0)
        });
        let backlog = state.backlog.as_ref();
        Field {
            fastest: paces.min().unwrap_or(1),
            half: backlog.map_or(0, |backlog| backlog.window.count() / 2),
            may_be_late: backlog.is_some_and(|backlog| {
                backlog.upstream.is_some() && state.with_room.len() + backlog.receivers.at_rest_count() > 1
            }),
        }
    }

    /// Whether a link may be given a message of that choice now.
    fn may_take(&self, index: usize, choice: LinkChoice) -> bool {
        let link = &self.links[index];
        let Some(session) = link.session().filter(|session| session.is_settled()) else { return true };
        let is_fit = match choice {
            LinkChoice::Open => !link.pace.is_alone,
            LinkChoice::Idle => session.unsettled_count() == 0 && !session.is_stuck(),
            LinkChoice::Any => true,
        };
        is_fit && self.room_of(index) > 0
    }

    /// The link with the least is given the next messages: those that may hang come last, then it counts how much they have for
    /// their pace, then how long ago they settled.
    fn rank(&self, index: usize, field: &Field) -> (bool, u64, Reverse<Option<Instant>>) {
        let link = &self.links[index];
        let Some(session) = link.session().filter(|session| session.is_settled()) else {
            return (false, 0, Reverse(None));
        };
        let unsettled = session.unsettled_count();
        let is_busy_for_long = || {
            let enough = session.told_pace().and_then(|nanos| pace::within(LARGE_BLOCK_TIME, nanos));
            enough.is_none_or(|enough| unsettled >= enough.min(field.half))
        };
        let is_late = field.may_be_late && link.pace.is_late(session);
        let is_last = link.pace.is_alone || session.is_stuck() || is_late;
        // One that is awake, and soon done with what it has, need not be woken for more. Of those that are late the one that
        // settled last may go on soonest, whatever it has.
        let load = match is_late || unsettled > 0 && !is_busy_for_long() {
            true => 0,
            false => 1 + unsettled * pace::weight(link.pace.nanos_of(session), field.fastest),
        };
        (is_last, load, Reverse(link.pace.settled))
    }

    /// Sends again what can be.
    pub fn send_waiting_again(&mut self, engine: &Engine, socket: usize) {
        loop {
            let Some(task) =
                self.sockets[socket].backlog.as_ref().and_then(|backlog| backlog.redelivery.first_waiting())
            else {
                return;
            };
            self.take_grant_back(socket);
            let Some(backlog) = self.sockets[socket].backlog.as_ref() else { return };
            let alone = backlog.redelivery.travels_alone(task);
            let choice = backlog.redelivery.link_choice(task, || self.first_unsettled(socket));
            let Some(index) = self.choose_link(socket, choice) else { return };
            let Some((task, message)) =
                self.sockets[socket].backlog.as_mut().and_then(|backlog| backlog.redelivery.take_waiting())
            else {
                return;
            };
            self.send_task(engine, index, task, &message, alone);
        }
    }

    fn send_task(&mut self, engine: &Engine, index: usize, task: TaskRun, message: &Message, alone: bool) {
        let socket = self.links[index].socket;
        if let Some(session) = self.settled_session(index) {
            session.grant(task, 1, false);
            self.list_by_load(index);
        }
        let link = &mut self.links[index];
        link.pace.on_sent();
        link.pace.is_alone |= alone;
        let sent = self.push_to_link(engine, index, &Parcel::plain(&Outgoing::Message(message)));
        if !sent && let Some(backlog) = &mut self.sockets[socket].backlog {
            // The link has ended, and took nothing.
            backlog.redelivery.send_again(vec![(task, message.clone())]);
        } else if let Some(session) = self.settled_session(index) {
            session.take_grant();
            self.list_by_load(index);
        }
    }

    /// What a receiver has said of what it was sent.
    pub fn on_settled(&mut self, engine: &Engine, index: usize) {
        let Some(link) = self.links.get_mut(index) else { return };
        let LinkKind::Stream(session) = &mut link.kind else { return };
        let mut news = session.take_settled();
        link.pace.on_settled(news.count, session.unsettled_count());
        link.pace.is_alone &= session.awaits_settlement() || session.is_stuck();
        let socket = link.socket;
        self.list_by_load(index);
        if let Some(backlog) = &mut self.sockets[socket].backlog {
            backlog.window.note_settled(news.count);
        }
        self.take_done(engine, socket, &std::mem::take(&mut news.done));
        self.take_news(engine, socket, news);
        self.shorten_grant(socket, index);
        self.tell_refused(socket);
        self.notify_of_letters(socket);
        self.end_sending(engine, index);
        if !self.sockets[socket].closed {
            self.send_waiting_again(engine, socket);
            self.end_sending_where_over(engine, socket);
        }
        self.notify(socket);
    }

    fn take_news(&mut self, engine: &Engine, socket: usize, news: SettledNews) {
        let Some(backlog) = &mut self.sockets[socket].backlog else { return };
        let Some(upstream) = backlog.upstream else {
            backlog.redelivery.take_back(news.returned);
            return self.pass_refusals(engine, socket);
        };
        let rejected = backlog.redelivery.take_back_passed_on(news.returned);
        for (run, count) in news.accepted {
            self.settle_tasks(engine, upstream, run.id, count, Outcome::Accepted, b"");
        }
        for Returned { task, reason, .. } in rejected {
            self.settle_tasks(engine, upstream, task.id, 1, Outcome::Rejected, &reason);
        }
    }

    /// Whether a message that is this task was sent and is not settled.
    pub fn is_under_way(&self, socket: usize, task: TaskId) -> bool {
        let backlog = self.sockets.get(socket).and_then(|state| state.backlog.as_ref());
        backlog.is_some_and(|backlog| backlog.redelivery.has_waiting(task))
            || self.busy_sessions(socket).any(|(_, session)| session.has_unsettled(task))
    }

    /// The next message sent is this task, and those behind it follow in sequence.
    pub fn set_next_task(&mut self, socket: usize, task: TaskRun) {
        let Some(backlog) = self.sockets.get(socket).and_then(|state| state.backlog.as_ref()) else { return };
        let granted = backlog.granted.and_then(|granted| self.links.get(granted.index));
        let next = granted.and_then(|link| match &link.kind {
            LinkKind::Stream(session) if session.granted() > 0 => session.next_task(),
            _ => None,
        });
        if next == Some(task) {
            return;
        }
        self.take_grant_back(socket);
        if let Some(backlog) = &mut self.sockets[socket].backlog {
            backlog.next = task;
        }
    }

    /// The connection is over: what is unsettled is to be sent again. Returns how many messages are lost, the socket
    /// being closed; `None` if the link was not settled.
    pub fn recover_unsettled(&mut self, engine: &Engine, index: usize) -> Option<usize> {
        let link = &self.links[index];
        let (socket, serial) = (link.socket, link.serial);
        if self.sockets[socket].backlog.as_ref()?.granted == Some(GrantedLink { index, serial }) {
            self.take_grant_back(socket);
        }
        if matches!(&self.links[index].kind, LinkKind::Stream(session) if session.is_recovered()) {
            return Some(0);
        }
        let session = self.settled_session(index)?;
        let mut news = session.take_settled();
        let unsettled = session.take_unsettled();
        self.list_by_load(index);
        self.take_done(engine, socket, &std::mem::take(&mut news.done));
        self.take_news(engine, socket, news);
        let state = &mut self.sockets[socket];
        let backlog = state.backlog.as_mut()?;
        if state.closed {
            return Some(unsettled.len() + backlog.redelivery.give_up_waiting());
        }
        backlog.redelivery.send_again(unsettled);
        self.tell_refused(socket);
        self.pass_refusals(engine, socket);
        Some(0)
    }

    /// Has it woken when tasks are refused.
    pub fn wake_on_refusal(&mut self, socket: usize, waker: Waker) {
        let backlog = self.sockets.get_mut(socket).and_then(|socket| socket.backlog.as_mut());
        let Some(backlog) = backlog else { return };
        let before = backlog.refusal_waker.replace(waker);
        backlog.has_woken = false;
        self.after.extend(before.map(After::Forget));
        self.tell_refused(socket);
    }

    /// Has whoever tells others of refused tasks woken, if there are new ones.
    pub fn tell_refused(&mut self, socket: usize) {
        let backlog = self.sockets.get_mut(socket).and_then(|socket| socket.backlog.as_mut());
        if let Some(waker) = backlog.and_then(|backlog| backlog.take_wake_up()) {
            self.after.push(After::Wake(waker));
        }
    }

    /// Whether a send would be accepted at once.
    pub fn is_settled_writable(&mut self, socket: usize) -> bool {
        if self.granted_link(socket).is_some() {
            return true;
        }
        let unsettled = self.unsettled_count(socket);
        let Some(backlog) = &mut self.sockets[socket].backlog else { return false };
        let choice = backlog.link_choice_of_new();
        !backlog.holds_up_new()
            && backlog.room(unsettled) > 0
            && backlog.redelivery.held_until(Instant::now).is_none()
            && !self.has_letters_enough(socket)
            && self.choose_link(socket, choice).is_some()
    }
}
