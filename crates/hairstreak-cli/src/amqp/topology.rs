//! `hairstreak declare`, `delete`, `bind`, `unbind` and `purge`: each sends one request to the broker, and prints one line about
//! its reply.

use hairstreak_amqp::{ClientError, Connection};
use hairstreak_wire::amqp::{Method, exchange, queue};
use serde_json::json;

use super::arguments::{
    BindArguments, Binding, DeclareArguments, DeclareExchange, DeclareObject, DeclareQueue, DeleteArguments,
    DeleteExchange, DeleteObject, DeleteQueue, Destination, PurgeArguments, UnbindArguments,
};
use super::session::with_connection;
use super::value::table;
use crate::failure::Failure;
use crate::numbers::{grouped, messages};
use crate::output::tell;

pub fn declare(arguments: &DeclareArguments) -> Result<(), Failure> {
    match &arguments.object {
        DeclareObject::Queue(queue) => declare_queue(queue),
        DeclareObject::Exchange(exchange) => declare_exchange(exchange),
    }
}

fn declare_queue(arguments: &DeclareQueue) -> Result<(), Failure> {
    let mut table = table(&arguments.arguments);
    if let Some(kind) = &arguments.kind {
        table.insert("x-queue-type", kind.as_str());
    }
    let declare = Method::QueueDeclare(queue::Declare {
        queue: arguments.name.as_bytes(),
        passive: arguments.common.passive,
        durable: arguments.durable,
        exclusive: arguments.exclusive,
        auto_delete: arguments.auto_delete,
        no_wait: false,
        arguments: table,
    });
    let reply = with_connection(&arguments.common.broker, |connection| Ok(connection.call(&declare)?))?;
    let declared = match reply.method().map_err(ClientError::from)? {
        Method::QueueDeclareOk(declared) => declared,
        other => return Err(unexpected(&other)),
    };
    let name = String::from_utf8_lossy(declared.queue);
    let consumers = match declared.consumer_count {
        1 => "1 consumer".to_owned(),
        count => format!("{} consumers", grouped(count.into())),
    };
    let text = format!("queue '{name}': {}, {consumers}", messages(declared.message_count.into()));
    let (message_count, consumer_count) = (declared.message_count, declared.consumer_count);
    let json = json!({"queue": name, "messages": message_count, "consumers": consumer_count});
    tell(arguments.common.json, &text, &json)
}

fn declare_exchange(arguments: &DeclareExchange) -> Result<(), Failure> {
    let declare = Method::ExchangeDeclare(exchange::Declare {
        exchange: arguments.name.as_bytes(),
        kind: arguments.kind.as_bytes(),
        passive: arguments.common.passive,
        durable: arguments.durable,
        auto_delete: arguments.auto_delete,
        internal: arguments.internal,
        no_wait: false,
        arguments: table(&arguments.arguments),
    });
    with_connection(&arguments.common.broker, |connection| Ok(connection.call(&declare)?))?;
    let (name, kind) = (&arguments.name, &arguments.kind);
    if arguments.common.passive {
        return tell(arguments.common.json, &format!("exchange '{name}' exists"), &json!({"exchange": name}));
    }
    tell(
        arguments.common.json,
        &format!("exchange '{name}': {kind}"),
        &json!({"exchange": name, "type": kind}),
    )
}

pub fn delete(arguments: &DeleteArguments) -> Result<(), Failure> {
    match &arguments.object {
        DeleteObject::Queue(queue) => delete_queue(queue),
        DeleteObject::Exchange(exchange) => delete_exchange(exchange),
    }
}

fn delete_queue(arguments: &DeleteQueue) -> Result<(), Failure> {
    let name = &arguments.name;
    let delete = Method::QueueDelete(queue::Delete {
        queue: name.as_bytes(),
        if_unused: arguments.if_unused,
        if_empty: arguments.if_empty,
        no_wait: false,
    });
    let reply = with_connection(&arguments.broker, |connection| Ok(connection.call(&delete)?))?;
    let count = match reply.method().map_err(ClientError::from)? {
        Method::QueueDeleteOk(deleted) => deleted.message_count,
        other => return Err(unexpected(&other)),
    };
    let text = format!("queue '{name}' deleted with {}", messages(count.into()));
    tell(arguments.json, &text, &json!({"queue": name, "messages": count}))
}

fn delete_exchange(arguments: &DeleteExchange) -> Result<(), Failure> {
    let name = &arguments.name;
    let delete = Method::ExchangeDelete(exchange::Delete {
        exchange: name.as_bytes(),
        if_unused: arguments.if_unused,
        no_wait: false,
    });
    with_connection(&arguments.broker, |connection| Ok(connection.call(&delete)?))?;
    tell(arguments.json, &format!("exchange '{name}' deleted"), &json!({"exchange": name}))
}

pub fn bind(arguments: &BindArguments) -> Result<(), Failure> {
    change_bindings(&arguments.destination, true)
}

pub fn unbind(arguments: &UnbindArguments) -> Result<(), Failure> {
    change_bindings(&arguments.destination, false)
}

fn change_bindings(destination: &Destination, is_made: bool) -> Result<(), Failure> {
    let (kind, binding) = match destination {
        Destination::Queue(binding) => ("queue", binding),
        Destination::Exchange(binding) => ("exchange", binding),
    };
    with_connection(&binding.broker, |connection| {
        binding.keys.iter().try_for_each(|key| change_binding(connection, destination, binding, key, is_made))
    })?;
    let Binding { name, exchange, keys, .. } = binding;
    let change = if is_made { "bound to" } else { "unbound from" };
    let text = format!("{kind} '{name}' {change} exchange '{exchange}'");
    tell(binding.json, &text, &json!({kind: name, "source": exchange, "keys": keys}))
}

fn change_binding(
    connection: &mut Connection,
    destination: &Destination,
    binding: &Binding,
    key: &str,
    is_made: bool,
) -> Result<(), Failure> {
    let (name, source, routing_key) = (binding.name.as_bytes(), binding.exchange.as_bytes(), key.as_bytes());
    let (no_wait, arguments) = (false, table(&binding.arguments));
    let method = match (destination, is_made) {
        (Destination::Queue(_), true) => {
            Method::QueueBind(queue::Bind { queue: name, exchange: source, routing_key, no_wait, arguments })
        }
        (Destination::Queue(_), false) => {
            Method::QueueUnbind(queue::Unbind { queue: name, exchange: source, routing_key, arguments })
        }
        (Destination::Exchange(_), true) => Method::ExchangeBind(exchange::Bind {
            destination: name,
            source,
            routing_key,
            no_wait,
            arguments,
        }),
        (Destination::Exchange(_), false) => Method::ExchangeUnbind(exchange::Unbind {
            destination: name,
            source,
            routing_key,
            no_wait,
            arguments,
        }),
    };
    connection.call(&method)?;
    Ok(())
}

pub fn purge(arguments: &PurgeArguments) -> Result<(), Failure> {
    let name = &arguments.queue;
    let purge = Method::QueuePurge(queue::Purge { queue: name.as_bytes(), no_wait: false });
    let reply = with_connection(&arguments.broker, |connection| Ok(connection.call(&purge)?))?;
    let count = match reply.method().map_err(ClientError::from)? {
        Method::QueuePurgeOk(purged) => purged.message_count,
        other => return Err(unexpected(&other)),
    };
    let text = format!("{} purged from queue '{name}'", messages(count.into()));
    tell(arguments.json, &text, &json!({"queue": name, "messages": count}))
}

fn unexpected(method: &Method<'_>) -> Failure {
    ClientError::Unexpected(method.name()).into()
}
