//! `Document`: a file of definitions, as RabbitMQ exports and imports it.
//!
//! A document of the whole node has users, virtual hosts and permissions, and each item names its virtual host. A document of one
//! virtual host has none of these, and the import names the host.

use serde::Serialize;
use serde_json::{Map, Value};

use super::types::{
    BindingDefinition, DestinationType, ExchangeDefinition, GlobalParameterDefinition, ParameterDefinition,
    PermissionDefinition, PolicyDefinition, QueueDefinition, TopicPermissionDefinition, UserDefinition,
    VirtualHostDefinition,
};

/// A user in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserItem {
    /// The user.
    pub definition: UserDefinition,
    /// The password itself, which people write into files by hand. An export has none.
    pub password: Option<String>,
}

/// Items that are not imported: the first of them with their reasons, and how many there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// Lines that name the first of them.
    pub lines: Vec<String>,
    /// Number of all of them.
    pub count: usize,
}

impl LeftOut {
    /// Items that are named.
    pub const NAMED_COUNT_MAX: usize = 20;

    /// Counts an item. Returns the line of an item that is named.
    pub fn note(&mut self, line: impl FnOnce() -> String) -> Option<&str> {
        self.count += 1;
        if self.lines.len() == LeftOut::NAMED_COUNT_MAX {
            return None;
        }
        self.lines.push(line());
        self.lines.last().map(String::as_str)
    }

    /// Returns the number of items that are not named.
    pub fn unnamed_count(&self) -> usize {
        self.count - self.lines.len()
    }
}

/// The definitions of a file, in the order in which they are imported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The users.
    pub users: Vec<UserItem>,
    /// The virtual hosts.
    pub virtual_hosts: Vec<VirtualHostDefinition>,
    /// The permissions.
    pub permissions: Vec<PermissionDefinition>,
    /// The topic permissions.
    pub topic_permissions: Vec<TopicPermissionDefinition>,
    /// The parameters of the node.
    pub global_parameters: Vec<GlobalParameterDefinition>,
    /// The parameters of virtual hosts.
    pub parameters: Vec<ParameterDefinition>,
    /// The policies.
    pub policies: Vec<PolicyDefinition>,
    /// The policies of operators.
    pub operator_policies: Vec<PolicyDefinition>,
    /// The exchanges.
    pub exchanges: Vec<ExchangeDefinition>,
    /// The queues.
    pub queues: Vec<QueueDefinition>,
    /// The bindings.
    pub bindings: Vec<BindingDefinition>,
    /// Items of the file that cannot be understood, each with its place and the reason.
    pub refused: LeftOut,
    /// Items of the file that are none, or that a node makes itself.
    pub passed_over: LeftOut,
}

impl Document {
    /// Sorts each list by the keys of its items, so that two exports differ only where the definitions do.
    pub fn sort(&mut self) {
        self.users.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        self.virtual_hosts.sort_by(|one, other| one.name.cmp(&other.name));
        self.permissions.sort_by(|one, other| (&one.vhost, &one.user).cmp(&(&other.vhost, &other.user)));
        self.topic_permissions.sort_by(|one, other| {
            (&one.vhost, &one.user, &one.exchange).cmp(&(&other.vhost, &other.user, &other.exchange))
        });
        self.global_parameters.sort_by(|one, other| one.name.cmp(&other.name));
        self.parameters.sort_by(|one, other| {
            (&one.vhost, &one.component, &one.name).cmp(&(&other.vhost, &other.component, &other.name))
        });
        for policies in [&mut self.policies, &mut self.operator_policies] {
            policies.sort_by(|one, other| (&one.vhost, &one.name).cmp(&(&other.vhost, &other.name)));
        }
        self.exchanges.sort_by(|one, other| (&one.vhost, &one.name).cmp(&(&other.vhost, &other.name)));
        self.queues.sort_by(|one, other| (&one.vhost, &one.name).cmp(&(&other.vhost, &other.name)));
        self.bindings.sort_by_cached_key(|binding| {
            let is_to_exchange = binding.destination_type == DestinationType::Exchange;
            let ends = (binding.source.clone(), is_to_exchange, binding.destination.clone());
            let mut arguments = Vec::new();
            binding.arguments.0.encode(&mut arguments);
            (binding.vhost.clone(), ends, binding.routing_key.clone(), arguments)
        });
    }

    /// The lists of the whole node, with the keys of a file.
    pub fn to_object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let mut put = |key: &str, list: Vec<Value>| object.insert(key.into(), list.into());
        put("users", self.users.iter().map(|user| json(&user.definition)).collect());
        put("vhosts", self.virtual_hosts.iter().map(virtual_host_json).collect());
        put("permissions", self.permissions.iter().map(json).collect());
        put("topic_permissions", self.topic_permissions.iter().map(json).collect());
        put("global_parameters", self.global_parameters.iter().map(json).collect());
        let operator = self.operator_policies.iter();
        let operator = operator.map(|policy| {
            json(&ParameterDefinition::of_policy(ParameterDefinition::OPERATOR_POLICY, policy))
        });
        put("parameters", self.parameters.iter().map(json).chain(operator).collect());
        put("policies", self.policies.iter().map(json).collect());
        put("exchanges", self.exchanges.iter().map(json).collect());
        put("queues", self.queues.iter().map(json).collect());
        put("bindings", self.bindings.iter().map(json).collect());
        object
    }

    /// The lists of one virtual host: the items do not name the host.
    pub fn to_object_of_host(&self) -> Map<String, Value> {
        let mut object = self.to_object();
        for key in ["users", "vhosts", "permissions", "topic_permissions", "global_parameters"] {
            object.remove(key);
        }
        for (_, list) in &mut object {
            for item in list.as_array_mut().into_iter().flatten() {
                item.as_object_mut().map(|item| item.remove("vhost"));
            }
        }
        object
    }
}

fn virtual_host_json(host: &VirtualHostDefinition) -> Value {
    let VirtualHostDefinition {
        name,
        description,
        tags,
        default_queue_type,
        protected_from_deletion,
        limits,
    } = host;
    let mut metadata = Map::new();
    metadata.insert("description".into(), description.as_str().into());
    metadata.insert("tags".into(), json(tags));
    if let Some(kind) = default_queue_type {
        metadata.insert("default_queue_type".into(), kind.as_str().into());
    }
    if *protected_from_deletion {
        metadata.insert("protected_from_deletion".into(), true.into());
    }
    let limits: Vec<Value> =
        limits.iter().map(|(name, value)| serde_json::json!({"name": name, "value": value})).collect();
    serde_json::json!({"name": name, "limits": limits, "metadata": metadata})
}

pub(super) fn json(value: &impl Serialize) -> Value {
    // INVARIANT: the types have strings as keys of their maps, so that each has a form in JSON.
    serde_json::to_value(value).expect("a definition has a form in JSON")
}
