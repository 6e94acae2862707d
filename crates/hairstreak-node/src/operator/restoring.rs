//! Restoring the stored definitions when a node starts, owners before their objects.
//!
//! A definition without its owner is dropped, with a warning: older nodes left such definitions behind. It is dropped only if the
//! data directory has the owner's kind. If the whole kind is missing, the file has lost it, and the start is refused: dropping
//! the rest would hide the damage.

use std::collections::HashSet;
use std::time::Instant;

use super::users;
use crate::definitions::{Change, Definition, Kind, Place};
use crate::node::{Node, from_definition};

/// Dropped definitions that are named in the log, each in a line.
const NAMED_COUNT_MAX: usize = 20;

/// Applies the definitions. `kinds` are the kinds in the data directory.
///
/// # Errors
///
/// The name of a definition that cannot take effect, and the reason.
pub(super) fn restore(node: &Node, mut definitions: Vec<Definition>, kinds: &[Kind]) -> Result<(), String> {
    definitions.sort_by_key(|definition| definition.place().kind);
    let mut owners = HashSet::new();
    let mut dropped = Vec::new();
    for definition in definitions {
        let (text, place) = (definition.describe(), definition.place());
        let wrong = |reason: String| format!("{text}: {reason}");
        let missing =
            definition.owners().into_iter().find(|(owner, _)| !is_there(node, &owners, owner, &definition));
        if let Some((owner, name)) = missing {
            if !kinds.contains(&owner.kind) {
                let list = owner.kind.name();
                return Err(wrong(format!("there is no {name}, and the file has lost all {list}")));
            }
            if dropped.len() < NAMED_COUNT_MAX {
                log::warn!("{text} is dropped: there is no {name}");
            }
            dropped.push(Change::Delete(place));
            continue;
        }
        take_effect(node, definition).map_err(wrong)?;
        if matches!(place.kind, Kind::VirtualHost | Kind::User | Kind::Exchange | Kind::Queue) {
            owners.insert(place);
        }
    }
    if dropped.len() > NAMED_COUNT_MAX {
        log::warn!("{} more definitions without an owner are dropped", dropped.len() - NAMED_COUNT_MAX);
    }
    // The start waits for this with all else that it changes.
    drop(node.journal.commit(&dropped));
    Ok(())
}

/// Returns true if an owner was restored, or is one of the exchanges that each virtual host has.
fn is_there(node: &Node, owners: &HashSet<Place>, owner: &Place, owned: &Definition) -> bool {
    if owners.contains(owner) {
        return true;
    }
    let Definition::Binding(binding) = owned else { return false };
    let Some(host) = node.hosts.find(&binding.vhost) else { return false };
    let state = host.lock();
    let mut ends = [&binding.source, &binding.destination].into_iter();
    owner.kind == Kind::Exchange
        && ends.any(|name| {
            *owner == Place::new(Kind::Exchange, &[binding.vhost.as_bytes(), &name.0])
                && state.host.topology().exchange(&name.0).is_some()
        })
}

/// Has a stored definition take effect. Returns the reason if it cannot.
fn take_effect(node: &Node, definition: Definition) -> Result<(), String> {
    let now = node.clock.millis(Instant::now());
    match definition {
        Definition::VirtualHost(host) => {
            node.add_host(&host.name);
            node.catalog.put(Definition::VirtualHost(host));
        }
        Definition::User(user) => users::restore(node, user).map_err(|error| error.to_string())?,
        Definition::Permission(row) => {
            users::restore_permission(node, row).map_err(|error| error.to_string())?;
        }
        Definition::TopicPermission(row) => {
            users::restore_topic_permission(node, row).map_err(|error| error.to_string())?;
        }
        definition @ (Definition::Exchange(_) | Definition::Queue(_) | Definition::Binding(_)) => {
            let Some((name, change)) = from_definition(definition) else { return Ok(()) };
            let host = node.hosts.find(&name).ok_or_else(|| format!("there is no vhost '{name}'"))?;
            let mut state = host.lock();
            let restored = state.host.restore(&change, now);
            host.note_memory(&mut state);
            restored.map_err(|refusal| refusal.to_string())?;
        }
        other => drop(node.catalog.put(other)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hairstreak_store::{DataDirectory, DefinitionStore, Kind as StoreKind, Write};
    use serde_json::{Value, json};

    use crate::config::NodeConfig;
    use crate::definitions::{Definition, Kind};
    use crate::node::Node;
    use crate::operator::{BootError, exchanges, open, policies, queues, users};

    /// A folder for a data directory, removed with the value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("hairstreak-restoring-{name}-{}", std::process::id());
            Folder(std::env::temp_dir().join(name))
        }

        fn open(&self) -> Result<Node, BootError> {
            open(&NodeConfig { data_dir: Some(self.0.clone()), ..NodeConfig::default() })
        }

        fn directory(&self) -> DataDirectory {
            DataDirectory::open(&self.0, &NodeConfig::default().node_name).unwrap()
        }

        /// Writes definitions as they are, whether or not they fit each other.
        fn write(&self, definitions: &[Definition]) {
            let (store, _) = DefinitionStore::open(&self.directory()).unwrap();
            let write = |definition: &Definition| {
                let place = definition.place();
                let value = Some(definition.encode());
                Write { kind: StoreKind::new(place.kind.number()), key: place.key, value }
            };
            store.submit(definitions.iter().map(write).collect(), |written| written.unwrap());
            store.close().unwrap();
        }

        /// Returns the number of definitions of a kind on disk.
        fn count(&self, kind: Kind) -> usize {
            let (_store, entries) = DefinitionStore::open(&self.directory()).unwrap();
            entries.iter().filter(|entry| entry.kind.number() == kind.number()).count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn queue(vhost: &str) -> Definition {
        let value =
            json!({"name": "q", "vhost": vhost, "durable": true, "auto_delete": false, "arguments": {}});
        Definition::Queue(read(value))
    }

    fn exchange(vhost: &str) -> Definition {
        let value =
            json!({"name": "x", "vhost": vhost, "type": "topic", "durable": true, "auto_delete": false});
        Definition::Exchange(read(value))
    }

    fn binding(vhost: &str, source: &str, destination: &str, kind: &str) -> Definition {
        let value =
            json!({"source": source, "vhost": vhost, "destination": destination, "destination_type": kind});
        Definition::Binding(read(value))
    }

    #[test]
    fn what_has_no_owner_is_dropped_from_memory_and_disk() {
        let folder = Folder::new("orphans");
        drop(folder.open().unwrap());
        let row = |user: &str, vhost: &str| json!({"user": user, "vhost": vhost, "configure": "", "write": "", "read": ""});
        let topic = json!({"user": "nobody", "vhost": "/", "exchange": "x", "write": "", "read": ""});
        let policy = json!({"vhost": "gone", "name": "p", "pattern": "", "definition": {"expires": 100_000}});
        let parameter = json!({"vhost": "gone", "component": "c", "name": "n", "value": 1});
        folder.write(&[
            queue("/"),
            exchange("/"),
            binding("/", "x", "q", "queue"),
            binding("/", "amq.direct", "q", "queue"),
            // From here on, each lacks an owner.
            queue("gone"),
            exchange("gone"),
            binding("gone", "x", "q", "queue"),
            binding("/", "gone", "q", "queue"),
            binding("/", "x", "gone", "queue"),
            binding("/", "x", "gone", "exchange"),
            Definition::Permission(read(row("guest", "gone"))),
            Definition::Permission(read(row("nobody", "/"))),
            Definition::TopicPermission(read(topic)),
            Definition::Policy(read(policy.clone())),
            Definition::OperatorPolicy(read(policy)),
            Definition::Parameter(read(parameter)),
            Definition::ConfiguredUser(read(json!({"name": "nobody", "is_default": false}))),
        ]);
        let node = folder.open().unwrap();
        assert_eq!(queues::all(&node, "/").unwrap().len(), 1);
        assert!(exchanges::find(&node, "/", b"x").is_ok());
        assert_eq!(users::permissions(&node).len(), 1);
        assert!(policies::all(&node, hairstreak_broker::policy::Scope::User).is_empty());
        node.journal.close().unwrap();
        drop(node);
        let counts = Kind::ALL.map(|kind| (kind, folder.count(kind)));
        let expected = Kind::ALL.map(|kind| match kind {
            Kind::Binding => (kind, 2),
            Kind::VirtualHost | Kind::User | Kind::Permission | Kind::Exchange | Kind::Queue => (kind, 1),
            // The mark of the default user.
            Kind::ConfiguredUser => (kind, 1),
            _ => (kind, 0),
        });
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_file_that_has_lost_all_owners_is_not_emptied() {
        let folder = Folder::new("lost");
        folder.write(&[queue("v")]);
        let said = folder.open().map(drop).unwrap_err().to_string();
        assert!(
            said.ends_with(
                ": queue 'q' in vhost 'v': there is no vhost 'v', and the file has lost all vhosts"
            ),
            "{said}"
        );
        assert_eq!(folder.count(Kind::Queue), 1);
    }

    #[test]
    fn a_start_tells_the_alarm_the_memory_of_all_hosts() {
        let folder = Folder::new("memory");
        let told_of = |node: &Node| {
            let hosts = node.hosts.all();
            let memory_bytes = hosts.iter().map(|host| host.lock().host.memory_bytes()).sum::<usize>();
            assert_eq!(node.account.alarm.bytes(), memory_bytes);
            memory_bytes
        };
        let node = folder.open().unwrap();
        let before = told_of(&node);
        let note = [(&b"note"[..], &"x".repeat(100_000).as_str().into())];
        let declaration = hairstreak_broker::queue::QueueDeclaration {
            log_id: 0,
            name: (*b"q").into(),
            is_durable: true,
            arguments: hairstreak_wire::amqp::EncodedTable::from_fields(note),
            ..Default::default()
        };
        drop(queues::declare(&node, "/", &declaration).unwrap());
        assert!(told_of(&node) > before + 100_000);
        node.journal.close().unwrap();
        drop(node);
        assert!(told_of(&folder.open().unwrap()) > before + 100_000);
    }

    #[test]
    fn a_deleted_virtual_host_leaves_nothing_behind() {
        use hairstreak_broker::view::BindingInfo;

        use crate::definitions::VirtualHostDefinition;
        use crate::operator::{bindings, virtual_hosts};

        let folder = Folder::new("deleted");
        let node = folder.open().unwrap();
        let before =
            |node: &Node| (exchanges::all(node, "/").unwrap().len(), queues::all(node, "/").unwrap().len());
        let expected = before(&node);
        let host = VirtualHostDefinition { name: "v".into(), ..VirtualHostDefinition::default() };
        drop(virtual_hosts::put(&node, host.clone(), Some("guest")).unwrap());
        for number in 0..3 {
            let name: Box<[u8]> = format!("n{number}").into_bytes().into();
            let declaration = hairstreak_broker::queue::QueueDeclaration {
                log_id: 0,
                name: name.clone(),
                is_durable: true,
                is_exclusive: false,
                is_auto_delete: false,
                arguments: Default::default(),
            };
            drop(queues::declare(&node, "v", &declaration).unwrap());
            let declaration = hairstreak_broker::exchange::ExchangeDeclaration {
                name: name.clone(),
                kind: (*b"topic").into(),
                is_durable: true,
                is_auto_delete: false,
                is_internal: false,
                arguments: Default::default(),
            };
            drop(exchanges::declare(&node, "v", &declaration).unwrap());
            let binding = BindingInfo {
                source: name.clone(),
                destination: name,
                is_to_exchange: false,
                routing_key: (*b"#").into(),
                arguments: Default::default(),
            };
            drop(bindings::bind(&node, "v", &binding).unwrap());
        }
        drop(virtual_hosts::delete(&node, "v").unwrap());
        node.journal.close().unwrap();
        drop(node);
        for kind in [Kind::Exchange, Kind::Queue, Kind::Binding] {
            assert_eq!(folder.count(kind), 0, "{kind:?}");
        }
        let node = folder.open().unwrap();
        drop(virtual_hosts::put(&node, host, None).unwrap());
        assert_eq!((before(&node), queues::all(&node, "v").unwrap().len()), (expected, 0));
    }
}
