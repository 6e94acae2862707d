//! Reading a file of definitions, item by item.
//!
//! An invalid item is left out, with its place and the reason; the rest is read. A null field counts as missing.
//!
//! Memory stays in proportion to the file. An item is read on its own. Arguments, definitions of policies and values of
//! parameters have any form. An empty object, of two bytes, may take hundreds of bytes there. The values of such forms in all
//! items together are bounded, and too many end the reading.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};
use thiserror::Error;

use super::document::Document;
use super::fields::Fields;
use super::items;
use super::json_text::JsonText;

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
pub enum DocumentError {
    /// The text is no JSON object.
    #[error("the file: {0}")]
    NoObject(String),
    /// A list, or an item of one.
    #[error("{place}: {reason}")]
    Item {
        /// The list and the place in it, such as `queues[3]`.
        place: String,
        /// The reason.
        reason: String,
    },
}

/// A list of a file.
struct List {
    key: &'static str,
    /// True if each item belongs to a virtual host.
    is_of_hosts: bool,
    /// Reads an item, and adds it to the document.
    add: fn(&mut Document, &Fields) -> Result<(), String>,
}

const LISTS: [List; 10] = [
    List { key: "users", is_of_hosts: false, add: items::user },
    List { key: "vhosts", is_of_hosts: false, add: items::virtual_host },
    List { key: "permissions", is_of_hosts: true, add: items::permission },
    List { key: "topic_permissions", is_of_hosts: true, add: items::topic_permission },
    List { key: "global_parameters", is_of_hosts: false, add: items::global_parameter },
    List { key: "parameters", is_of_hosts: true, add: items::parameter },
    List { key: "policies", is_of_hosts: true, add: items::policy },
    List { key: "exchanges", is_of_hosts: true, add: items::exchange },
    List { key: "queues", is_of_hosts: true, add: items::queue },
    List { key: "bindings", is_of_hosts: true, add: items::binding },
];

/// Reads a document. Items without a virtual host belong to `virtual_host`: the import of one host.
///
/// # Errors
///
/// The text is no JSON object, or there is too much of any form.
pub fn read_document(text: &[u8], virtual_host: Option<&str>) -> Result<Document, DocumentError> {
    let mut reader = Reader {
        document: Document::default(),
        virtual_host,
        values_left: FREE_VALUE_COUNT_MAX + text.len() / BYTES_PER_VALUE,
        error: None,
    };
    let text = JsonText::new(text);
    let mut deserializer = Deserializer::from_slice(text.bytes());
    let read = deserializer.deserialize_any(&mut reader).and_then(|()| deserializer.end());
    match (read, reader.error) {
        (Ok(()), _) => Ok(reader.document),
        (Err(_), Some(error)) => Err(error),
        (Err(error), None) if error.is_data() => Err(DocumentError::NoObject("not a JSON object".into())),
        (Err(error), None) => Err(DocumentError::NoObject(text.explain(&error))),
    }
}

/// A document that is read.
struct Reader<'a> {
    document: Document,
    virtual_host: Option<&'a str>,
    /// The values of any form that may still come.
    values_left: usize,
    /// The item that ends the reading.
    error: Option<DocumentError>,
}

/// Reason for which an item is not in the document.
enum Missed {
    /// The item is no object, and RabbitMQ passes over it.
    NoItem,
    Refused(String),
    /// Nothing more is read.
    TooMuch,
}

impl From<String> for Missed {
    fn from(reason: String) -> Missed {
        Missed::Refused(reason)
    }
}

impl Reader<'_> {
    fn add(&mut self, list: &List, text: &str) -> Result<(), Missed> {
        if text.len() > ITEM_SIZE_MAX {
            return Err(format!("{} bytes, {ITEM_SIZE_MAX} at most may be", text.len()).into());
        }
        let Value::Object(mut object) = serde_json::from_str(text).map_err(|error| error.to_string())? else {
            return Err(Missed::NoItem);
        };
        let values = FREE_FIELDS.iter().filter_map(|field| object.get(*field)).map(value_count);
        self.values_left = self.values_left.checked_sub(values.sum()).ok_or(Missed::TooMuch)?;
        // The value of a parameter may be null.
        object.retain(|key, value| !value.is_null() || key == "value");
        if list.is_of_hosts {
            match (object.get("vhost"), self.virtual_host) {
                (_, Some(name)) => drop(object.insert("vhost".into(), name.into())),
                (None, None) => {
                    return Err("no vhost; import the file into one virtual host".to_owned().into());
                }
                (Some(_), None) => {}
            }
        }
        Ok((list.add)(&mut self.document, &Fields(object))?)
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

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.refuse()
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.refuse()
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.refuse()
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.refuse()
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.refuse()
    }

    fn visit_map<M: MapAccess<'de>>(self, mut fields: M) -> Result<(), M::Error> {
        let mut is_empty = true;
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            is_empty = false;
        }
        // Some tools write an empty list so.
        if is_empty { Ok(()) } else { self.refuse() }
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<(), S::Error> {
        let mut index = 0;
        while let Some(item) = items.next_element::<&RawValue>()? {
            let place = || format!("{}[{index}]", self.list.key);
            match self.reader.add(self.list, item.get()) {
                Ok(()) => {}
                Err(Missed::NoItem) => {
                    self.reader.document.passed_over.note(|| format!("{}: not an object", place()));
                }
                Err(Missed::Refused(reason)) => {
                    self.reader.document.refused.note(|| format!("{}: {reason}", place()));
                }
                Err(Missed::TooMuch) => {
                    let reason = "too many values".into();
                    self.reader.error = Some(DocumentError::Item { place: place(), reason });
                    return Err(S::Error::custom("a wrong item"));
                }
            }
            index += 1;
        }
        Ok(())
    }
}

impl ListReader<'_, '_> {
    fn refuse<E>(self) -> Result<(), E> {
        self.reader.document.refused.note(|| format!("{}: not a list", self.list.key));
        Ok(())
    }
}

/// Returns the number of values within a field. A field that is an object itself, as most are, does not count.
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

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::definitions::{Kind, LeftOut};

    const FILE: &str = r#"{
      "rabbit_version": "3.10.8",
      "users": [
        {"name": "old", "password_hash": "XBHuScw/FojuJDHeNOSDzUhr0Qo=", "tags": "management, policymaker"},
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
        let document = read_document(FILE.as_bytes(), None).unwrap();
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
        let document = read_document(FILE.as_bytes(), None).unwrap();
        let mut expected = document.clone();
        // An export has no passwords.
        expected.users[2].password = None;
        expected.passed_over = LeftOut::default();
        let mut back = read_document(&text(document.to_object()), None).unwrap();
        back.users[2].definition.hashing_algorithm = None;
        assert_eq!(back, expected);
        let host = read_document(&text(document.to_object_of_host()), Some("elsewhere")).unwrap();
        assert!(host.users.is_empty() && host.virtual_hosts.is_empty());
        assert_eq!((&*host.queues[0].vhost, &*host.operator_policies[0].vhost), ("elsewhere", "elsewhere"));
    }

    #[test]
    fn a_sorted_document_does_not_tell_in_which_order_things_came() {
        // Unknown keys of a list are ignored.
        let item = |name: &str| {
            json!({"name": name, "vhost": name, "user": name, "configure": "", "write": "", "read": "", "exchange": name,
                "component": name, "value": 1, "pattern": "", "definition": {}, "type": "topic", "durable": true,
                "auto_delete": false, "source": "x", "destination": "q", "destination_type": "queue", "routing_key": name})
        };
        let document = |names: [&str; 3]| {
            let lists = Kind::ALL.map(|kind| (kind.name().to_owned(), names.map(item).to_vec().into()));
            let text = Value::Object(lists.into_iter().collect()).to_string();
            let mut document = read_document(text.as_bytes(), None).unwrap();
            document.sort();
            document
        };
        let sorted = document(["a", "aa", "b"]);
        assert_eq!(document(["b", "a", "aa"]), sorted);
        let names: Vec<_> = sorted.bindings.iter().map(|binding| binding.routing_key.text()).collect();
        assert_eq!((names, sorted.users.len()), (vec!["a".into(), "aa".into(), "b".into()], 3));
    }

    #[test]
    fn a_text_that_is_no_file_is_refused_with_the_place() {
        for (text, expected) in [
            ("[]", "the file: not a JSON object"),
            ("{", "the file: EOF while parsing an object at line 1 column 1"),
            ("{}\n x", "the file: trailing characters at line 2 column 2"),
            (r#"{"queues": [nonsense]}"#, "the file: expected ident at line 1 column 14"),
        ] {
            assert_eq!(read_document(text.as_bytes(), None).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn an_item_that_is_wrong_is_named_and_the_rest_is_read() {
        let last = r#"{"name": "last", "vhost": "/", "durable": true}"#;
        for (item, expected) in [
            (r#"{"name": "q", "durable": true}"#, "no vhost; import the file into one virtual host"),
            (r#"{"name": [], "vhost": "/", "durable": true}"#, "name: not string: []"),
            (r#"{"vhost": "/", "durable": true}"#, "no name"),
            (r#"{"name": null, "vhost": "/", "durable": true}"#, "no name"),
            (r#"{"name": "q", "vhost": "/"}"#, "no durable"),
            (r#"{"name": "q", "vhost": "/", "durable": 1}"#, "durable: not boolean: 1"),
            (
                r#"{"name": "q", "vhost": "/", "durable": true, "arguments": [1]}"#,
                "arguments: not object: [1]",
            ),
        ] {
            let text = format!(r#"{{"queues": [{item}, {last}], "vhosts": [{{"name": "v"}}]}}"#);
            let document = read_document(text.as_bytes(), None).unwrap();
            assert_eq!(document.refused.lines, [format!("queues[0]: {expected}")], "{item}");
            assert_eq!((document.queues.len(), document.virtual_hosts.len()), (1, 1));
        }
        let document =
            read_document(br#"{"queues": 1, "users": "x", "vhosts": {"a": 1}, "bindings": {}}"#, None)
                .unwrap();
        assert_eq!(document.refused.lines, ["queues: not a list", "users: not a list", "vhosts: not a list"]);
        let document =
            read_document(br#"{"queues": [5, null, [], "x"], "users": [{}, {"name": "a"}]}"#, None).unwrap();
        assert_eq!(
            (document.passed_over.count, document.refused.lines, document.users.len()),
            (4, vec!["users[0]: no name".to_owned()], 1)
        );
        let text =
            r#"{"parameters": [{"vhost": "/", "component": "operator_policy", "name": "o", "value": {}}]}"#;
        let document = read_document(text.as_bytes(), None).unwrap();
        assert_eq!(document.refused.lines, ["parameters[0]: no pattern"]);
        let many = format!(r#"{{"users": [{}{{}}]}}"#, "{},".repeat(100_000));
        let refused = read_document(many.as_bytes(), None).unwrap().refused;
        assert_eq!((refused.count, refused.lines.len()), (100_001, LeftOut::NAMED_COUNT_MAX));
    }

    #[test]
    fn values_are_read_in_each_form_and_null_is_none() {
        let text = r#"{
          "exchanges": [{"name": "x", "vhost": "/", "type": "fanout", "durable": "true", "auto_delete": null, "internal": "false", "arguments": null}],
          "queues": [{"name": "q", "vhost": "/", "type": null, "durable": "false", "auto_delete": "true", "arguments": []}],
          "bindings": [{"source": "x", "vhost": "/", "destination": "q", "destination_type": "queue", "routing_key": null}],
          "users": [{"name": "u", "tags": null, "limits": {"max-channels": "5"}, "password_hash": null},
            {"name": "w", "tags": "a, b", "limits": []}],
          "vhosts": [{"name": "v", "metadata": null, "tags": "a,b", "limits": null, "description": null, "protected_from_deletion": "true"}],
          "policies": [{"vhost": "/", "name": "p", "pattern": "", "definition": {"expires": 1}, "priority": "7", "apply-to": null}],
          "parameters": [{"vhost": "/", "component": "c", "name": "n", "value": null}]
        }"#;
        let document = read_document(text.as_bytes(), None).unwrap();
        assert_eq!(document.refused.lines, [""; 0]);
        let (exchange, queue) = (&document.exchanges[0], &document.queues[0]);
        assert_eq!((exchange.durable, exchange.auto_delete, exchange.internal), (true, false, false));
        assert_eq!((queue.durable, queue.auto_delete, queue.kind.as_deref()), (false, true, None));
        let users: Vec<_> = document
            .users
            .iter()
            .map(|user| (user.definition.tags.len(), user.definition.limits.len()))
            .collect();
        assert_eq!(users, [(0, 1), (2, 0)]);
        let host = &document.virtual_hosts[0];
        assert_eq!((host.tags.len(), host.protected_from_deletion), (2, true));
        assert_eq!((document.policies[0].priority, &*document.policies[0].apply_to), (7, "all"));
        assert_eq!((document.parameters[0].value.clone(), document.bindings.len()), (Value::Null, 1));
    }

    #[test]
    fn an_editors_json_is_read() {
        let text = "\u{feff}// ours\n{'users': [{\"name\": \"a\",},], /* none */ \"queues\": [],}";
        assert_eq!(read_document(text.as_bytes(), None).unwrap().users.len(), 1);
    }

    #[test]
    fn null_is_an_empty_list_and_other_keys_are_passed_over() {
        let document = read_document(br#"{"queues": null, "x": [[[{}]]], "users": []}"#, None).unwrap();
        assert_eq!(document, Document::default());
    }

    /// Each item is small, and takes many times its text in memory.
    #[test]
    fn values_of_any_form_are_bounded() {
        let parameters = |value: &str, count: usize| {
            let item = format!(r#"{{"vhost":"","component":"","name":"","value":{value}}}"#);
            let text = format!(r#"{{"parameters":[{}]}}"#, vec![item; count].join(","));
            read_document(text.as_bytes(), None).map(|document| document.parameters.len())
        };
        let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
        assert_eq!(parameters("{}", 10_000), Ok(10_000));
        assert_eq!(parameters(&list("0", 100_000), 2), Ok(2));
        for (item, count) in [("0", 100_000), ("{}", 10_000), (r#"{"":[]}"#, 5000), ("[[[[[[[]]]]]]]", 1500)]
        {
            let refused = parameters(&list(item, count), 4).unwrap_err().to_string();
            assert!(refused.ends_with("]: too many values"), "{item}: {refused}");
        }
        let refused = |value: &str| {
            let text =
                format!(r#"{{"parameters":[{{"vhost":"","component":"","name":"","value":{value}}}]}}"#);
            read_document(text.as_bytes(), None).unwrap().refused.lines.remove(0)
        };
        let deep = refused(&("[".repeat(200) + &"]".repeat(200)));
        assert!(deep.starts_with("parameters[0]: recursion limit"), "{deep}");
        let long = refused(&format!("\"{}\"", "x".repeat(ITEM_SIZE_MAX)));
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
        assert_eq!(read_document(text.as_bytes(), None).unwrap().queues.len(), 50_000);
    }
}
