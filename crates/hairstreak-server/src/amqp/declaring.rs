//! Methods of the classes exchange and queue.

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::queue::{QueueDeclaration, QueueStatus};
use hairstreak_broker::view::BindingInfo;
use hairstreak_wire::amqp::{FieldTable, Method, exchange, queue};

use super::channel::Channel;
use super::fault::Fault;
use super::names;
use super::rights::Resource;
use super::turn::Turn;
use crate::access::Operation;

impl Channel {
    pub(super) fn handle_exchange_method(
        &mut self,
        method: &Method<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        check_exchange_method(method, turn).map_err(|refusal| Fault::in_method(refusal, method.id()))?;
        let host = &mut turn.state.host;
        let (result, no_wait, reply) = match method {
            Method::ExchangeDeclare(declare) => {
                let ok = Method::ExchangeDeclareOk(exchange::DeclareOk {});
                (declare_exchange(declare, turn), declare.no_wait, ok)
            }
            Method::ExchangeDelete(delete) => {
                let ok = Method::ExchangeDeleteOk(exchange::DeleteOk {});
                (host.exchanges_mut().delete(delete.exchange, delete.if_unused), delete.no_wait, ok)
            }
            Method::ExchangeBind(bind) => {
                (bind_exchange(bind, turn), bind.no_wait, Method::ExchangeBindOk(exchange::BindOk {}))
            }
            Method::ExchangeUnbind(unbind) => {
                let (to, from, key) = (unbind.destination, unbind.source, unbind.routing_key);
                let result = host.exchanges_mut().unbind_exchange(to, from, key, &unbind.arguments);
                (result, unbind.no_wait, Method::ExchangeUnbindOk(exchange::UnbindOk {}))
            }
            _ => return Ok(()),
        };
        result.map_err(|refusal| Fault::in_method(refusal, method.id()))?;
        if !no_wait {
            turn.promise(self.number, &reply);
        }
        Ok(())
    }

    pub(super) fn handle_queue_method(
        &mut self,
        method: &Method<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        let result = match method {
            Method::QueueDeclare(declare) => self.declare_queue(declare, turn),
            Method::QueueBind(bind) => self.bind_queue(bind, turn),
            Method::QueueUnbind(unbind) => self.unbind_queue(unbind, turn),
            Method::QueuePurge(purge) => self.purge_queue(purge, turn),
            Method::QueueDelete(delete) => self.delete_queue(delete, turn),
            _ => Ok(()),
        };
        result.map_err(|refusal| Fault::in_method(refusal, method.id()))
    }

    fn declare_queue(&mut self, declare: &queue::Declare<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        check_queue_declare(declare, turn)?;
        let host = &mut turn.state.host;
        let status = if declare.passive {
            host.check_queue(turn.connection, declare.queue, turn.now)?
        } else {
            let declaration = QueueDeclaration {
                name: declare.queue.into(),
                is_durable: declare.durable,
                is_exclusive: declare.exclusive,
                is_auto_delete: declare.auto_delete,
                arguments: declare.arguments.clone(),
            };
            turn.journal.check_queue(turn.virtual_host, host, &declaration)?;
            host.declare_queue(turn.connection, &declaration, turn.now)?
        };
        let QueueStatus { name, message_count, consumer_count } = status;
        if !declare.no_wait {
            let ok = queue::DeclareOk { queue: &name, message_count, consumer_count };
            turn.promise(self.number, &Method::QueueDeclareOk(ok));
        }
        self.last_queue = name;
        Ok(())
    }

    fn bind_queue(&mut self, bind: &queue::Bind<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let name = names::queue(&self.last_queue, bind.queue)?;
        let key = names::routing_key(&self.last_queue, bind.queue, bind.routing_key);
        check_binding(Resource::Queue, name, bind.exchange, key, turn)?;
        check_writable((bind.exchange, name, false), key, &bind.arguments, turn)?;
        turn.state.host.bind_queue(turn.connection, name, bind.exchange, key, &bind.arguments)?;
        if !bind.no_wait {
            turn.promise(self.number, &Method::QueueBindOk(queue::BindOk {}));
        }
        Ok(())
    }

    fn unbind_queue(&mut self, unbind: &queue::Unbind<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let name = names::queue(&self.last_queue, unbind.queue)?;
        let key = names::routing_key(&self.last_queue, unbind.queue, unbind.routing_key);
        check_binding(Resource::Queue, name, unbind.exchange, key, turn)?;
        turn.state.host.unbind_queue(turn.connection, name, unbind.exchange, key, &unbind.arguments)?;
        turn.promise(self.number, &Method::QueueUnbindOk(queue::UnbindOk {}));
        Ok(())
    }

    fn purge_queue(&mut self, purge: &queue::Purge<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let name = names::queue(&self.last_queue, purge.queue)?;
        turn.rights.check(Operation::Read, Resource::Queue, name)?;
        let message_count = turn.state.host.purge_queue(turn.connection, name)?;
        if !purge.no_wait {
            turn.reply(self.number, &Method::QueuePurgeOk(queue::PurgeOk { message_count }));
        }
        Ok(())
    }

    fn delete_queue(&mut self, delete: &queue::Delete<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
        let name = names::queue(&self.last_queue, delete.queue)?;
        turn.rights.check(Operation::Configure, Resource::Queue, name)?;
        // A consumer of this very connection hears of its end behind the answer.
        turn.take_deliveries();
        let state = &mut *turn.state;
        let (if_unused, if_empty) = (delete.if_unused, delete.if_empty);
        let connection = turn.connection;
        let message_count =
            state.host.delete_queue(connection, name, if_unused, if_empty, turn.now, &mut state.outlets)?;
        if !delete.no_wait {
            turn.promise(self.number, &Method::QueueDeleteOk(queue::DeleteOk { message_count }));
        }
        Ok(())
    }
}

fn declare_exchange(declare: &exchange::Declare<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    let host = &mut turn.state.host;
    if declare.passive {
        return host.exchanges_mut().check(declare.exchange);
    }
    let declaration = ExchangeDeclaration {
        name: declare.exchange.into(),
        kind: declare.kind.into(),
        is_durable: declare.durable,
        is_auto_delete: declare.auto_delete,
        is_internal: declare.internal,
        arguments: declare.arguments.clone(),
    };
    turn.journal.check_exchange(turn.virtual_host, host, &declaration)?;
    host.exchanges_mut().declare(&declaration)
}

fn bind_exchange(bind: &exchange::Bind<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    let exchange::Bind { destination, source, routing_key, arguments, .. } = bind;
    check_writable((source, destination, true), routing_key, arguments, turn)?;
    turn.state.host.exchanges_mut().bind_exchange(destination, source, routing_key, arguments)
}

/// Whether a binding can be written, if it would have to be. `ends`: the source, the destination, and whether that is an exchange.
fn check_writable(
    ends: (&[u8], &[u8], bool),
    routing_key: &[u8],
    arguments: &FieldTable,
    turn: &Turn<'_>,
) -> Result<(), Refusal> {
    // All is well nearly always, and then nothing is copied.
    if turn.journal.check().is_ok() {
        return Ok(());
    }
    let (source, destination, is_to_exchange) = ends;
    let binding = BindingInfo {
        source: source.into(),
        destination: destination.into(),
        is_to_exchange,
        routing_key: routing_key.into(),
        arguments: arguments.clone(),
    };
    Ok(turn.journal.check_binding(turn.virtual_host, &turn.state.host, &binding)?)
}

fn check_exchange_method(method: &Method<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    match method {
        Method::ExchangeDeclare(declare) if !declare.passive => {
            turn.rights.check(Operation::Configure, Resource::Exchange, declare.exchange)?;
            let alternate = declare.arguments.get("alternate-exchange").and_then(|value| value.as_bytes());
            match alternate.filter(|_| turn.state.host.views().exchange(declare.exchange).is_none()) {
                Some(alternate) => {
                    turn.rights.check(Operation::Read, Resource::Exchange, declare.exchange)?;
                    turn.rights.check(Operation::Write, Resource::Exchange, alternate)
                }
                None => Ok(()),
            }
        }
        Method::ExchangeDelete(delete) => {
            turn.rights.check(Operation::Configure, Resource::Exchange, delete.exchange)
        }
        Method::ExchangeBind(bind) => {
            check_binding(Resource::Exchange, bind.destination, bind.source, bind.routing_key, turn)
        }
        Method::ExchangeUnbind(unbind) => {
            check_binding(Resource::Exchange, unbind.destination, unbind.source, unbind.routing_key, turn)
        }
        _ => Ok(()),
    }
}

fn check_queue_declare(declare: &queue::Declare<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    if declare.passive {
        return Ok(());
    }
    turn.rights.check(Operation::Configure, Resource::Queue, declare.queue)?;
    let target = declare.arguments.get("x-dead-letter-exchange").and_then(|value| value.as_bytes());
    match target.filter(|_| turn.state.host.views().queue(declare.queue).is_none()) {
        Some(target) => {
            turn.rights.check(Operation::Read, Resource::Queue, declare.queue)?;
            turn.rights.check(Operation::Write, Resource::Exchange, target)
        }
        None => Ok(()),
    }
}

/// A binding writes to its destination, and reads from its source.
fn check_binding(
    kind: Resource,
    destination: &[u8],
    source: &[u8],
    routing_key: &[u8],
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    turn.rights.check(Operation::Write, kind, destination)?;
    turn.rights.check(Operation::Read, Resource::Exchange, source)?;
    turn.rights.check_topic(Operation::Read, source, routing_key, turn.state.host.exchanges_mut())
}
