//! Reading a file of definitions, item by item.
//!
//! Memory stays in proportion to the file. An item is read on its own, and what it becomes has a type: a wrong one ends the reading. Arguments, definitions of
//! policies and values of parameters have any form. An empty object, of two bytes, may take hundreds of bytes there. The values of such forms in all items
//! together are bounded.

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};
use thiserror::Error;

use super::document::{Document, OPERATOR_POLICY, json};
use super::types::{ParameterDefinition, PolicyDefinition, QueueDefinition};

/// Queues with this prefix are passed over: a node gives such names itself.
const RESERVED_PREFIX: &[u8] = b"amq.";
/// The most bytes of an item's text. The largest arguments of a client take six times as many bytes in an export as in a frame.
const ITEM_SIZE_MAX: usize = 1 << 20;
/// The fields that have any form.
const FREE_FIELDS: [&str; 3] = ["arguments", "definition", "value"];
/// The values of any form in a file, beside one for each [`BYTES_PER_VALUE`] of its text.
const FREE_VALUE_COUNT_MAX: usize = 1 << 18;
const BYTES_PER_VALUE: usize = 32;
/// The values that a list or an object within a field counts for, by the memory that it takes.
const CONTAINER_VALUE_COUNT: usize = 16;

/// A file that is no document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum DocumentError {
    /// The text is no JSON object.
    #[error("the file: {0}")]
    NoObject(String),
    /// A list, or an item of one.
    #[error("{place}: {reason}")]
    Item {
        /// The list and the place in it, such as `queues[3]`.
        place: String,
        reason: String,
    },
}

/// A list of a file.
struct List {
    key: &'static str,
    /// Whether each item belongs to a virtual host.
    is_of_hosts: bool,
    /// Reads an item, and adds it to the document.
    add: fn(&mut Document, Value) -> Result<(), String>,
}

const LISTS: [List; 10] = [
    List { key: "users", is_of_hosts: false, add: |to, item| add(&mut to.users, user_item(item)) },
    List {
        key: "vhosts",
        is_of_hosts: false,
        add: |to, item| add(&mut to.virtual_hosts, virtual_host_item(item)),
    },
    List { key: "permissions", is_of_hosts: true, add: |to, item| add(&mut to.permissions, item) },
    List {
        key: "topic_permissions",
        is_of_hosts: true,
        add: |to, item| add(&mut to.topic_permissions, item),
    },
    List {
        key: "global_parameters",
        is_of_hosts: false,
        add: |to, item| add(&mut to.global_parameters, item),
    },
    List { key: "parameters", is_of_hosts: true, add: add_parameter },
    List { key: "policies", is_of_hosts: true, add: |to, item| add(&mut to.policies, item) },
    List { key: "exchanges", is_of_hosts: true, add: |to, item| add(&mut to.exchanges, item) },
    List { key: "queues", is_of_hosts: true, add: add_queue },
    List { key: "bindings", is_of_hosts: true, add: |to, item| add(&mut to.bindings, item) },
];

impl Document {
    /// Reads a document. Items that do not say their virtual host belong to `virtual_host`: the import of one host.
    ///
    /// # Errors
    ///
    /// The text is no JSON object, an item lacks a key or has one of a wrong type, an item says no virtual host and none is given, or there is too much of
    /// any form.
    pub fn parse(text: &[u8], virtual_host: Option<&str>) -> Result<Document, DocumentError> {
        let mut reader = Reader {
            document: Document::default(),
            virtual_host,
            values_left: FREE_VALUE_COUNT_MAX + text.len() / BYTES_PER_VALUE,
            list: None,
            error: None,
        };
        let mut deserializer = Deserializer::from_slice(text);
        let read = deserializer.deserialize_any(&mut reader).and_then(|()| deserializer.end());
        match (read, reader.error, reader.list) {
            (Ok(()), ..) => Ok(reader.document),
            (Err(_), Some(error), _) => Err(error),
            (Err(error), None, Some(key)) if error.is_data() => Err(wrong(key, "not a list".into())),
            (Err(error), None, None) if error.is_data() => {
                Err(DocumentError::NoObject("not a JSON object".into()))
            }
            (Err(error), None, _) => Err(DocumentError::NoObject(error.to_string())),
        }
    }
}

/// A document that is read.
struct Reader<'a> {
    document: Document,
    virtual_host: Option<&'a str>,
    /// The values of any form that may still come.
    values_left: usize,
    /// The key of the list that is read.
    list: Option<&'static str>,
    /// The item that is wrong.
    error: Option<DocumentError>,
}

impl Reader<'_> {
    fn add(&mut self, list: &List, text: &str) -> Result<(), String> {
        if text.len() > ITEM_SIZE_MAX {
            return Err(format!("{} bytes, {ITEM_SIZE_MAX} at most may be", text.len()));
        }
        let mut item: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let values = FREE_FIELDS.iter().filter_map(|field| item.get(field)).map(value_count);
        self.values_left = self.values_left.checked_sub(values.sum()).ok_or("too many values")?;
        if let Some(object) = item.as_object_mut().filter(|_| list.is_of_hosts) {
            match (object.get("vhost"), self.virtual_host) {
                (_, Some(name)) => drop(object.insert("vhost".into(), name.into())),
                (None, None) => return Err("no vhost; import the file into one virtual host".into()),
                (Some(_), None) => {}
            }
        }
        (list.add)(&mut self.document, item)
    }
}

impl<'de> Visitor<'de> for &mut Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match LISTS.iter().find(|list| list.key == key) {
                Some(list) => map.next_value_seed(ListReader { reader: self, list })?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads one list.
struct ListReader<'a, 'b> {
    reader: &'a mut Reader<'b>,
    list: &'static List,
}

impl<'de> DeserializeSeed<'de> for ListReader<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.reader.list = Some(self.list.key);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ListReader<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    /// `null` is an empty list.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<(), S::Error> {
        let mut index = 0;
        while let Some(item) = items.next_element::<&RawValue>()? {
            if let Err(reason) = self.reader.add(self.list, item.get()) {
                self.reader.error = Some(wrong(&format!("{}[{index}]", self.list.key), reason));
                return Err(S::Error::custom("a wrong item"));
            }
            index += 1;
        }
        Ok(())
    }
}

fn add<T: DeserializeOwned>(list: &mut Vec<T>, item: Value) -> Result<(), String> {
    list.push(serde_json::from_value(item).map_err(|error| error.to_string())?);
    Ok(())
}

fn add_parameter(document: &mut Document, item: Value) -> Result<(), String> {
    let parameter: ParameterDefinition = serde_json::from_value(item).map_err(|error| error.to_string())?;
    if parameter.component == OPERATOR_POLICY {
        document.operator_policies.push(operator_policy(parameter)?);
    } else {
        document.parameters.push(parameter);
    }
    Ok(())
}

fn add_queue(document: &mut Document, item: Value) -> Result<(), String> {
    let queue: QueueDefinition = serde_json::from_value(item).map_err(|error| error.to_string())?;
    if !queue.name.0.starts_with(RESERVED_PREFIX) {
        document.queues.push(queue);
    }
    Ok(())
}

/// The values within a field. A field that is an object itself, as most are, costs nothing.
fn value_count(field: &Value) -> usize {
    fn within(value: &Value) -> usize {
        match value {
            Value::Array(_) | Value::Object(_) => CONTAINER_VALUE_COUNT + value_count(value),
            _ => 1,
        }
    }
    match field {
        Value::Array(items) => items.iter().map(within).sum(),
        Value::Object(fields) => fields.values().map(within).sum(),
        _ => 0,
    }
}

/// Tags of older files are one string, with commas. A hash without an algorithm is of the time of MD5.
fn user_item(mut item: Value) -> Value {
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
    item
}

/// A host's metadata are an object of their own since RabbitMQ 3.9. Its limits are a list where there are none.
fn virtual_host_item(mut item: Value) -> Value {
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
    item
}

/// Limits are an object, or a list of names and values.
fn tidy_limits(object: &mut Map<String, Value>) {
    if let Some(Value::Array(list)) = object.get("limits") {
        let pair = |item: &Value| Some((item.get("name")?.as_str()?.to_owned(), item.get("value")?.clone()));
        let limits: Map<String, Value> = list.iter().filter_map(pair).collect();
        object.insert("limits".into(), limits.into());
    }
}

fn operator_policy(parameter: ParameterDefinition) -> Result<PolicyDefinition, String> {
    let mut value = parameter.value;
    if let Some(object) = value.as_object_mut() {
        object.insert("vhost".into(), parameter.vhost.into());
        object.insert("name".into(), parameter.name.into());
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn wrong(place: &str, reason: String) -> DocumentError {
    DocumentError::Item { place: place.into(), reason }
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
        let text = |object: Map<String, Value>| serde_json::to_vec(&object).unwrap();
        let document = Document::parse(FILE.as_bytes(), None).unwrap();
        let mut expected = document.clone();
        // An export has no passwords.
        expected.users[2].password = None;
        let mut back = Document::parse(&text(document.to_object()), None).unwrap();
        back.users[2].definition.hashing_algorithm = None;
        assert_eq!(back, expected);
        let host = Document::parse(&text(document.to_object_of_host()), Some("elsewhere")).unwrap();
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
            ("{} x", "the file: trailing characters"),
            (r#"{"queues": [nonsense]}"#, "the file: expected ident"),
            (r#"{"queues": [[], {}]}"#, "queues[0]: invalid length 0"),
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

    #[test]
    fn null_is_an_empty_list_and_other_keys_are_passed_over() {
        let document = Document::parse(br#"{"queues": null, "x": [[[{}]]], "users": []}"#, None).unwrap();
        assert_eq!(document, Document::default());
    }

    /// Each item is small, and takes many times its text in memory.
    #[test]
    fn values_of_any_form_are_bounded() {
        let parameters = |value: &str, count: usize| {
            let item = format!(r#"{{"vhost":"","component":"","name":"","value":{value}}}"#);
            let text = format!(r#"{{"parameters":[{}]}}"#, vec![item; count].join(","));
            Document::parse(text.as_bytes(), None).map(|document| document.parameters.len())
        };
        let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        assert_eq!(parameters("{}", 10_000), Ok(10_000));
        assert_eq!(parameters(&list("0", 100_000), 2), Ok(2));
        for (item, count) in [("0", 100_000), ("{}", 10_000), (r#"{"":[]}"#, 5000), ("[[[[[[[]]]]]]]", 1500)]
        {
            let refused = parameters(&list(item, count), 4).unwrap_err().to_string();
            assert!(refused.ends_with("]: too many values"), "{item}: {refused}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(parameters(&deep, 1).unwrap_err().to_string().starts_with("parameters[0]: recursion limit"));
        let long = parameters(&format!("\"{}\"", "x".repeat(ITEM_SIZE_MAX)), 1).unwrap_err().to_string();
        assert!(long.ends_with("1048576 at most may be"), "{long}");
    }

    #[test]
    fn the_values_of_definitions_are_within_the_bound() {
        let arguments: Vec<String> = (0..8).map(|index| format!("\"x-argument-{index}\":{index}")).collect();
        let item = format!(
            r#"{{"name":"q","vhost":"/","durable":true,"auto_delete":false,"arguments":{{{}}}}}"#,
            arguments.join(",")
        );
        let text = format!(r#"{{"queues":[{}]}}"#, vec![item; 50_000].join(","));
        assert_eq!(Document::parse(text.as_bytes(), None).unwrap().queues.len(), 50_000);
    }
}
