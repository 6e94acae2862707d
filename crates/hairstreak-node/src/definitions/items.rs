//! The items of a file of definitions, each as its kind. Optional fields have RabbitMQ's defaults; unknown fields are ignored.

use serde_json::{Map, Value};

use super::document::{Document, UserItem};
use super::fields::Fields;
use super::name::Name;
use super::types::{
    BindingDefinition, DestinationType, ExchangeDefinition, GlobalParameterDefinition, ParameterDefinition,
    PermissionDefinition, PolicyDefinition, QueueDefinition, TopicPermissionDefinition, UserDefinition,
    VirtualHostDefinition,
};

/// Queues with this prefix are passed over: a node gives such names itself.
const RESERVED_PREFIX: &[u8] = b"amq.";
/// The characters of an MD5 hash with its salt, in base64.
const MD5_SIZE: usize = 28;

fn name(fields: &Fields, key: &str) -> Result<Name, String> {
    Name::from_text(&fields.needed(key)?)
}

/// A hash without an algorithm is MD5 in files of old versions, and SHA-256 in others. Their sizes differ.
pub(super) fn user(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let password_hash = fields.text("password_hash")?.unwrap_or_default();
    let algorithm = match fields.text("hashing_algorithm")? {
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
        tags: fields.words("tags")?.unwrap_or_default(),
        limits: fields.limits()?,
        curve: fields.text("curve")?,
    };
    document.users.push(UserItem { definition, password });
    Ok(())
}

/// A host's metadata are an object of their own since RabbitMQ 3.9.
pub(super) fn virtual_host(document: &mut Document, fields: &Fields) -> Result<(), String> {
    let mut fields = fields.clone();
    for (key, value) in fields.table("metadata")? {
        if !value.is_null() {
            fields.0.entry(key).or_insert(value);
        }
    }
    document.virtual_hosts.push(VirtualHostDefinition {
        name: fields.needed("name")?,
        description: fields.text("description")?.unwrap_or_default(),
        tags: fields.words("tags")?.unwrap_or_default(),
        default_queue_type: fields.text("default_queue_type")?.filter(|kind| kind != "undefined"),
        protected_from_deletion: fields.boolean("protected_from_deletion")?.unwrap_or_default(),
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
        exchange: fields.text("exchange")?.unwrap_or_default(),
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
    Ok(PolicyDefinition {
        vhost: fields.needed("vhost")?,
        name: fields.needed("name")?,
        pattern: fields.needed("pattern")?,
        apply_to: fields.text("apply-to")?.unwrap_or_else(|| "all".into()),
        definition: fields.arguments("definition")?,
        priority: fields.integer("priority")?.unwrap_or_default(),
    })
}

pub(super) fn exchange(document: &mut Document, fields: &Fields) -> Result<(), String> {
    document.exchanges.push(ExchangeDefinition {
        name: name(fields, "name")?,
        vhost: fields.needed("vhost")?,
        kind: name(fields, "type")?,
        durable: fields.needed_boolean("durable")?,
        auto_delete: fields.boolean("auto_delete")?.unwrap_or_default(),
        internal: fields.boolean("internal")?.unwrap_or_default(),
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
        log_id: 0,
        name,
        vhost: fields.needed("vhost")?,
        kind: fields.text("type")?,
        durable: fields.needed_boolean("durable")?,
        auto_delete: fields.boolean("auto_delete")?.unwrap_or_default(),
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
        routing_key: Name::from_text(&fields.text("routing_key")?.unwrap_or_default())?,
        arguments: fields.arguments("arguments")?,
    });
    Ok(())
}
