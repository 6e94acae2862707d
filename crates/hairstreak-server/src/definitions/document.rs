//! `Document`: a file of definitions, as RabbitMQ exports and imports it.
//!
//! A document of the whole node has users, virtual hosts and permissions, and each item says its virtual host. A document of one virtual host has none of these,
//! and the import says which host is meant.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::types::{
    BindingDefinition, DestinationType, ExchangeDefinition, GlobalParameterDefinition, ParameterDefinition,
    PermissionDefinition, PolicyDefinition, QueueDefinition, TopicPermissionDefinition, UserDefinition,
    VirtualHostDefinition,
};

/// The component whose parameters are operator policies in a document.
const OPERATOR_POLICY: &str = "operator_policy";
/// Queues with this prefix are passed over: a node gives such names itself.
const RESERVED_PREFIX: &[u8] = b"amq.";

/// A user in a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct UserItem {
    #[serde(flatten)]
    pub definition: UserDefinition,
    /// The password itself, which people write into files by hand. An export has none.
    pub password: Option<String>,
}

/// The definitions of a file, in the order in which they are imported.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Document {
    pub users: Vec<UserItem>,
    pub virtual_hosts: Vec<VirtualHostDefinition>,
    pub permissions: Vec<PermissionDefinition>,
    pub topic_permissions: Vec<TopicPermissionDefinition>,
    pub global_parameters: Vec<GlobalParameterDefinition>,
    pub parameters: Vec<ParameterDefinition>,
    pub policies: Vec<PolicyDefinition>,
    pub operator_policies: Vec<PolicyDefinition>,
    pub exchanges: Vec<ExchangeDefinition>,
    pub queues: Vec<QueueDefinition>,
    pub bindings: Vec<BindingDefinition>,
}

/// A file that is no document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {reason}")]
pub(crate) struct DocumentError {
    /// The list and the place in it, such as `queues[3]`.
    place: String,
    reason: String,
}

impl Document {
    /// Reads a document. Items that do not say their virtual host belong to `virtual_host`: the import of one host.
    ///
    /// # Errors
    ///
    /// The text is no JSON object, an item lacks a key or has one of a wrong type, or an item says no virtual host and none is given.
    pub fn parse(text: &[u8], virtual_host: Option<&str>) -> Result<Document, DocumentError> {
        let parsed = serde_json::from_slice(text);
        match parsed.map_err(|error| wrong("the file", error.to_string()))? {
            Value::Object(object) => Document::from_object(object, virtual_host),
            _ => Err(wrong("the file", "not a JSON object".into())),
        }
    }

    /// Reads the object of a document, as [`Document::parse`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Document::parse`], apart from the text.
    pub fn from_object(
        object: Map<String, Value>,
        virtual_host: Option<&str>,
    ) -> Result<Document, DocumentError> {
        let mut lists = Lists { object, virtual_host };
        let mut document = Document {
            users: lists.take("users", user_item)?,
            virtual_hosts: lists.take("vhosts", virtual_host_item)?,
            permissions: lists.take_of_hosts("permissions")?,
            topic_permissions: lists.take_of_hosts("topic_permissions")?,
            global_parameters: lists.take("global_parameters", Ok)?,
            policies: lists.take_of_hosts("policies")?,
            exchanges: lists.take_of_hosts("exchanges")?,
            queues: lists.take_of_hosts("queues")?,
            bindings: lists.take_of_hosts("bindings")?,
            ..Document::default()
        };
        document.queues.retain(|queue| !queue.name.0.starts_with(RESERVED_PREFIX));
        let parameters: Vec<ParameterDefinition> = lists.take_of_hosts("parameters")?;
        for (index, parameter) in parameters.into_iter().enumerate() {
            let place = || format!("parameters[{index}]");
            match parameter.component.as_str() {
                OPERATOR_POLICY => document.operator_policies.push(operator_policy(parameter, place)?),
                _ => document.parameters.push(parameter),
            }
        }
        Ok(document)
    }

    /// Sorts each list by what tells its items apart, so that two exports differ where the definitions do.
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
        let operator = self.operator_policies.iter().map(operator_policy_json);
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

/// The lists of a document that are not read yet.
struct Lists<'a> {
    object: Map<String, Value>,
    virtual_host: Option<&'a str>,
}

impl Lists<'_> {
    /// Reads a list. `convert` brings an item into the form of its type.
    fn take<T: DeserializeOwned>(
        &mut self,
        key: &str,
        convert: impl Fn(Value) -> Result<Value, String>,
    ) -> Result<Vec<T>, DocumentError> {
        let items = match self.object.remove(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(wrong(key, "not a list".into())),
        };
        let read = |(index, item)| {
            let item = convert(item)
                .and_then(|item| serde_json::from_value(item).map_err(|error| error.to_string()));
            item.map_err(|reason| wrong(&format!("{key}[{index}]"), reason))
        };
        items.into_iter().enumerate().map(read).collect()
    }

    fn take_of_hosts<T: DeserializeOwned>(&mut self, key: &str) -> Result<Vec<T>, DocumentError> {
        let virtual_host = self.virtual_host;
        self.take(key, |mut item| {
            if let Some(object) = item.as_object_mut() {
                match (object.get("vhost"), virtual_host) {
                    (_, Some(name)) => drop(object.insert("vhost".into(), name.into())),
                    (None, None) => return Err("no vhost; import the file into one virtual host".into()),
                    (Some(_), None) => {}
                }
            }
            Ok(item)
        })
    }
}

/// Tags of older files are one string, with commas. A hash without an algorithm is of the time of MD5.
fn user_item(mut item: Value) -> Result<Value, String> {
    if let Some(object) = item.as_object_mut() {
        if let Some(Value::String(tags)) = object.get("tags") {
            let tags: Vec<&str> = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
            let tags = json(&tags);
            object.insert("tags".into(), tags);
        }
        if object.contains_key("password_hash") && !object.contains_key("hashing_algorithm") {
            object.insert("hashing_algorithm".into(), "rabbit_password_hashing_md5".into());
        }
        tidy_limits(object);
    }
    Ok(item)
}

/// A host's metadata are an object of their own since RabbitMQ 3.9. Its limits are a list where there are none.
fn virtual_host_item(mut item: Value) -> Result<Value, String> {
    if let Some(object) = item.as_object_mut() {
        if let Some(Value::Object(metadata)) = object.remove("metadata") {
            for (key, value) in metadata {
                object.entry(key).or_insert(value);
            }
        }
        if object.get("default_queue_type").and_then(Value::as_str) == Some("undefined") {
            object.remove("default_queue_type");
        }
        tidy_limits(object);
    }
    Ok(item)
}

/// Limits are an object, or a list of names and values.
fn tidy_limits(object: &mut Map<String, Value>) {
    if let Some(Value::Array(list)) = object.get("limits") {
        let pair = |item: &Value| Some((item.get("name")?.as_str()?.to_owned(), item.get("value")?.clone()));
        let limits: Map<String, Value> = list.iter().filter_map(pair).collect();
        object.insert("limits".into(), limits.into());
    }
}

fn operator_policy(
    parameter: ParameterDefinition,
    place: impl Fn() -> String,
) -> Result<PolicyDefinition, DocumentError> {
    let mut value = parameter.value;
    if let Some(object) = value.as_object_mut() {
        object.insert("vhost".into(), parameter.vhost.into());
        object.insert("name".into(), parameter.name.into());
    }
    serde_json::from_value(value).map_err(|error| wrong(&place(), error.to_string()))
}

fn operator_policy_json(policy: &PolicyDefinition) -> Value {
    let mut value = json(policy);
    if let Some(object) = value.as_object_mut() {
        object.remove("vhost");
        object.remove("name");
    }
    json(&ParameterDefinition {
        vhost: policy.vhost.clone(),
        component: OPERATOR_POLICY.into(),
        name: policy.name.clone(),
        value,
    })
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

fn json(value: &impl Serialize) -> Value {
    // INVARIANT: the types have strings as keys of their maps, so that each has a form in JSON.
    serde_json::to_value(value).expect("a definition has a form in JSON")
}

fn wrong(place: &str, reason: String) -> DocumentError {
    DocumentError { place: place.into(), reason }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definitions::Kind;

    const FILE: &str = r#"{
      "rabbit_version": "3.10.8",
      "users": [
        {"name": "old", "password_hash": "AAAA", "tags": "management, policymaker"},
        {"name": "new", "password_hash": "BBBB", "hashing_algorithm": "rabbit_password_hashing_sha256",
         "tags": ["administrator"], "limits": {"max-channels": 5}},
        {"name": "typed", "password": "secret", "tags": []}
      ],
      "vhosts": [
        {"name": "/", "limits": [{"name": "max-queues", "value": 9}], "metadata": {"description": "Default virtual host", "tags": ["a"]}},
        {"name": "flat", "description": "d", "default_queue_type": "undefined"}
      ],
      "permissions": [{"user": "new", "vhost": "/", "configure": ".*", "write": "", "read": "^a"}],
      "topic_permissions": [{"user": "new", "vhost": "/", "exchange": "amq.topic", "write": "w", "read": "r"}],
      "parameters": [
        {"vhost": "/", "component": "operator_policy", "name": "o",
         "value": {"pattern": "^x", "definition": {"max-length": 7}, "priority": 3, "apply-to": "queues"}},
        {"vhost": "flat", "component": "vhost-limits", "name": "limits", "value": {"max-queues": 7}},
        {"vhost": "/", "component": "shovel", "name": "s", "value": {"a": 1}}
      ],
      "global_parameters": [{"name": "cluster_name", "value": "c"}],
      "policies": [{"vhost": "/", "name": "p", "pattern": "", "definition": {"expires": 1}, "priority": 0}],
      "queues": [
        {"name": "q", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {"x-max-length": 10}},
        {"name": "amq.gen-x", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}}
      ],
      "exchanges": [{"name": "x", "vhost": "/", "type": "topic", "durable": true, "auto_delete": false,
        "internal": false, "arguments": {}}],
      "bindings": [{"source": "x", "vhost": "/", "destination": "q", "destination_type": "queue",
        "routing_key": "k", "arguments": {}}]
    }"#;

    #[test]
    fn files_of_older_and_newer_versions_are_read() {
        let document = Document::parse(FILE.as_bytes(), None).unwrap();
        let users: Vec<_> =
            document.users.iter().map(|user| (&*user.definition.name, user.definition.tags.len())).collect();
        assert_eq!(users, [("old", 2), ("new", 1), ("typed", 0)]);
        assert_eq!(
            document.users[0].definition.hashing_algorithm.as_deref(),
            Some("rabbit_password_hashing_md5")
        );
        assert_eq!(
            (document.users[1].definition.limits["max-channels"], document.users[2].password.as_deref()),
            (5, Some("secret"))
        );
        let hosts = &document.virtual_hosts;
        assert_eq!(
            (&*hosts[0].description, hosts[0].tags.len(), hosts[0].limits["max-queues"]),
            ("Default virtual host", 1, 9)
        );
        assert_eq!(hosts[1].default_queue_type, None);
        let operator = &document.operator_policies[0];
        assert_eq!(
            (&*operator.name, &*operator.pattern, operator.priority, &*operator.apply_to),
            ("o", "^x", 3, "queues")
        );
        assert_eq!((document.parameters.len(), &*document.policies[0].apply_to), (2, "all"));
        assert_eq!((document.queues.len(), document.bindings.len()), (1, 1));
    }

    #[test]
    fn a_document_comes_back_from_its_export() {
        let document = Document::parse(FILE.as_bytes(), None).unwrap();
        let mut expected = document.clone();
        // An export has no passwords.
        expected.users[2].password = None;
        let mut back = Document::from_object(document.to_object(), None).unwrap();
        back.users[2].definition.hashing_algorithm = None;
        assert_eq!(back, expected);
        let host = Document::from_object(document.to_object_of_host(), Some("elsewhere")).unwrap();
        assert!(host.users.is_empty() && host.virtual_hosts.is_empty());
        assert_eq!((&*host.queues[0].vhost, &*host.operator_policies[0].vhost), ("elsewhere", "elsewhere"));
    }

    #[test]
    fn a_sorted_document_does_not_tell_in_which_order_things_came() {
        // Keys that a list does not know are passed over.
        let item = |name: &str| {
            json!({"name": name, "vhost": name, "user": name, "configure": "", "write": "", "read": "", "exchange": name,
                "component": name, "value": 1, "pattern": "", "definition": {}, "type": "topic", "durable": true,
                "auto_delete": false, "source": "x", "destination": "q", "destination_type": "queue", "routing_key": name})
        };
        let document = |names: [&str; 3]| {
            let lists = Kind::ALL.map(|kind| (kind.name().to_owned(), names.map(item).to_vec().into()));
            let text = Value::Object(lists.into_iter().collect()).to_string();
            let mut document = Document::parse(text.as_bytes(), None).unwrap();
            document.sort();
            document
        };
        let sorted = document(["a", "aa", "b"]);
        assert_eq!(document(["b", "a", "aa"]), sorted);
        let names: Vec<_> = sorted.bindings.iter().map(|binding| binding.routing_key.text()).collect();
        assert_eq!((names, sorted.users.len()), (vec!["a".into(), "aa".into(), "b".into()], 3));
    }

    #[test]
    fn an_item_that_is_wrong_is_named() {
        for (text, expected) in [
            ("[]", "the file: not a JSON object"),
            ("{", "the file: EOF while parsing"),
            (r#"{"queues": 1}"#, "queues: not a list"),
            (r#"{"queues": [{"name": "q", "durable": true, "auto_delete": false}]}"#, "queues[0]: no vhost"),
            (
                r#"{"queues": [{"name": 1, "vhost": "/"}]}"#,
                "queues[0]: invalid type: integer `1`, expected a string",
            ),
            (r#"{"users": [{"name": "a"}, {}]}"#, "users[1]: missing field `name`"),
            (
                r#"{"parameters": [{"vhost": "/", "component": "operator_policy", "name": "o", "value": {}}]}"#,
                "parameters[0]: missing field `pattern`",
            ),
        ] {
            let said = Document::parse(text.as_bytes(), None).unwrap_err().to_string();
            assert!(said.starts_with(expected), "{text}: {said}");
        }
    }
}
