//! Methods of the classes exchange and queue.

use hairstreak_broker::exchange::{ExchangeDeclaration, check_declaration, check_not_default};
use hairstreak_broker::queue::{QueueDeclaration, QueueStatus};
use hairstreak_broker::vhost::check_queue_name;
use hairstreak_broker::{Refusal, without_line_breaks};
use hairstreak_wire::amqp::{FieldTable, Method, exchange, queue};

use super::channel::{Channel, queue_name, routing_key};
use super::fault::Fault;
use super::turn::Turn;
use crate::access::{Operation, Resource};
use crate::node::{Ends, HostState, Subject};

/// Handles a method of class exchange or queue.
pub(super) fn handle_method(
    channel: &mut Channel,
    method: &Method<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Fault> {
    let result = match method {
        Method::ExchangeDeclare(declare) => declare_exchange(channel, declare, turn),
        Method::ExchangeDelete(delete) => delete_exchange(channel, delete, turn),
        Method::ExchangeBind(bind) => bind_exchange(channel, bind, turn),
        Method::ExchangeUnbind(unbind) => unbind_exchange(channel, unbind, turn),
        Method::QueueDeclare(declare) => declare_queue(channel, declare, turn),
        Method::QueueBind(bind) => bind_queue(channel, bind, turn),
        Method::QueueUnbind(unbind) => unbind_queue(channel, unbind, turn),
        Method::QueuePurge(purge) => purge_queue(channel, purge, turn),
        Method::QueueDelete(delete) => delete_queue(channel, delete, turn),
        _ => Ok(()),
    };
    result.map_err(|refusal| Fault::in_method(refusal, method.id()))
}

fn declare_queue(
    channel: &mut Channel,
    declare: &queue::Declare<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let name = without_line_breaks(declare.queue);
    let status = if declare.passive {
        turn.state.host.check_queue(turn.connection, &name, turn.now)?
    } else {
        let declaration = QueueDeclaration {
            log_id: 0,
            name: (*name).into(),
            is_durable: declare.durable,
            is_exclusive: declare.exclusive,
            is_auto_delete: declare.auto_delete,
            arguments: (&declare.arguments).into(),
        };
        check_queue_rights(&declaration, turn)?;
        let host = &mut turn.state.host;
        turn.journal.check_queue(turn.virtual_host, host, &declaration)?;
        let declared = host.declare_queue(turn.connection, &declaration, turn.now);
        turn.note_declared();
        declared?
    };
    let QueueStatus { name, message_count, consumer_count } = status;
    if !declare.no_wait {
        let ok = queue::DeclareOk { queue: &name, message_count, consumer_count };
        turn.promise(channel.number, &Method::QueueDeclareOk(ok), &Subject::Queue(&name));
    }
    channel.last_queue = name;
    Ok(())
}

fn bind_queue(channel: &mut Channel, bind: &queue::Bind<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    let name = without_line_breaks(queue_name(&channel.last_queue, bind.queue)?);
    let source = without_line_breaks(bind.exchange);
    let key = routing_key(&channel.last_queue, bind.queue, bind.routing_key);
    check_binding(Resource::Queue(&name), &source, key, turn)?;
    let ends = Ends { source: &source, destination: &name, is_to_exchange: false };
    check_writable(ends, key, &bind.arguments, turn)?;
    turn.state.host.bind_queue(turn.connection, &name, &source, key, &bind.arguments)?;
    if !bind.no_wait {
        let ok = Method::QueueBindOk(queue::BindOk {});
        turn.promise(channel.number, &ok, &Subject::Binding(ends, key, &bind.arguments));
    }
    Ok(())
}

fn unbind_queue(
    channel: &mut Channel,
    unbind: &queue::Unbind<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let name = without_line_breaks(queue_name(&channel.last_queue, unbind.queue)?);
    let source = without_line_breaks(unbind.exchange);
    let key = routing_key(&channel.last_queue, unbind.queue, unbind.routing_key);
    check_binding(Resource::Queue(&name), &source, key, turn)?;
    turn.state.host.unbind_queue(turn.connection, &name, &source, key, &unbind.arguments)?;
    let ends = Ends { source: &source, destination: &name, is_to_exchange: false };
    let ok = Method::QueueUnbindOk(queue::UnbindOk {});
    turn.promise(channel.number, &ok, &Subject::Binding(ends, key, &unbind.arguments));
    Ok(())
}

fn purge_queue(channel: &mut Channel, purge: &queue::Purge<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    let name = queue_name(&channel.last_queue, purge.queue)?;
    turn.rights.check(Operation::Read, Resource::Queue(name))?;
    let message_count = turn.state.host.purge_queue(turn.connection, name)?;
    if !purge.no_wait {
        turn.reply(channel.number, &Method::QueuePurgeOk(queue::PurgeOk { message_count }));
    }
    Ok(())
}

fn delete_queue(
    channel: &mut Channel,
    delete: &queue::Delete<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let name = without_line_breaks(queue_name(&channel.last_queue, delete.queue)?);
    turn.rights.check(Operation::Configure, Resource::Queue(&name))?;
    // A consumer of this connection is notified of its end after the answer.
    turn.take_deliveries();
    let state = &mut *turn.state;
    let (if_unused, if_empty) = (delete.if_unused, delete.if_empty);
    let connection = turn.connection;
    let message_count =
        state.host.delete_queue(connection, &name, if_unused, if_empty, turn.now, &mut state.outlets)?;
    if !delete.no_wait {
        let ok = Method::QueueDeleteOk(queue::DeleteOk { message_count });
        turn.promise(channel.number, &ok, &Subject::Queue(&name));
    }
    Ok(())
}

fn declare_exchange(
    channel: &mut Channel,
    declare: &exchange::Declare<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let name = without_line_breaks(declare.exchange);
    if declare.passive {
        turn.state.host.exchanges_mut().check(&name)?;
    } else {
        let declaration = ExchangeDeclaration {
            name: (*name).into(),
            kind: declare.kind.into(),
            is_durable: declare.durable,
            is_auto_delete: declare.auto_delete,
            is_internal: declare.internal,
            arguments: (&declare.arguments).into(),
        };
        check_exchange_rights(&declaration, turn)?;
        let host = &mut turn.state.host;
        turn.journal.check_exchange(turn.virtual_host, host, &declaration)?;
        let declared = host.exchanges_mut().declare(&declaration);
        turn.note_declared();
        declared?;
    }
    if !declare.no_wait {
        let ok = Method::ExchangeDeclareOk(exchange::DeclareOk {});
        turn.promise(channel.number, &ok, &Subject::Exchange(&name));
    }
    Ok(())
}

fn delete_exchange(
    channel: &mut Channel,
    delete: &exchange::Delete<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let name = without_line_breaks(delete.exchange);
    turn.state.host.exchanges_mut().check_deletion(&name)?;
    turn.rights.check(Operation::Configure, Resource::Exchange(&name))?;
    let HostState { host, outlets, .. } = &mut *turn.state;
    host.delete_exchange(turn.connection, &name, delete.if_unused, turn.now, outlets)?;
    if !delete.no_wait {
        let ok = Method::ExchangeDeleteOk(exchange::DeleteOk {});
        turn.promise(channel.number, &ok, &Subject::Exchange(&name));
    }
    Ok(())
}

fn bind_exchange(
    channel: &mut Channel,
    bind: &exchange::Bind<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let exchange::Bind { routing_key, arguments, .. } = bind;
    let (to, from) = (without_line_breaks(bind.destination), without_line_breaks(bind.source));
    check_binding(Resource::Exchange(&to), &from, routing_key, turn)?;
    let ends = Ends { source: &from, destination: &to, is_to_exchange: true };
    check_writable(ends, routing_key, arguments, turn)?;
    turn.state.host.exchanges_mut().bind_exchange(&to, &from, routing_key, arguments)?;
    if !bind.no_wait {
        let ok = Method::ExchangeBindOk(exchange::BindOk {});
        turn.promise(channel.number, &ok, &Subject::Binding(ends, routing_key, arguments));
    }
    Ok(())
}

fn unbind_exchange(
    channel: &mut Channel,
    unbind: &exchange::Unbind<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let exchange::Unbind { routing_key, arguments, .. } = unbind;
    let (to, from) = (without_line_breaks(unbind.destination), without_line_breaks(unbind.source));
    check_binding(Resource::Exchange(&to), &from, routing_key, turn)?;
    turn.state.host.exchanges_mut().unbind_exchange(&to, &from, routing_key, arguments)?;
    if !unbind.no_wait {
        let ends = Ends { source: &from, destination: &to, is_to_exchange: true };
        let ok = Method::ExchangeUnbindOk(exchange::UnbindOk {});
        turn.promise(channel.number, &ok, &Subject::Binding(ends, routing_key, arguments));
    }
    Ok(())
}

/// Checks that a binding can be written to disk, if it must be.
fn check_writable(
    ends: Ends<'_>,
    routing_key: &[u8],
    arguments: &FieldTable,
    turn: &Turn<'_>,
) -> Result<(), Refusal> {
    // The journal accepts changes nearly always, and then nothing is copied.
    if turn.journal.check().is_ok() {
        return Ok(());
    }
    let binding = ends.binding(routing_key, arguments);
    Ok(turn.journal.check_binding(turn.virtual_host, &turn.state.host, &binding)?)
}

/// The rights that a declaration needs. RabbitMQ checks some of the declaration between the questions.
fn check_exchange_rights(declaration: &ExchangeDeclaration, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    let exchange = Resource::Exchange(&declaration.name);
    let exchanges = turn.state.host.exchanges_mut();
    check_declaration(&declaration.name, &declaration.kind)?;
    turn.rights.check(Operation::Configure, exchange)?;
    let is_new = exchanges.check_whether_new(&declaration.name)?;
    turn.rights.check_forwarding(exchange, &declaration.arguments, "alternate-exchange", || is_new)
}

/// As [`check_exchange_rights`], for a queue.
fn check_queue_rights(declaration: &QueueDeclaration, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    if !check_queue_name(&declaration.name)? {
        return Ok(());
    }
    let queue = Resource::declared_queue(&declaration.name);
    turn.rights.check(Operation::Configure, queue)?;
    let is_new = || turn.state.host.queue(&declaration.name).is_none();
    turn.rights.check_forwarding(queue, &declaration.arguments, "x-dead-letter-exchange", is_new)
}

/// A binding writes to its destination, and reads from its source. The default exchange is neither.
fn check_binding(
    destination: Resource<'_>,
    source: &[u8],
    routing_key: &[u8],
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    turn.rights.check(Operation::Write, destination)?;
    if let Resource::Exchange(name) = destination {
        check_not_default(name)?;
    }
    check_not_default(source)?;
    turn.rights.check(Operation::Read, Resource::Exchange(source))?;
    turn.rights.check_topic(Operation::Read, source, routing_key, turn.state.host.exchanges_mut())
}
