//! An AMQP connection as a [`Protocol`]: the calls of the event loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::BodyBuffer;
use hairstreak_broker::queue::Durability;
use hairstreak_transport::event_loop::{Context, End, Protocol};
use hairstreak_wire::amqp::{HEARTBEAT_FRAME, Method, ReplyCode, connection};
use parking_lot::MutexGuard;

use super::connection::{AmqpConnection, AmqpError, HANDSHAKE_TIME, LINGER_TIME, Mail, Member, Phase};
use super::fault::Fault;
use super::handshake::push_close;
use super::liveness::{Sign, Verdict};
use super::server::DRAIN_TIME;
use super::session::Outcome;
use super::turn::{Promises, STEPS_MAX, Turn};
use crate::node::encoding::push_method;
use crate::node::{Awaited, Messages, REPLIES_BYTES_MAX, Reached, UNWRITTEN_MAX, Waiter};
use crate::tls::PeerTls;

/// The wait for a busy virtual host before parked frames of a connection that ends are dropped. The lock is held for milliseconds at most.
const PARKED_PATIENCE: Duration = Duration::from_secs(1);

type AmqpContext<'a> = Context<'a, AmqpConnection, Mail>;

impl Protocol for AmqpConnection {
    type Mail = Mail;
    type Error = AmqpError;

    fn handle_start(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        // The handshake of TLS is over only now.
        self.client.peer.tls = PeerTls::of(context.connection.stream());
        Ok(())
    }

    fn handle_bytes(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        self.handle_input(context)
    }

    fn body_to_read(&mut self) -> Option<(&mut BodyBuffer, usize)> {
        self.member.as_mut()?.session.long_body()
    }

    fn handle_body_bytes(&mut self, size: usize, _context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        if let Some(member) = &mut self.member {
            member.session.has_read_body(size);
        }
        Ok(())
    }

    fn handle_mail(&mut self, mail: Mail, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        match mail {
            Mail::Outlet => self.go_on_without_input(context),
            Mail::Synced => {
                if let (Some(member), Some(messages)) = (&mut self.member, &self.node.messages) {
                    let session = &mut member.session;
                    session.confirm_logged(messages.reached(), &mut context.connection.output);
                    session.await_log(messages, context.address());
                }
                Ok(())
            }
            Mail::LoggedIn(result) => {
                self.end_login(result, context);
                self.handle_input(context)
            }
            Mail::Uncommitted(error) => {
                let (lost, reason) = (context.connection.output.discard_held(), error.to_string());
                self.force_close(ReplyCode::InternalError, &reason, context);
                if lost > 0 && matches!(self.phase, Phase::Closing | Phase::Left | Phase::Over) {
                    // The discarded output held the end of the connection. A client that has closed sends nothing more.
                    self.phase = if self.phase == Phase::Left { Phase::Over } else { self.phase };
                    push_close(&Fault::new(ReplyCode::InternalError, reason, (0, 0)), context);
                }
                self.end_if_over(context)
            }
            Mail::Close(reason) => {
                self.force_close(ReplyCode::ConnectionForced, &reason, context);
                self.end_if_over(context)
            }
        }
    }

    fn handle_released(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        // A client that reads nothing causes no further call.
        self.end_if_over(context)
    }

    fn handle_written(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        let unwritten = context.connection.output.queued_bytes();
        let Some(member) = &mut self.member else { return self.end_if_over(context) };
        // The last report came before the write.
        member.session.report(&member.listed.entry.figures, context.connection);
        if member.is_unread && unwritten < REPLIES_BYTES_MAX / 2 {
            member.is_unread = false;
            go_on(member, context);
        }
        if member.is_full && unwritten < UNWRITTEN_MAX / 2 {
            (member.is_full, member.has_room) = (false, true);
            return self.go_on_without_input(context);
        }
        Ok(())
    }

    fn handle_deferred(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        if context.connection.is_paused() && self.phase == Phase::Running {
            self.go_on_without_input(context)?;
        } else {
            self.handle_input(context)?;
        }
        if self.is_stopping && self.forced.is_none() { self.finish(context) } else { Ok(()) }
    }

    fn handle_timeout(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        if self.deadline.is_some_and(|deadline| deadline <= context.now) {
            if self.phase != Phase::Left {
                return Err(AmqpError::Late);
            }
            self.phase = Phase::Over;
            return self.end_if_over(context);
        }
        let Some(interval) = self.tuned.heartbeat else { return Ok(()) };
        let connection = &mut *context.connection;
        let figures = (connection.output.written_bytes(), connection.read_bytes());
        // All output that may leave has left. The disk, and not the client, releases held output.
        let has_taken_all = connection.output.ready_bytes() == 0;
        let sign = match &self.member {
            Some(member) if member.is_unread && !has_taken_all => Sign::Taken,
            _ if connection.is_paused() || matches!(self.phase, Phase::Left | Phase::Over) => Sign::None,
            _ => Sign::Sent,
        };
        match self.liveness.look(interval, context.now, figures, sign) {
            Verdict::Gone => return Err(AmqpError::Silent),
            // Waiting output replaces a heartbeat, and no output follows connection.close-ok.
            Verdict::SendHeartbeat
                if has_taken_all && (self.phase != Phase::Left || connection.output.is_held()) =>
            {
                connection.output.push_before_held(&HEARTBEAT_FRAME);
                self.liveness.note_heartbeat(HEARTBEAT_FRAME.len());
            }
            Verdict::SendHeartbeat | Verdict::Nothing => {}
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let look = self.tuned.heartbeat.map(|_| self.liveness.due());
        [self.deadline, look].into_iter().flatten().min()
    }

    fn handle_stop(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        let reason = "broker forced connection closure with reason 'shutdown'";
        self.force_close(ReplyCode::ConnectionForced, reason, context);
        self.is_stopping = true;
        // A client whose host is busy is notified in a later turn.
        if self.forced.is_none() { self.finish(context) } else { Ok(()) }
    }

    fn handle_input_end(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        self.finish(context)
    }

    fn handle_peer_end(&mut self, _context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        // Frames that the client sent before its end count.
        let waits = self.member.as_ref().is_some_and(|member| member.waits);
        if waits { Ok(()) } else { Err(AmqpError::Gone) }
    }

    fn handle_end(&mut self, _end: End<AmqpError>, context: &mut AmqpContext<'_>) {
        self.leave(context);
    }
}

impl AmqpConnection {
    fn handle_input(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        loop {
            // The bytes that follow are read in the next phase.
            let before = self.phase;
            match before {
                Phase::Running => {
                    self.in_turn(context, true);
                    self.follow_alarm(context)?;
                    self.follow_output(context);
                }
                Phase::Closing => self.await_end(context),
                Phase::Left | Phase::Over => {
                    let input = &mut context.connection.input;
                    input.consume(input.unread().len());
                }
                _ => {
                    if let Err(AmqpError::Handshake(_)) = self.handshake(context) {
                        self.phase = Phase::Over;
                    }
                }
            }
            self.end_if_over(context)?;
            if self.phase == before {
                return Ok(());
            }
        }
    }

    /// Like [`handle_input`](AmqpConnection::handle_input), for work other than input that waits for the lock.
    fn go_on_without_input(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        self.in_turn(context, false);
        self.follow_alarm(context)?;
        self.end_if_over(context)
    }

    /// Tells the client that the node ends the connection.
    fn force_close(&mut self, code: ReplyCode, reason: &str, context: &mut AmqpContext<'_>) {
        if self.member.is_some() {
            self.forced = Some(Fault::new(code, reason, (0, 0)));
            self.in_turn(context, false);
        }
    }

    /// Follows the phase once the input is used, and again when held output may leave.
    fn end_if_over(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        if let Some(member) = &self.member {
            let session = &member.session;
            self.passed_over = session.parked.missing_bytes(&session.reading);
            self.phase = match session.outcome {
                Outcome::Running => self.phase,
                Outcome::Closed => Phase::Closing,
                Outcome::Left => Phase::Left,
                Outcome::Lost => Phase::Over,
            };
        }
        if !matches!(self.phase, Phase::Closing | Phase::Left | Phase::Over) {
            return Ok(());
        }
        // Unsettled deliveries of the client return at once, even if the rest of its output takes long.
        self.leave(context);
        if context.connection.output.is_held() {
            // The client has not received the end yet. If the disk refuses held changes, the client is still told.
            return Ok(());
        }
        match self.phase {
            Phase::Over => context.close(),
            Phase::Left => self.linger(context),
            // The client has a while to answer.
            _ => self.deadline = self.deadline.or(Some(context.now + HANDSHAKE_TIME)),
        }
        Ok(())
    }

    /// Waits until the client ends its side, if a place is free.
    fn linger(&mut self, context: &mut AmqpContext<'_>) {
        if self.lingers.is_some() {
            return;
        }
        // A stranger has no place: the places are for clients that have logged in.
        self.lingers = if self.client.has_logged_in { self.node.lingering.take() } else { None };
        if self.lingers.is_none() {
            self.phase = Phase::Over;
            return context.close();
        }
        let time = self.tuned.heartbeat.map_or(LINGER_TIME, |interval| interval.min(LINGER_TIME));
        self.deadline = Some(context.now + time);
    }

    /// Stops reading, and sends only the rest of the output.
    fn finish(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        self.leave(context);
        self.phase = Phase::Over;
        self.deadline = Some(context.now + DRAIN_TIME);
        self.end_if_over(context)
    }

    /// Does all work that needs the lock of the virtual host: a forced end, room for deliveries, and with `takes_input` the
    /// frames in the input. Then it handles the consequences: confirms, deliveries of this connection, wakeups of other
    /// connections, memory. A connection whose host is busy is deferred.
    fn in_turn(&mut self, context: &mut AmqpContext<'_>, takes_input: bool) {
        let Some(member) = &mut self.member else { return };
        let Member { host, id, is_full, has_room, session, rights, slot, turn_count, .. } = member;
        let (late, waits) = (&mut member.late, &mut member.waits);
        let Some(mut state) = host.lock_within(context.patience) else { return context.defer() };
        if session.parked.is_overtaken && (session.parked.is_ending || self.forced.is_some()) {
            // The unfinished work of the host comes before the parked frames.
            self.node.end_chores(&mut state, *id, PARKED_PATIENCE);
        }
        *turn_count += 1;
        let now = self.node.clock.millis(context.now);
        state.outlets.now = now;
        let own = context.address();
        let state_steps = state.host.step_count();
        let connection = &mut *context.connection;
        let mut turn = Turn {
            state: &mut state,
            virtual_host: host.name(),
            output: &mut connection.output,
            journal: &self.node.journal,
            pool: &self.node.pool,
            publishers: &self.node.publishers,
            connection: *id,
            rights,
            slot,
            now,
            frame_body_max: self.tuned.frame_body_max(),
            steps_end: state_steps + STEPS_MAX,
            late,
            reached: self.node.messages.as_ref().map_or(Reached::default(), Messages::reached),
            promises: Promises::new(*turn_count),
        };
        if std::mem::take(has_room) {
            turn.note_room();
        }
        if let Some(fault) = self.forced.take()
            && session.outcome == Outcome::Running
        {
            session.refuse(fault, 0, &mut turn);
        }
        let input = if takes_input { connection.input.unread() } else { &[] };
        // The rest of the host's unfinished work may be done now.
        let used = if takes_input || *waits { session.handle_frames(input, &mut turn) } else { 0 };
        if session.parked.is_ending {
            session.handle_parked(&mut turn);
        }
        // A change without an answer, too, must be on disk before any later output is sent.
        turn.hold_behind_changes();
        session.tell_all_confirms(&mut turn);
        *is_full = turn.take_deliveries().is_full;
        let is_over = turn.is_over();
        let has_to_wait = session.outcome == Outcome::Running && turn.has_to_wait();
        session.throttle.tell(&self.node.account);
        if session.throttle.holds_nothing() {
            session.alarm_quota.end();
        }
        let Promises { ticket, are_held, durability, places } = turn.promises;
        self.node.hand_over(host, &mut state);
        let position = state.log_position;
        session.place_confirms(position);
        if are_held {
            let node = Arc::clone(&self.node);
            self.node.keep(host, &mut state, places, move |result| {
                let awaits_log = durability > Durability::Memory && result.is_ok();
                let awaited = node.messages.as_ref().filter(|_| awaits_log);
                let told = Arc::clone(&node);
                let tell = move || told.post().committed(own, ticket, result);
                match awaited {
                    Some(messages) => {
                        messages.wait(Awaited { position, durability }, Waiter::Call(Box::new(tell)))
                    }
                    None => tell(),
                }
            });
        }
        for address in state.outlets.woken() {
            if address != own {
                context.send(address, Mail::Outlet);
            }
        }
        self.node.note(host, &mut state);
        if is_over && !has_to_wait {
            // The next thread that waits for the lock gets it.
            MutexGuard::unlock_fair(state);
            context.yield_turn();
        } else {
            drop(state);
        }
        self.node.wake_log();
        if let Some(messages) = &self.node.messages {
            session.await_log(messages, own);
        }
        context.connection.input.consume(used);
        match (std::mem::replace(waits, has_to_wait), has_to_wait) {
            (false, true) => context.pause(),
            (true, false) => go_on(member, context),
            _ => {}
        }
        member.session.report(&member.listed.entry.figures, context.connection);
    }

    /// Stops or resumes reading according to the alarm.
    fn follow_alarm(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        let Some(member) = &mut self.member else { return Ok(()) };
        let session = &mut member.session;
        if session.outcome != Outcome::Running {
            return Ok(());
        }
        if self.node.is_alarmed() {
            if session.alarm_quota.take_goes_on() {
                session.throttle.go_on();
                go_on(member, context);
            } else if session.throttle.is_waiting() {
                if context.connection.has_peer_ended() && !member.waits {
                    return Err(AmqpError::Gone);
                }
                context.pause();
            }
            return Ok(());
        }
        session.alarm_quota.renew();
        if session.throttle.unblock() {
            if session.hears_blocked {
                let unblocked = Method::ConnectionUnblocked(connection::Unblocked {});
                push_method(&mut context.connection.output, 0, &unblocked);
            }
            go_on(member, context);
        }
        Ok(())
    }

    /// Stops reading from a client that does not read its answers.
    fn follow_output(&mut self, context: &mut AmqpContext<'_>) {
        let Some(member) = &mut self.member else { return };
        if member.session.outcome == Outcome::Running
            && context.connection.output.queued_bytes() >= REPLIES_BYTES_MAX
        {
            member.is_unread = true;
            context.pause();
        }
    }

    /// Removes the connection from its virtual host. Unsettled deliveries are returned.
    fn leave(&mut self, context: &mut AmqpContext<'_>) {
        if let Some(member) = &mut self.member
            && member.session.begins_end_of_parked()
        {
            let patience = std::mem::replace(context.patience, PARKED_PATIENCE);
            self.in_turn(context, false);
            *context.patience = patience;
        }
        let Some(mut member) = self.member.take() else { return };
        log::info!(connection = &*member.listed.entry.name; "closing AMQP connection");
        member.session.throttle.forget();
        member.session.throttle.tell(&self.node.account);
        let Some(mut state) = member.host.lock_within(context.patience) else {
            return self.node.leave_later(&member.host, member.id);
        };
        let now = self.node.clock.millis(context.now);
        state.outlets.now = now;
        state.leave(member.id, now);
        state.outlets.woken().for_each(|address| context.send(address, Mail::Outlet));
        self.node.note(&member.host, &mut state);
        drop(state);
        self.node.wake_log();
    }
}

/// Resumes reading, unless another reason prevents it. Parked frames or the rest of a transaction are handled first, even without
/// other input.
fn go_on(member: &Member, context: &mut AmqpContext<'_>) {
    let session = &member.session;
    if member.waits || member.is_unread || session.throttle.is_waiting() {
        return;
    }
    context.resume();
    if session.parked.is_in_the_way() || session.committing.is_some() {
        context.yield_turn();
    }
}
