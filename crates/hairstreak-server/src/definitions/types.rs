//! A type for each kind of definition, with RabbitMQ's keys.
//!
//! A key that a file lacks has its default. A key that is not known is passed over, as RabbitMQ does, so that files of other versions load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::name::Name;

/// Limits of a virtual host (`max-connections`, `max-queues`) or a user (`max-connections`, `max-channels`). A negative limit is none.
pub(crate) type Limits = BTreeMap<String, i64>;

/// A virtual host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct VirtualHostDefinition {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub tags: Vec<String>,
    /// The type of a queue whose declaration does not say one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_queue_type: Option<String>,
    #[serde(default)]
    pub protected_from_deletion: bool,
    #[serde(default)]
    pub limits: Limits,
}

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UserDefinition {
    pub name: String,
    #[serde(default)]
    pub password_hash: String,
    #[serde(default)]
    pub hashing_algorithm: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub limits: Limits,
    /// The public key of a CURVE client that is this user, in Z85.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<String>,
}

/// A user that the node's configuration made, and that goes with it. Only the data directory has this kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConfiguredUserDefinition {
    pub name: String,
    /// The user came because the configuration named none.
    pub is_default: bool,
}

/// The permissions of a user in a virtual host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PermissionDefinition {
    pub user: String,
    pub vhost: String,
    pub configure: String,
    pub write: String,
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
pub(crate) struct TopicPermissionDefinition {
    pub user: String,
    pub vhost: String,
    pub exchange: String,
    pub write: String,
    pub read: String,
}

/// A policy, or an operator policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PolicyDefinition {
    pub vhost: String,
    pub name: String,
    pub pattern: String,
    #[serde(rename = "apply-to", default = "everything")]
    pub apply_to: String,
    pub definition: Arguments,
    #[serde(default)]
    pub priority: i64,
}

fn everything() -> String {
    "all".into()
}

/// A parameter of a component in a virtual host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ParameterDefinition {
    pub vhost: String,
    pub component: String,
    pub name: String,
    pub value: Value,
}

impl ParameterDefinition {
    /// The component of the limits of virtual hosts.
    pub(crate) const VHOST_LIMITS: &str = "vhost-limits";
    /// The one parameter of that component.
    pub(crate) const LIMITS: &str = "limits";

    /// The component of users' policies. RabbitMQ shows them only to who asks for this component.
    pub(crate) const POLICY: &str = "policy";
    /// The component of operator policies.
    pub(crate) const OPERATOR_POLICY: &str = "operator_policy";

    /// A policy as a parameter of a component.
    pub(crate) fn of_policy(component: &str, policy: &PolicyDefinition) -> ParameterDefinition {
        let PolicyDefinition { vhost, name, pattern, apply_to, definition, priority } = policy;
        let value =
            json!({"pattern": pattern, "definition": definition, "priority": priority, "apply-to": apply_to});
        ParameterDefinition { vhost: vhost.clone(), component: component.into(), name: name.clone(), value }
    }

    /// The limits of a virtual host as a parameter.
    pub(crate) fn of_limits(host: VirtualHostDefinition) -> ParameterDefinition {
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
pub(crate) struct GlobalParameterDefinition {
    pub name: String,
    pub value: Value,
}

/// A durable exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExchangeDefinition {
    pub name: Name,
    pub vhost: String,
    #[serde(rename = "type")]
    pub kind: Name,
    pub durable: bool,
    pub auto_delete: bool,
    #[serde(default)]
    pub internal: bool,
    #[serde(default)]
    pub arguments: Arguments,
}

/// A durable queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueueDefinition {
    pub name: Name,
    pub vhost: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub durable: bool,
    pub auto_delete: bool,
    #[serde(default)]
    pub arguments: Arguments,
}

/// The kind of object that a binding leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DestinationType {
    Queue,
    Exchange,
}

/// A durable binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BindingDefinition {
    pub source: Name,
    pub vhost: String,
    pub destination: Name,
    pub destination_type: DestinationType,
    #[serde(default)]
    pub routing_key: Name,
    #[serde(default)]
    pub arguments: Arguments,
}
