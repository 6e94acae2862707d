//! A type for each kind of definition, with RabbitMQ's keys.
//!
//! A missing key of a file has its default. An unknown key is ignored, as in RabbitMQ, so that files of other versions load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::name::Name;

/// Limits of a virtual host (`max-connections`, `max-queues`) or a user (`max-connections`, `max-channels`). A negative limit is none.
pub type Limits = BTreeMap<String, i64>;

/// A virtual host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VirtualHostDefinition {
    /// The name.
    pub name: String,
    /// The description.
    #[serde(default)]
    pub description: String,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The default type of queues that are declared without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_queue_type: Option<String>,
    /// True if the virtual host cannot be deleted.
    #[serde(default)]
    pub protected_from_deletion: bool,
    /// The limits.
    #[serde(default)]
    pub limits: Limits,
}

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserDefinition {
    /// The name.
    pub name: String,
    /// The hash of the password; empty: no password.
    #[serde(default)]
    pub password_hash: String,
    /// The algorithm of the hash.
    #[serde(default)]
    pub hashing_algorithm: Option<String>,
    /// The tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The limits.
    #[serde(default)]
    pub limits: Limits,
    /// The public key of a CURVE client that is this user, in Z85.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<String>,
}

/// A user that the node's configuration created, deleted when the configuration drops the user. Only the data directory has this
/// kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfiguredUserDefinition {
    /// The name.
    pub name: String,
    /// The user came because the configuration named none.
    pub is_default: bool,
}

/// The permissions of a user in a virtual host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionDefinition {
    /// The user.
    pub user: String,
    /// The virtual host.
    pub vhost: String,
    /// The pattern of names that the user may configure.
    pub configure: String,
    /// The pattern of names that the user may write to.
    pub write: String,
    /// The pattern of names that the user may read from.
    pub read: String,
}

impl PermissionDefinition {
    /// All rights in a virtual host.
    pub fn everything(user: &str, virtual_host: &str) -> PermissionDefinition {
        let all = || String::from(".*");
        let (user, vhost) = (user.into(), virtual_host.into());
        PermissionDefinition { user, vhost, configure: all(), write: all(), read: all() }
    }
}

/// The permissions of a user at a topic exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopicPermissionDefinition {
    /// The user.
    pub user: String,
    /// The virtual host.
    pub vhost: String,
    /// The exchange.
    pub exchange: String,
    /// The pattern of names that the user may write to.
    pub write: String,
    /// The pattern of names that the user may read from.
    pub read: String,
}

/// A policy, or an operator policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyDefinition {
    /// The virtual host.
    pub vhost: String,
    /// The name.
    pub name: String,
    /// The pattern of names.
    pub pattern: String,
    /// The kinds of objects.
    #[serde(rename = "apply-to", default = "everything")]
    pub apply_to: String,
    /// The settings.
    pub definition: Arguments,
    /// The priority. The matching policy with the highest priority applies.
    #[serde(default)]
    pub priority: i64,
}

fn everything() -> String {
    "all".into()
}

/// A parameter of a component in a virtual host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterDefinition {
    /// The virtual host.
    pub vhost: String,
    /// The component that the parameter is for.
    pub component: String,
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
}

impl ParameterDefinition {
    /// The component of the limits of virtual hosts.
    pub const VHOST_LIMITS: &str = "vhost-limits";
    /// The one parameter of that component.
    pub const LIMITS: &str = "limits";

    /// The component of users' policies. RabbitMQ shows them only in requests for this component.
    pub const POLICY: &str = "policy";
    /// The component of operator policies.
    pub const OPERATOR_POLICY: &str = "operator_policy";

    /// A policy as a parameter of a component.
    pub fn of_policy(component: &str, policy: &PolicyDefinition) -> ParameterDefinition {
        let PolicyDefinition { vhost, name, pattern, apply_to, definition, priority } = policy;
        let value =
            json!({"pattern": pattern, "definition": definition, "priority": priority, "apply-to": apply_to});
        ParameterDefinition { vhost: vhost.clone(), component: component.into(), name: name.clone(), value }
    }

    /// The limits of a virtual host as a parameter.
    pub fn of_limits(host: VirtualHostDefinition) -> ParameterDefinition {
        let value = host.limits.into_iter().map(|(name, limit)| (name, limit.into()));
        ParameterDefinition {
            vhost: host.name,
            component: ParameterDefinition::VHOST_LIMITS.into(),
            name: ParameterDefinition::LIMITS.into(),
            value: Value::Object(value.collect()),
        }
    }
}

/// A parameter of the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlobalParameterDefinition {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// A durable exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeDefinition {
    /// The name.
    pub name: Name,
    /// The virtual host.
    pub vhost: String,
    /// The type of the exchange.
    #[serde(rename = "type")]
    pub kind: Name,
    /// True if the object survives a restart of the node.
    pub durable: bool,
    /// True if the object is deleted with its last user.
    pub auto_delete: bool,
    /// True if clients cannot publish to the exchange.
    #[serde(default)]
    pub internal: bool,
    /// The arguments.
    #[serde(default)]
    pub arguments: Arguments,
}

/// A durable queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDefinition {
    /// The name.
    pub name: Name,
    /// The virtual host.
    pub vhost: String,
    /// The type of the queue.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// True if the object survives a restart of the node.
    pub durable: bool,
    /// True if the object is deleted with its last user.
    pub auto_delete: bool,
    /// The arguments.
    #[serde(default)]
    pub arguments: Arguments,
    /// The id of the queue in the message log; 0: it has none. Only the data directory has it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub log_id: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The kind of object that a binding leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DestinationType {
    /// A queue.
    Queue,
    /// An exchange.
    Exchange,
}

/// A durable binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BindingDefinition {
    /// The exchange that the binding leads from.
    pub source: Name,
    /// The virtual host.
    pub vhost: String,
    /// The queue or the exchange that the binding leads to.
    pub destination: Name,
    /// The kind of the destination.
    pub destination_type: DestinationType,
    /// The routing key.
    #[serde(default)]
    pub routing_key: Name,
    /// The arguments.
    #[serde(default)]
    pub arguments: Arguments,
}
