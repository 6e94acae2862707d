//! Importing definitions: items that RabbitMQ passes over are passed over, items that the node refuses are named, and the rest is imported.

use hairstreak_broker::policy::Scope;
use hairstreak_broker::view::BindingInfo;

use super::error::OperatorError;
use super::users::{self, By};
use super::{bindings, exchanges, parameters, policies, queues, virtual_hosts};
use crate::definitions::{
    BindingDefinition, DestinationType, Document, ExchangeDefinition, LeftOut, QueueDefinition, UserItem,
};
use crate::node::{Commit, Node, exchange_declaration, queue_declaration};

/// Prefix of the exchanges that each virtual host has. A file does not declare them.
const RESERVED_PREFIX: &[u8] = b"amq.";
/// The outcome of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// Resolve when the definitions are on disk.
    pub commits: Vec<Commit>,
    refused: LeftOut,
    passed_over: LeftOut,
}

/// The reason why an item is not imported.
enum Reason {
    /// RabbitMQ passes over such an item, too.
    PassedOver(String),
    Refused(OperatorError),
}

impl<E: Into<OperatorError>> From<E> for Reason {
    fn from(error: E) -> Reason {
        Reason::Refused(error.into())
    }
}

impl Imported {
    /// The refused items, each with the reason. `None`: all were imported, or passed over.
    pub fn refusal(&self) -> Option<String> {
        let LeftOut { lines, count } = &self.refused;
        match (count, &lines[..]) {
            (0, _) => None,
            (1, [line]) => Some(line.clone()),
            (_, lines) => {
                let more = self.refused.unnamed_count();
                let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
                Some(format!("{count} items were not imported, and the rest was: {}{rest}", lines.join("; ")))
            }
        }
    }

    fn keep(&mut self, item: &str, result: Result<Commit, Reason>) -> Result<(), OperatorError> {
        match result {
            Ok(commit) => self.commits.push(commit),
            // Nothing that follows could be written either.
            Err(Reason::Refused(error @ OperatorError::Unwritten(_))) => return Err(error),
            Err(Reason::Refused(error)) => self.refuse(format!("{item}: {error}")),
            Err(Reason::PassedOver(reason)) => self.pass_over(format!("{item}: {reason}")),
        }
        Ok(())
    }

    fn refuse(&mut self, line: String) {
        if let Some(line) = self.refused.note(|| line) {
            log::warn!("import of definitions: not imported: {line}");
        }
    }

    fn pass_over(&mut self, line: String) {
        if let Some(line) = self.passed_over.note(|| line) {
            log::warn!("import of definitions: passed over, as RabbitMQ does: {line}");
        }
    }

    /// Begins with the items that the file itself has left out.
    fn begin(refused: LeftOut, passed_over: LeftOut) -> Imported {
        for line in &refused.lines {
            log::warn!("import of definitions: not imported: {line}");
        }
        for line in &passed_over.lines {
            log::warn!("import of definitions: passed over, as RabbitMQ does: {line}");
        }
        Imported { refused, passed_over, ..Imported::default() }
    }

    fn log_rest(&self) {
        for (left_out, outcome) in [(&self.refused, "not imported"), (&self.passed_over, "passed over")] {
            if left_out.unnamed_count() > 0 {
                log::warn!("import of definitions: {} more items {outcome}", left_out.unnamed_count());
            }
        }
    }
}

/// Imports definitions. Nothing is deleted, and an existing exchange or queue stays as it is.
///
/// # Errors
///
/// Nothing can be written now. The items before are imported.
pub fn import(node: &Node, document: Document, by: By) -> Result<Imported, OperatorError> {
    let mut done = Imported::begin(document.refused, document.passed_over);
    for UserItem { definition, password } in document.users {
        let name = format!("user '{}'", definition.name);
        let imported = users::import(node, definition, password.as_deref(), by);
        let commit = imported.map(|(commit, useless)| {
            if let Some(reason) = useless {
                done.pass_over(format!("the password of {name}, who has none now: {reason}"));
            }
            commit
        });
        done.keep(&name, commit.map_err(Reason::from))?;
    }
    for host in document.virtual_hosts {
        let name = format!("vhost '{}'", host.name);
        done.keep(&name, virtual_hosts::import(node, host).map_err(Reason::from))?;
    }
    // A restriction comes before the rights that it restricts.
    for row in document.topic_permissions {
        let name = format!("topic permission of '{} in {}'", row.user, row.vhost);
        let missing = missing_of_permission(node, &row.user, &row.vhost);
        let set = missing.and_then(|()| users::import_topic_permission(node, row, by));
        let commit = set.map(|(commit, fault)| {
            if let Some(fault) = fault {
                done.refuse(format!("{name}: a pattern allows nothing: {fault}"));
            }
            commit
        });
        done.keep(&name, commit.map_err(Reason::from))?;
    }
    for row in document.permissions {
        let name = format!("permission of '{} in {}'", row.user, row.vhost);
        let missing = missing_of_permission(node, &row.user, &row.vhost);
        let set = missing.and_then(|()| users::set_permission(node, row, by));
        done.keep(&name, set.map(|done| done.commit).map_err(Reason::from))?;
    }
    for exchange in document.exchanges {
        let name = format!("exchange '{}'", exchange.name.text());
        done.keep(&name, import_exchange(node, exchange))?;
    }
    for parameter in document.global_parameters {
        let name = format!("global parameter '{}'", parameter.name);
        let put = parameters::put_global(node, parameter);
        done.keep(&name, put.map(|done| done.commit).map_err(Reason::from))?;
    }
    for (scope, list) in [(Scope::User, document.policies), (Scope::Operator, document.operator_policies)] {
        for policy in list {
            let name = format!("policy '{}'", policy.name);
            let put = known(node, &policy.vhost).and_then(|()| policies::put(node, scope, policy));
            done.keep(&name, put.map(|done| done.commit).map_err(Reason::from))?;
        }
    }
    for parameter in document.parameters {
        let name = format!("parameter '{}'", parameter.name);
        let put = known(node, &parameter.vhost).and_then(|()| parameters::put(node, parameter));
        done.keep(&name, put.map(|done| done.commit).map_err(Reason::from))?;
    }
    for queue in document.queues {
        let name = format!("queue '{}'", queue.name.text());
        done.keep(&name, import_queue(node, queue))?;
    }
    for binding in document.bindings {
        let name = format!("binding '{} -> {}'", binding.source.text(), binding.destination.text());
        done.keep(&name, import_binding(node, binding))?;
    }
    done.log_rest();
    Ok(done)
}

/// Fails with the name of a virtual host that is not there.
fn known(node: &Node, virtual_host: &str) -> Result<(), OperatorError> {
    match node.hosts.find(virtual_host) {
        Some(_) => Ok(()),
        None => Err(OperatorError::Bad(format!("there is no vhost '{virtual_host}'"))),
    }
}

fn missing_of_permission(node: &Node, user: &str, virtual_host: &str) -> Result<(), OperatorError> {
    known(node, virtual_host)?;
    match users::find(node, user) {
        Ok(_) => Ok(()),
        Err(_) => Err(OperatorError::Bad(format!("there is no user '{user}'"))),
    }
}

fn import_exchange(node: &Node, exchange: ExchangeDefinition) -> Result<Commit, Reason> {
    let vhost = exchange.vhost.clone();
    known(node, &vhost)?;
    if exchanges::find(node, &vhost, &exchange.name.0).is_ok() {
        return Ok(Commit::done());
    }
    if exchange.name.0.starts_with(RESERVED_PREFIX) {
        return Err(Reason::PassedOver("a node itself makes the exchanges with such names".into()));
    }
    Ok(exchanges::declare(node, &vhost, &exchange_declaration(exchange))?.commit)
}

fn import_queue(node: &Node, mut queue: QueueDefinition) -> Result<Commit, Reason> {
    let vhost = queue.vhost.clone();
    known(node, &vhost)?;
    if queue.name.0.is_empty() {
        return Err(Reason::Refused(OperatorError::Bad("the name is empty".into())));
    }
    if queues::find(node, &vhost, &queue.name.0).is_ok() {
        return Ok(Commit::done());
    }
    let arguments = &mut queue.arguments.0;
    let default = virtual_hosts::find(node, &vhost)?.default_queue_type;
    if let Some(kind) = queue.kind.as_deref().filter(|kind| *kind != default.as_deref().unwrap_or("classic"))
        && arguments.get("x-queue-type").is_none()
    {
        arguments.insert("x-queue-type", kind);
    }
    Ok(queues::declare(node, &vhost, &queue_declaration(queue))?.commit)
}

fn import_binding(node: &Node, binding: BindingDefinition) -> Result<Commit, Reason> {
    let (vhost, is_to_exchange) = (binding.vhost, binding.destination_type == DestinationType::Exchange);
    let (source, destination) = (binding.source.0, binding.destination.0);
    let passed_over = |reason: &str| Err(Reason::PassedOver(reason.into()));
    if node.hosts.find(&vhost).is_none() {
        return Err(Reason::PassedOver(format!("there is no vhost '{vhost}'")));
    }
    if source.is_empty() {
        return passed_over("the default exchange has the bindings that it needs");
    }
    if exchanges::find(node, &vhost, &source).is_err() {
        return passed_over("there is no such source");
    }
    let has_destination = match is_to_exchange {
        true => !destination.is_empty() && exchanges::find(node, &vhost, &destination).is_ok(),
        false => queues::find(node, &vhost, &destination).is_ok(),
    };
    if !has_destination {
        return passed_over("there is no such destination");
    }
    let (routing_key, arguments) = (binding.routing_key.0, binding.arguments.0.into());
    let info = BindingInfo { source, destination, is_to_exchange, routing_key, arguments };
    Ok(bindings::bind(node, &vhost, &info)?)
}
