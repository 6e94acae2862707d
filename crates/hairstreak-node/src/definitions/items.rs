//! The items of a file of definitions, each as its kind. Optional fields have RabbitMQ's defaults; unknown fields are ignored.

use serde_json::{Map, Value};

use super::arguments::Arguments;
use super::document::{Document, UserItem};
use super::fields::{Fields, integer};
use super::name::Name;
use super::types::{
    BindingDefinition, DestinationType, ExchangeDefinition, GlobalParameterDefinition, Limits,
    ParameterDefinition, PermissionDefinition, PolicyDefinition, QueueDefinition, TopicPermissionDefinition,
    UserDefinition, VirtualHostDefinition,
};

/// Queues with this prefix are passed over: a node gives such names itself.
const RESERVED_PREFIX: &[u8] = b"amq.";
/// The characters of an MD5 hash with its salt, in base64.
const MD5_SIZE: usize = 28;

impl Fields {
    /// Returns a text that must be present.
    fn needed(&self, name: &str) -> Result<String, String> {
        self.text(name).map_err(|error| error.to_string())?.ok_or_else(|| format!("no {name}"))
    }

    fn optional(&self, name: &str) -> Result<Option<String>, String> {
        self.text(name).map_err(|error| error.to_string())
    }

    fn needed_flag(&self, name: &str) -> Result<bool, String> {
        self.flag(name)?.ok_or_else(|| format!("no {name}"))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        self.boolean(name).map_err(|error| error.to_string())
    }

    fn list(&self, name: &str) -> Result<Vec<String>, String> {
        Ok(self.words(name).map_err(|error| error.to_string())?.unwrap_or_default())
    }

    fn arguments(&self, name: &str) -> Result<Arguments, String> {
        let table = self.table(name).map_err(|error| error.to_string())?;
        Arguments::from_object(&table).map_err(|reason| format!("{name}: {reason}"))
    }

    fn needed_value(&self) -> Result<Value, String> {
        self.get("value").cloned().ok_or_else(|| "no value".into())
    }

    /// Limits are an object, or a list of names and values.
    fn limits(&self) -> Result<Limits, String> {
        let limit = |name: &str, value: &Value| {
            integer(value)
                .map(|limit| (name.to_owned(), limit))
                .ok_or_else(|| format!("limits: {name}: not an integer"))
        };
        match self.get("limits") {
            None => Ok(Limits::new()),
            Some(Value::Object(limits)) => limits.iter().map(|(name, value)| limit(name, value)).collect(),
            Some(Value::Array(list)) => {
                let pairs =
                    list.iter().filter_map(|item| Some((item.get("name")?.as_str()?, item.get("value")?)));
                pairs.map(|(name, value)| limit(name, value)).collect()
            }
            Some(_) => Err("limits: not an object".into()),
        }
    }
}

fn name(fields: &Fields, key: &str) -> Result<Name, String> {
    Name::from_text(&fields.needed(key)?)
}

/// A hash without an algorithm is MD5 in files of old versions, and SHA-256 in others. Their sizes differ.
pub(super) fn user(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let password_hash = fields.optional("password_hash")?.unwrap_or_default();
    let algorithm = match fields.optional("hashing_algorithm")? {
        None if password_hash.trim().len() == MD5_SIZE => Some("rabbit_password_hashing_md5".into()),
        algorithm => algorithm,
    };
    let password = match fields.get("password") {
        None => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err("password: not a string".into()),
    };
    let definition = UserDefinition {
        name: fields.needed("name")?,
        password_hash,
        hashing_algorithm: algorithm,
        tags: fields.list("tags")?,
        limits: fields.limits()?,
        curve: fields.optional("curve")?,
    };
    document.users.push(UserItem { definition, password });
    Ok(())
}

/// A host's metadata are an object of their own since RabbitMQ 3.9.
pub(super) fn virtual_host(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let mut fields = fields.clone();
    for (key, value) in fields.table("metadata").map_err(|error| error.to_string())? {
        if !value.is_null() {
            fields.0.entry(key).or_insert(value);
        }
    }
    document.virtual_hosts.push(VirtualHostDefinition {
        name: fields.needed("name")?,
        description: fields.optional("description")?.unwrap_or_default(),
        tags: fields.list("tags")?,
        default_queue_type: fields.optional("default_queue_type")?.filter(|kind| kind != "undefined"),
        protected_from_deletion: fields.flag("protected_from_deletion")?.unwrap_or_default(),
        limits: fields.limits()?,
    });
    Ok(())
}

pub(super) fn permission(document: &mut Document, fields: &Fields) -> Result<(), String> {
    document.permissions.push(PermissionDefinition {
        user: fields.needed("user")?,
        vhost: fields.needed("vhost")?,
        configure: fields.needed("configure")?,
        write: fields.needed("write")?,
        read: fields.needed("read")?,
    });
    Ok(())
}

pub(super) fn topic_permission(document: &mut Document, fields: &Fields) -> Result<(), String> {
    document.topic_permissions.push(TopicPermissionDefinition {
        user: fields.needed("user")?,
        vhost: fields.needed("vhost")?,
        exchange: fields.optional("exchange")?.unwrap_or_default(),
        write: fields.needed("write")?,
        read: fields.needed("read")?,
    });
    Ok(())
}

pub(super) fn global_parameter(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let (name, value) = (fields.needed("name")?, fields.needed_value()?);
    document.global_parameters.push(GlobalParameterDefinition { name, value });
    Ok(())
}

/// Operator policies are parameters of a component of their own.
pub(super) fn parameter(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let parameter = ParameterDefinition {
        vhost: fields.needed("vhost")?,
        component: fields.needed("component")?,
        name: fields.needed("name")?,
        value: fields.needed_value()?,
    };
    if parameter.component != ParameterDefinition::OPERATOR_POLICY {
        document.parameters.push(parameter);
        return Ok(());
    }
    let mut value: Map<String, Value> = match parameter.value {
        Value::Object(fields) => fields,
        _ => return Err("value: not an object".into()),
    };
    value.retain(|_, value| !value.is_null());
    value.insert("vhost".into(), parameter.vhost.into());
    value.insert("name".into(), parameter.name.into());
    document.operator_policies.push(read_policy(&Fields(value))?);
    Ok(())
}

pub(super) fn policy(document: &mut Document, fields: &Fields) -> Result<(), String> {
    document.policies.push(read_policy(fields)?);
    Ok(())
}

fn read_policy(fields: &Fields) -> Result<PolicyDefinition, String> {
    let priority = fields.integer("priority").map_err(|error| error.to_string())?;
    Ok(PolicyDefinition {
        vhost: fields.needed("vhost")?,
        name: fields.needed("name")?,
        pattern: fields.needed("pattern")?,
        apply_to: fields.optional("apply-to")?.unwrap_or_else(|| "all".into()),
        definition: fields.arguments("definition")?,
        priority: priority.unwrap_or_default(),
    })
}

pub(super) fn exchange(document: &mut Document, fields: &Fields) -> Result<(), String> {
    document.exchanges.push(ExchangeDefinition {
        name: name(fields, "name")?,
        vhost: fields.needed("vhost")?,
        kind: name(fields, "type")?,
        durable: fields.needed_flag("durable")?,
        auto_delete: fields.flag("auto_delete")?.unwrap_or_default(),
        internal: fields.flag("internal")?.unwrap_or_default(),
        arguments: fields.arguments("arguments")?,
    });
    Ok(())
}

pub(super) fn queue(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let name = name(fields, "name")?;
    if name.0.starts_with(RESERVED_PREFIX) {
        document.passed_over.note(|| format!("queue '{}': a node itself gives such names", name.text()));
        return Ok(());
    }
    document.queues.push(QueueDefinition {
        name,
        vhost: fields.needed("vhost")?,
        kind: fields.optional("type")?,
        durable: fields.needed_flag("durable")?,
        auto_delete: fields.flag("auto_delete")?.unwrap_or_default(),
        arguments: fields.arguments("arguments")?,
    });
    Ok(())
}

pub(super) fn binding(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let destination_type = match &*fields.needed("destination_type")? {
        "queue" => DestinationType::Queue,
        "exchange" => DestinationType::Exchange,
        other => return Err(format!("destination_type: {}, neither queue nor exchange", Value::from(other))),
    };
    document.bindings.push(BindingDefinition {
        source: name(fields, "source")?,
        vhost: fields.needed("vhost")?,
        destination: name(fields, "destination")?,
        destination_type,
        routing_key: Name::from_text(&fields.optional("routing_key")?.unwrap_or_default())?,
        arguments: fields.arguments("arguments")?,
    });
    Ok(())
}
