//! The records of a virtual host about its durable parts, and the definitions that stand for them.

use hairstreak_broker::change::Change as Recorded;
use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::view::BindingInfo;

use crate::definitions::{
    Arguments, BindingDefinition, Change, Definition, DestinationType, ExchangeDefinition, Kind, Name, Place,
    QueueDefinition,
};

/// The change of the definitions that a change of the host is.
pub(super) fn to_definition(virtual_host: &str, recorded: Recorded) -> Change {
    let place = |kind, name: &[u8]| Place::new(kind, &[virtual_host.as_bytes(), name]);
    match recorded {
        Recorded::ExchangeDeclared(exchange) => {
            Change::Put(Definition::Exchange(exchange_definition(virtual_host, exchange)))
        }
        Recorded::ExchangeDeleted { name } => Change::Delete(place(Kind::Exchange, &name)),
        Recorded::QueueDeclared(queue) => {
            Change::Put(Definition::Queue(queue_definition(virtual_host, queue)))
        }
        Recorded::QueueDeleted { name } => Change::Delete(place(Kind::Queue, &name)),
        Recorded::Bound(binding) => {
            Change::Put(Definition::Binding(binding_definition(virtual_host, binding)))
        }
        Recorded::Unbound(binding) => {
            Change::Delete(Place::of_binding(&binding_definition(virtual_host, binding)))
        }
    }
}

fn exchange_definition(virtual_host: &str, exchange: ExchangeDeclaration) -> ExchangeDefinition {
    ExchangeDefinition {
        name: Name(exchange.name),
        vhost: virtual_host.into(),
        kind: Name(exchange.kind),
        durable: exchange.is_durable,
        auto_delete: exchange.is_auto_delete,
        internal: exchange.is_internal,
        arguments: Arguments(exchange.arguments.decode()),
    }
}

fn queue_definition(virtual_host: &str, queue: QueueDeclaration) -> QueueDefinition {
    QueueDefinition {
        name: Name(queue.name),
        vhost: virtual_host.into(),
        kind: None,
        durable: queue.is_durable,
        auto_delete: queue.is_auto_delete,
        log_id: queue.log_id,
        arguments: Arguments(queue.arguments.decode()),
    }
}

fn binding_definition(virtual_host: &str, binding: BindingInfo) -> BindingDefinition {
    BindingDefinition {
        source: Name(binding.source),
        vhost: virtual_host.into(),
        destination: Name(binding.destination),
        destination_type: if binding.is_to_exchange {
            DestinationType::Exchange
        } else {
            DestinationType::Queue
        },
        routing_key: Name(binding.routing_key),
        arguments: Arguments(binding.arguments.decode()),
    }
}

/// The change of the host that a stored definition is. `None`: the definition is none of an exchange, a queue or a binding.
pub fn from_definition(definition: Definition) -> Option<(String, Recorded)> {
    match definition {
        Definition::Exchange(exchange) => {
            Some((exchange.vhost.clone(), Recorded::ExchangeDeclared(exchange_declaration(exchange))))
        }
        Definition::Queue(queue) => {
            Some((queue.vhost.clone(), Recorded::QueueDeclared(queue_declaration(queue))))
        }
        Definition::Binding(binding) => Some((
            binding.vhost,
            Recorded::Bound(BindingInfo {
                source: binding.source.0,
                destination: binding.destination.0,
                is_to_exchange: binding.destination_type == DestinationType::Exchange,
                routing_key: binding.routing_key.0,
                arguments: binding.arguments.0.into(),
            }),
        )),
        _ => None,
    }
}

/// The declaration that a definition of an exchange is.
pub fn exchange_declaration(exchange: ExchangeDefinition) -> ExchangeDeclaration {
    ExchangeDeclaration {
        name: exchange.name.0,
        kind: exchange.kind.0,
        is_durable: exchange.durable,
        is_auto_delete: exchange.auto_delete,
        is_internal: exchange.internal,
        arguments: exchange.arguments.0.into(),
    }
}

/// The declaration that a definition of a queue is.
pub fn queue_declaration(queue: QueueDefinition) -> QueueDeclaration {
    QueueDeclaration {
        log_id: queue.log_id,
        name: queue.name.0,
        is_durable: queue.durable,
        is_exclusive: false,
        is_auto_delete: queue.auto_delete,
        arguments: queue.arguments.0.into(),
    }
}
