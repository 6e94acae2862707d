//! From the first byte to connection.open: protocol header, login, limits, virtual host.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_broker::Refusal;
use hairstreak_transport::event_loop::Context;
use hairstreak_wire::amqp::sasl::{Credentials, Login, Mechanism};
use hairstreak_wire::amqp::{
    FRAME_SIZE_ALLOWANCE, FieldTable, FrameError, FrameKind, Method, PROTOCOL_HEADER, ReplyCode, connection,
    decode_frame, decode_protocol_header, method_id,
};

use super::connection::{AmqpConnection, AmqpError, Capabilities, Mail, Member, Phase};
use super::fault::Fault;
use super::product::{self, Tuned};
use super::reading::whole_size;
use super::session::Session;
use super::turn::Late;
use crate::access::{
    ConnectionSlot, Identity, Login as AccessLogin, LoginError, LoginResult, Protocol, Rights,
};
use crate::node::Node;
use crate::node::encoding::push_method;

/// The most bytes of a frame with connection.close or its answer. The text has 255.
const CLOSE_SIZE_MAX: usize = 512;

type AmqpContext<'a> = Context<'a, AmqpConnection, Mail>;

impl AmqpConnection {
    /// Takes one step of the handshake, if enough bytes are here.
    pub(super) fn handshake(&mut self, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        match self.phase {
            Phase::Header => {
                self.take_protocol_header(context);
                return Ok(());
            }
            // The rest of the input waits for the answer.
            Phase::LogIn => return Ok(()),
            _ => {}
        }
        // Heartbeats may come before any method. A loop passes over them: a stranger may send any number.
        loop {
            let input = context.connection.input.unread();
            let frame = match decode_frame(input, self.tuned.frame_size_max) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) => {
                    let (fault, size) = (Fault::of_frame(&error, input), whole_size(input).min(input.len()));
                    context.connection.input.consume(size);
                    return self.refuse_frame(fault, context);
                }
            };
            let (kind, size) = (frame.kind, frame.size());
            let fault = Fault::of_kind(&frame);
            let fault = fault.or_else(|| (frame.channel != 0).then(|| Fault::unexpected(&frame)));
            // The payload is copied, because the answer uses the same connection. Each client does this three times.
            let payload = frame.payload.to_vec();
            if let Some(fault) = fault {
                context.connection.input.consume(size);
                return self.refuse_frame(fault, context);
            }
            if kind == FrameKind::Method {
                let method = Method::decode(&payload);
                let method = method.map_err(|error| AmqpError::Handshake(error.to_string()))?;
                if self.take_step(&method, context)? {
                    context.connection.input.consume(size);
                }
                return Ok(());
            }
            context.connection.input.consume(size);
        }
    }

    /// Refuses a frame. As in RabbitMQ a client before its login gets no message.
    fn refuse_frame(&mut self, fault: Fault, context: &mut AmqpContext<'_>) -> Result<(), AmqpError> {
        if self.phase != Phase::Open {
            return Err(AmqpError::Handshake(fault.refusal.text));
        }
        self.close_with(&fault, context);
        Ok(())
    }

    fn take_protocol_header(&mut self, context: &mut AmqpContext<'_>) {
        match decode_protocol_header(context.connection.input.unread()) {
            Ok(None) => {}
            Ok(Some(size)) => {
                context.connection.input.consume(size);
                let mechanisms = self.mechanisms();
                let start = connection::Start {
                    version_major: 0,
                    version_minor: 9,
                    server_properties: product::server_properties(),
                    mechanisms: &mechanisms,
                    locales: product::LOCALES,
                };
                push_method(&mut context.connection.output, 0, &Method::ConnectionStart(start));
                self.phase = Phase::StartOk;
            }
            Err(_) => {
                context.connection.output.push_copy(&PROTOCOL_HEADER, &[], true);
                self.phase = Phase::Over;
            }
        }
    }

    /// Returns whether the step is done. The virtual host may be busy: the method comes again.
    fn take_step(&mut self, method: &Method<'_>, context: &mut AmqpContext<'_>) -> Result<bool, AmqpError> {
        match (self.phase, method) {
            (Phase::StartOk, Method::ConnectionStartOk(start_ok)) => self.log_in(start_ok, context)?,
            (Phase::TuneOk, Method::ConnectionTuneOk(tune_ok)) => self.take_limits(tune_ok, context)?,
            (Phase::Open, Method::ConnectionOpen(open)) => return Ok(self.open(open, context)),
            (_, Method::ConnectionClose(_)) => {
                let ok = Method::ConnectionCloseOk(connection::CloseOk {});
                push_method(&mut context.connection.output, 0, &ok);
                self.phase = Phase::Left;
            }
            (Phase::Open, other) => {
                let text = "unexpected method in connection state opening";
                self.close_with(&Fault::new(ReplyCode::ChannelError, text, other.id()), context);
            }
            (_, other) => return Err(AmqpError::Handshake(format!("unexpected {}", other.name()))),
        }
        Ok(true)
    }

    /// Starts the client's login. The password may need a hash, which another thread computes.
    fn log_in(
        &mut self,
        start_ok: &connection::StartOk<'_>,
        context: &mut AmqpContext<'_>,
    ) -> Result<(), AmqpError> {
        self.client.capabilities = capabilities(&start_ok.client_properties);
        self.client.info.properties = (&start_ok.client_properties).into();
        let mechanism = String::from_utf8_lossy(start_ok.mechanism);
        let wrong = |reason: String| AmqpError::Handshake(reason);
        let chosen = Mechanism::from_name(start_ok.mechanism)
            .filter(|chosen| self.offers(*chosen))
            .ok_or_else(|| wrong(format!("unsupported mechanism '{mechanism}'")))?;
        self.client.info.mechanism = chosen.name();
        let login = chosen.login(start_ok.response).map_err(|error| wrong(error.to_string()))?;
        self.phase = Phase::LogIn;
        let peer = self.client.peer.for_login().by(Protocol::Amqp);
        let (node, to) = (Arc::clone(&self.node), context.address());
        let answer = move |result| node.post().logged_in(to, result);
        let result = match login {
            Login::Password(Credentials { user, password }) => {
                match self.node.access.log_in(user, password, peer, answer) {
                    AccessLogin::Now(result) => result,
                    AccessLogin::Later => return Ok(()),
                }
            }
            Login::External { .. } => {
                let name = self.certificate_name().unwrap_or_default();
                self.node.access.log_in_without_password(name.as_bytes(), peer)
            }
            Login::Anonymous { .. } => self.node.access.log_in_anonymously(peer),
        };
        self.end_login(result, context);
        Ok(())
    }

    /// Handles the result of the login.
    pub(super) fn end_login(&mut self, result: LoginResult, context: &mut AmqpContext<'_>) {
        if self.phase != Phase::LogIn {
            return;
        }
        match result {
            Ok(identity) => {
                self.client.info.user = (**identity.user()).into();
                self.client.identity = Some(identity);
                self.client.has_logged_in = true;
                push_method(
                    &mut context.connection.output,
                    0,
                    &Method::ConnectionTune(product::TUNING.tune()),
                );
                self.phase = Phase::TuneOk;
            }
            Err(error) if !self.client.capabilities.authentication_failure_close => {
                self.tell_refused(&error);
                self.phase = Phase::Over;
            }
            Err(error) => {
                self.tell_refused(&error);
                let mechanism = self.client.info.mechanism;
                let text = format!(
                    "Login was refused using authentication mechanism {mechanism}. For details see the broker logfile."
                );
                self.close_with(&Fault::new(ReplyCode::AccessRefused, text, (0, 0)), context);
            }
        }
    }

    fn tell_refused(&self, error: &LoginError) {
        self.node.refused_logins.tell(self.client.peer.remote, self.client.info.mechanism, error);
    }

    /// Returns true if the client shows a certificate. Only a node that asks for certificates sees one.
    fn shows_certificate(&self) -> bool {
        self.client.peer.tls.as_ref().is_some_and(|tls| tls.certificate.is_some())
    }

    /// The user that the client's certificate names.
    fn certificate_name(&self) -> Option<&str> {
        let certificate = self.client.peer.tls.as_ref()?.certificate.as_ref()?;
        certificate.as_ref().ok()?.login_name(self.node.login_from)
    }

    /// Returns true if clients on this connection may use the mechanism.
    fn offers(&self, mechanism: Mechanism) -> bool {
        match mechanism {
            Mechanism::Plain | Mechanism::Amqplain => true,
            Mechanism::External => self.shows_certificate(),
            Mechanism::Anonymous => self.node.settings.allows_anonymous(),
        }
    }

    /// The mechanisms that connection.start offers.
    fn mechanisms(&self) -> Vec<u8> {
        let offered = Mechanism::ALL.into_iter().filter(|mechanism| self.offers(*mechanism));
        offered.map(Mechanism::name).collect::<Vec<_>>().join(" ").into_bytes()
    }

    fn take_limits(
        &mut self,
        tune_ok: &connection::TuneOk,
        context: &mut AmqpContext<'_>,
    ) -> Result<(), AmqpError> {
        let settled = product::TUNING.settle(tune_ok);
        let settled = settled.map_err(|error| AmqpError::Handshake(error.to_string()))?;
        self.tuned = Tuned {
            channel_max: settled.channel_max,
            frame_size_max: settled.frame_max as usize,
            heartbeat: (settled.heartbeat > 0).then(|| Duration::from_secs(settled.heartbeat.into())),
        };
        let info = &mut self.client.info;
        (info.channel_max, info.frame_max) = (settled.channel_max, settled.frame_max);
        info.heartbeat = settled.heartbeat;
        if let Some(interval) = self.tuned.heartbeat {
            self.liveness.start(interval, context.now);
        }
        self.phase = Phase::Open;
        Ok(())
    }

    /// Joins a virtual host. Returns false if the host is busy.
    fn open(&mut self, open: &connection::Open<'_>, context: &mut AmqpContext<'_>) -> bool {
        let name = String::from_utf8_lossy(open.virtual_host);
        let refuse = |code, text: String| Fault::new(code, text, connection::Open::ID);
        let Some(host) = self.node.hosts.find(&name) else {
            let fault = refuse(ReplyCode::NotAllowed, format!("vhost {name} not found"));
            return self.close_with(&fault, context);
        };
        let Some(identity) = self.client.identity.clone() else { return true };
        let (rights, slot) = match admit(&self.node, &identity, &name) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                return self.close_with(&Fault::in_method(refusal, connection::Open::ID), context);
            }
        };
        let (body_max, hears_cancels) =
            (self.tuned.frame_body_max(), self.client.capabilities.consumer_cancel_notify);
        let Some(mut state) = host.lock_within(context.patience) else {
            context.defer();
            return false;
        };
        let id = state.outlets.add(context.address(), body_max, hears_cancels);
        drop(state);
        self.client.identity = None;
        let node = Arc::clone(&self.node);
        let info = std::mem::take(&mut self.client.info);
        let hears_blocked = self.client.capabilities.connection_blocked;
        let session = Session::new(node, context.address(), self.tuned, hears_blocked);
        let (now, peer) = (self.node.clock.millis(context.now), self.client.peer.clone());
        let listed = self.node.connections.add(context.address(), peer, info, (host.name(), id), now);
        // A host that was deleted since did not close this connection with its others.
        if !self.node.hosts.find(&name).is_some_and(|now| Arc::ptr_eq(&now, &host)) {
            self.node.leave_later(&host, id);
            let fault = refuse(ReplyCode::NotAllowed, format!("vhost {name} not found"));
            return self.close_with(&fault, context);
        }
        let (connection, user, vhost) = (&*listed.entry.name, &**identity.user(), host.name());
        log::info!(connection = connection, user = user, vhost = vhost; "user authenticated and granted access");
        let session = Box::new(session);
        self.member = Some(Member {
            host,
            id,
            listed,
            rights,
            slot,
            turn_count: 0,
            late: Late::default(),
            waits: false,
            is_full: false,
            has_room: false,
            is_unread: false,
            session,
        });
        self.deadline = None;
        self.phase = Phase::Running;
        push_method(&mut context.connection.output, 0, &Method::ConnectionOpenOk(connection::OpenOk {}));
        true
    }

    /// Sends the reason for which the connection is over, outside of any virtual host. Returns true: the step is done.
    fn close_with(&mut self, fault: &Fault, context: &mut AmqpContext<'_>) -> bool {
        push_close(fault, context);
        self.phase = if fault.is_fatal { Phase::Over } else { Phase::Closing };
        true
    }

    /// After connection.close: only its answer counts. Frames that are larger than a close are passed over as they come.
    pub(super) fn await_end(&mut self, context: &mut AmqpContext<'_>) {
        let input = context.connection.input.unread();
        let (mut at, mut is_answered) = (0, false);
        while self.phase == Phase::Closing {
            let passed = self.passed_over.min(input.len() - at);
            (at, self.passed_over) = (at + passed, self.passed_over - passed);
            let rest = &input[at..];
            let size = whole_size(rest);
            if (CLOSE_SIZE_MAX + 1..=self.tuned.frame_size_max + FRAME_SIZE_ALLOWANCE).contains(&size) {
                self.passed_over = size;
                continue;
            }
            match decode_frame(rest, self.tuned.frame_size_max) {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    at += size;
                    let is_of_connection = frame.kind == FrameKind::Method && frame.channel == 0;
                    match method_id(frame.payload).filter(|_| is_of_connection) {
                        Some(connection::CloseOk::ID) => self.phase = Phase::Over,
                        Some(connection::Close::ID) => (self.phase, is_answered) = (Phase::Left, true),
                        _ => {}
                    }
                }
                Err(FrameError::UnknownKind { .. }) => at += size,
                Err(_) => self.phase = Phase::Over,
            }
        }
        context.connection.input.consume(at);
        if is_answered {
            push_method(
                &mut context.connection.output,
                0,
                &Method::ConnectionCloseOk(connection::CloseOk {}),
            );
        }
    }
}

/// Puts connection.close into the output, outside of any virtual host.
pub(super) fn push_close(fault: &Fault, context: &mut AmqpContext<'_>) {
    let (class_id, method_id) = fault.method;
    let reply_text = fault.refusal.code.reply_text(&fault.refusal.text);
    let reply_code = fault.refusal.code.number();
    let close = connection::Close { reply_code, reply_text: &reply_text, class_id, method_id };
    push_method(&mut context.connection.output, 0, &Method::ConnectionClose(close));
}

/// The capabilities that the client announces.
fn capabilities(client_properties: &FieldTable) -> Capabilities {
    let table = client_properties.get("capabilities").and_then(|value| value.as_table());
    let has = |name: &str| {
        table.and_then(|table| table.get(name)).and_then(|value| value.as_bool()).unwrap_or_default()
    };
    Capabilities {
        authentication_failure_close: has("authentication_failure_close"),
        connection_blocked: has("connection.blocked"),
        consumer_cancel_notify: has("consumer_cancel_notify"),
    }
}

/// Admits a user to a virtual host. Returns the user's rights there, and the place among the connections of the user.
///
/// # Errors
///
/// `NOT_ALLOWED`: the user has no permission there, or the host or the user has reached its limit of connections.
pub(super) fn admit(
    node: &Node,
    identity: &Arc<Identity>,
    virtual_host: &str,
) -> Result<(Rights, ConnectionSlot), Refusal> {
    let refuse = |text: String| Refusal::new(ReplyCode::NotAllowed, text);
    let refuse_access = |reason: &str| {
        let user = identity.user();
        refuse(format!("access to vhost '{virtual_host}' refused for user '{user}'{reason}"))
    };
    let rights = Rights::open(Arc::clone(identity), virtual_host).ok_or_else(|| refuse_access(""))?;
    if let Some(limit) = node.connection_limit(virtual_host) {
        return Err(refuse_access(&format!(": connection limit ({limit}) is reached")));
    }
    let slot = identity.take_connection().map_err(|error| refuse(error.to_string()))?;
    Ok((rights, slot))
}
