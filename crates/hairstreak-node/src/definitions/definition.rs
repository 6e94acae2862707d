//! `Definition`: a definition of any kind, its place among the others of its kind, and its bytes in the data directory.
//!
//! A place is the list of names that identify a definition within its kind, each with its length in front (four bytes, the most
//! significant first). A value is a MessagePack map with the keys of the type.

use thiserror::Error;

use super::name::Name;
use super::types::{
    BindingDefinition, ConfiguredUserDefinition, DestinationType, ExchangeDefinition,
    GlobalParameterDefinition, ParameterDefinition, PermissionDefinition, PolicyDefinition, QueueDefinition,
    TopicPermissionDefinition, UserDefinition, VirtualHostDefinition,
};

/// The kinds, in the order in which they are loaded: each names earlier ones only. The numbers are in the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A virtual host.
    VirtualHost = 1,
    /// A user.
    User = 2,
    /// A permission.
    Permission = 3,
    /// A topic permission.
    TopicPermission = 4,
    /// A parameter of the node.
    GlobalParameter = 5,
    /// A parameter of a virtual host.
    Parameter = 6,
    /// A policy.
    Policy = 7,
    /// A policy of operators.
    OperatorPolicy = 8,
    /// An exchange.
    Exchange = 9,
    /// A queue.
    Queue = 10,
    /// A binding.
    Binding = 11,
    /// The name of a user that came from a configuration file.
    ConfiguredUser = 12,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 12] = [
        Kind::VirtualHost,
        Kind::User,
        Kind::Permission,
        Kind::TopicPermission,
        Kind::GlobalParameter,
        Kind::Parameter,
        Kind::Policy,
        Kind::OperatorPolicy,
        Kind::Exchange,
        Kind::Queue,
        Kind::Binding,
        Kind::ConfiguredUser,
    ];

    /// The number in the data directory.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The kind with that number.
    pub fn of_number(number: u8) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The key of the list in a file of definitions. Configured users are in none.
    pub fn name(self) -> &'static str {
        match self {
            Kind::VirtualHost => "vhosts",
            Kind::User => "users",
            Kind::Permission => "permissions",
            Kind::TopicPermission => "topic_permissions",
            Kind::GlobalParameter => "global_parameters",
            Kind::Parameter => "parameters",
            Kind::Policy => "policies",
            Kind::OperatorPolicy => "operator_policies",
            Kind::Exchange => "exchanges",
            Kind::Queue => "queues",
            Kind::Binding => "bindings",
            Kind::ConfiguredUser => "configured_users",
        }
    }
}

/// A definition of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// A virtual host.
    VirtualHost(VirtualHostDefinition),
    /// A user.
    User(UserDefinition),
    /// A permission.
    Permission(PermissionDefinition),
    /// A topic permission.
    TopicPermission(TopicPermissionDefinition),
    /// A parameter of the node.
    GlobalParameter(GlobalParameterDefinition),
    /// A parameter of a virtual host.
    Parameter(ParameterDefinition),
    /// A policy.
    Policy(PolicyDefinition),
    /// A policy of operators.
    OperatorPolicy(PolicyDefinition),
    /// An exchange.
    Exchange(ExchangeDefinition),
    /// A queue.
    Queue(QueueDefinition),
    /// A binding.
    Binding(BindingDefinition),
    /// The name of a user that came from a configuration file.
    ConfiguredUser(ConfiguredUserDefinition),
}

/// The place of a definition: its kind, and the names that identify it within the kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The kind.
    pub kind: Kind,
    /// The key within the kind.
    pub key: Vec<u8>,
}

/// A change of the definitions.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The definition is new.
    Put(Definition),
    /// The second definition replaces the first.
    Replace(Definition, Definition),
    /// The definition is deleted.
    Delete(Place),
}

/// A value of the data directory that cannot be read.
#[derive(Debug, Error)]
#[error("an entry of {kind} cannot be read: {reason}")]
pub struct DefinitionError {
    kind: String,
    reason: String,
}

impl DefinitionError {
    /// The kind with that number is not known.
    pub fn unknown(number: u8) -> DefinitionError {
        let reason = "this program does not know the kind".into();
        DefinitionError { kind: format!("kind {number}"), reason }
    }
}

impl Place {
    /// Creates the place of a definition that these names identify within the kind.
    pub fn new(kind: Kind, names: &[&[u8]]) -> Place {
        let mut key = Vec::with_capacity(names.iter().map(|name| 4 + name.len()).sum());
        for name in names {
            key.extend_from_slice(&(name.len() as u32).to_be_bytes());
            key.extend_from_slice(name);
        }
        Place { kind, key }
    }

    /// Returns the place of a binding. The arguments are part of it.
    pub fn of_binding(binding: &BindingDefinition) -> Place {
        let BindingDefinition { source, vhost, destination, destination_type, routing_key, arguments } =
            binding;
        let mut encoded = Vec::new();
        arguments.0.encode(&mut encoded);
        let kind: &[u8] = match destination_type {
            DestinationType::Queue => b"queue",
            DestinationType::Exchange => b"exchange",
        };
        let Name(source) = source;
        let names: [&[u8]; 6] = [vhost.as_bytes(), source, kind, &destination.0, &routing_key.0, &encoded];
        Place::new(Kind::Binding, &names)
    }
}

impl Definition {
    /// Returns the place in the data directory.
    pub fn place(&self) -> Place {
        let place = |kind, names: &[&str]| {
            let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            Place::new(kind, &names)
        };
        match self {
            Definition::VirtualHost(host) => place(Kind::VirtualHost, &[&host.name]),
            Definition::User(user) => place(Kind::User, &[&user.name]),
            Definition::Permission(row) => place(Kind::Permission, &[&row.vhost, &row.user]),
            Definition::TopicPermission(row) => {
                place(Kind::TopicPermission, &[&row.vhost, &row.user, &row.exchange])
            }
            Definition::GlobalParameter(parameter) => place(Kind::GlobalParameter, &[&parameter.name]),
            Definition::Parameter(parameter) => {
                let ParameterDefinition { vhost, component, name, .. } = parameter;
                place(Kind::Parameter, &[vhost, component, name])
            }
            Definition::Policy(policy) => place(Kind::Policy, &[&policy.vhost, &policy.name]),
            Definition::OperatorPolicy(policy) => place(Kind::OperatorPolicy, &[&policy.vhost, &policy.name]),
            Definition::Exchange(exchange) => {
                Place::new(Kind::Exchange, &[exchange.vhost.as_bytes(), &exchange.name.0])
            }
            Definition::Queue(queue) => Place::new(Kind::Queue, &[queue.vhost.as_bytes(), &queue.name.0]),
            Definition::Binding(binding) => Place::of_binding(binding),
            Definition::ConfiguredUser(user) => place(Kind::ConfiguredUser, &[&user.name]),
        }
    }

    /// The kind and the name, for people.
    pub fn describe(&self) -> String {
        match self {
            Definition::VirtualHost(host) => format!("vhost '{}'", host.name),
            Definition::User(user) => format!("user '{}'", user.name),
            Definition::Permission(row) => {
                format!("permission of user '{}' in vhost '{}'", row.user, row.vhost)
            }
            Definition::TopicPermission(row) => {
                format!("topic permission of user '{}' in vhost '{}'", row.user, row.vhost)
            }
            Definition::GlobalParameter(parameter) => format!("global parameter '{}'", parameter.name),
            Definition::Parameter(parameter) => {
                format!("parameter '{}' in vhost '{}'", parameter.name, parameter.vhost)
            }
            Definition::Policy(policy) => format!("policy '{}' in vhost '{}'", policy.name, policy.vhost),
            Definition::OperatorPolicy(policy) => {
                format!("operator policy '{}' in vhost '{}'", policy.name, policy.vhost)
            }
            Definition::Exchange(exchange) => {
                format!("exchange '{}' in vhost '{}'", exchange.name.text(), exchange.vhost)
            }
            Definition::Queue(queue) => format!("queue '{}' in vhost '{}'", queue.name.text(), queue.vhost),
            Definition::Binding(binding) => {
                let (from, to) = (binding.source.text(), binding.destination.text());
                format!("binding from '{from}' to '{to}' in vhost '{}'", binding.vhost)
            }
            Definition::ConfiguredUser(user) => format!("configured user '{}'", user.name),
        }
    }

    /// The definitions without which this one cannot be, each with its kind and name for people.
    pub fn owners(&self) -> Vec<(Place, String)> {
        let host =
            |name: &str| (Place::new(Kind::VirtualHost, &[name.as_bytes()]), format!("vhost '{name}'"));
        let user = |name: &str| (Place::new(Kind::User, &[name.as_bytes()]), format!("user '{name}'"));
        match self {
            Definition::VirtualHost(_) | Definition::User(_) | Definition::GlobalParameter(_) => Vec::new(),
            Definition::ConfiguredUser(mark) => vec![user(&mark.name)],
            Definition::Permission(row) => vec![host(&row.vhost), user(&row.user)],
            Definition::TopicPermission(row) => vec![host(&row.vhost), user(&row.user)],
            Definition::Parameter(parameter) => vec![host(&parameter.vhost)],
            Definition::Policy(policy) | Definition::OperatorPolicy(policy) => vec![host(&policy.vhost)],
            Definition::Exchange(exchange) => vec![host(&exchange.vhost)],
            Definition::Queue(queue) => vec![host(&queue.vhost)],
            Definition::Binding(binding) => {
                let vhost = &binding.vhost;
                let end = |kind, what: &str, name: &Name| {
                    let place = Place::new(kind, &[vhost.as_bytes(), &name.0]);
                    (place, format!("{what} '{}' in vhost '{vhost}'", name.text()))
                };
                let destination = match binding.destination_type {
                    DestinationType::Queue => end(Kind::Queue, "queue", &binding.destination),
                    DestinationType::Exchange => end(Kind::Exchange, "exchange", &binding.destination),
                };
                vec![host(vhost), end(Kind::Exchange, "exchange", &binding.source), destination]
            }
        }
    }

    /// The virtual host that the definition belongs to.
    pub fn virtual_host(&self) -> Option<&str> {
        match self {
            Definition::VirtualHost(host) => Some(&host.name),
            Definition::User(_) | Definition::ConfiguredUser(_) | Definition::GlobalParameter(_) => None,
            Definition::Permission(row) => Some(&row.vhost),
            Definition::TopicPermission(row) => Some(&row.vhost),
            Definition::Parameter(parameter) => Some(&parameter.vhost),
            Definition::Policy(policy) | Definition::OperatorPolicy(policy) => Some(&policy.vhost),
            Definition::Exchange(exchange) => Some(&exchange.vhost),
            Definition::Queue(queue) => Some(&queue.vhost),
            Definition::Binding(binding) => Some(&binding.vhost),
        }
    }

    /// The bytes of the value in the data directory.
    pub fn encode(&self) -> Vec<u8> {
        let bytes = match self {
            Definition::VirtualHost(value) => rmp_serde::to_vec_named(value),
            Definition::User(value) => rmp_serde::to_vec_named(value),
            Definition::Permission(value) => rmp_serde::to_vec_named(value),
            Definition::TopicPermission(value) => rmp_serde::to_vec_named(value),
            Definition::GlobalParameter(value) => rmp_serde::to_vec_named(value),
            Definition::Parameter(value) => rmp_serde::to_vec_named(value),
            Definition::Policy(value) | Definition::OperatorPolicy(value) => rmp_serde::to_vec_named(value),
            Definition::Exchange(value) => rmp_serde::to_vec_named(value),
            Definition::Queue(value) => rmp_serde::to_vec_named(value),
            Definition::Binding(value) => rmp_serde::to_vec_named(value),
            Definition::ConfiguredUser(value) => rmp_serde::to_vec_named(value),
        };
        // INVARIANT: every field of the types has a form in MessagePack, and a vector takes any number of bytes.
        bytes.expect("a definition has a form in MessagePack")
    }

    /// Reads a value from [`Definition::encode`].
    ///
    /// # Errors
    ///
    /// The bytes are no value of that kind.
    pub fn decode(kind: Kind, bytes: &[u8]) -> Result<Definition, DefinitionError> {
        let decoded = match kind {
            Kind::VirtualHost => rmp_serde::from_slice(bytes).map(Definition::VirtualHost),
            Kind::User => rmp_serde::from_slice(bytes).map(Definition::User),
            Kind::Permission => rmp_serde::from_slice(bytes).map(Definition::Permission),
            Kind::TopicPermission => rmp_serde::from_slice(bytes).map(Definition::TopicPermission),
            Kind::GlobalParameter => rmp_serde::from_slice(bytes).map(Definition::GlobalParameter),
            Kind::Parameter => rmp_serde::from_slice(bytes).map(Definition::Parameter),
            Kind::Policy => rmp_serde::from_slice(bytes).map(Definition::Policy),
            Kind::OperatorPolicy => rmp_serde::from_slice(bytes).map(Definition::OperatorPolicy),
            Kind::Exchange => rmp_serde::from_slice(bytes).map(Definition::Exchange),
            Kind::Queue => rmp_serde::from_slice(bytes).map(Definition::Queue),
            Kind::Binding => rmp_serde::from_slice(bytes).map(Definition::Binding),
            Kind::ConfiguredUser => rmp_serde::from_slice(bytes).map(Definition::ConfiguredUser),
        };
        decoded.map_err(|error| DefinitionError { kind: kind.name().into(), reason: error.to_string() })
    }
}

impl Change {
    /// The change that puts a definition in place of the one before, if there was one.
    pub fn put(before: Option<Definition>, definition: Definition) -> Change {
        match before {
            None => Change::Put(definition),
            Some(before) => Change::Replace(before, definition),
        }
    }

    /// Returns the place in the data directory.
    pub fn place(&self) -> Place {
        match self {
            Change::Put(definition) | Change::Replace(_, definition) => definition.place(),
            Change::Delete(place) => place.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_wire::amqp::FieldTable;

    use super::super::arguments::Arguments;
    use super::*;

    #[test]
    fn a_definition_survives_its_bytes_and_names_do_not_run_together() {
        let binding = |source: &str, destination: &str, argument: i32| {
            Definition::Binding(BindingDefinition {
                source: source.into(),
                vhost: "/".into(),
                destination: Name(b"\xff".iter().copied().chain(destination.bytes()).collect()),
                destination_type: DestinationType::Queue,
                routing_key: Name::default(),
                arguments: Arguments(FieldTable::from_iter([("a", argument)])),
            })
        };
        let definitions = [binding("a", "bc", 1), binding("ab", "c", 1), binding("a", "bc", 2)];
        for definition in &definitions {
            assert_eq!(&Definition::decode(Kind::Binding, &definition.encode()).unwrap(), definition);
            let same = definitions.iter().filter(|other| other.place() == definition.place());
            assert_eq!(same.count(), 1, "{definition:?}");
        }
        assert!(Definition::decode(Kind::User, &definitions[0].encode()).is_err());
        assert!(Definition::decode(Kind::User, b"").is_err());
    }

    #[test]
    fn kinds_have_numbers_of_their_own() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_number(kind.number()), Some(kind));
        }
        assert_eq!((Kind::of_number(0), Kind::of_number(13)), (None, None));
    }
}
