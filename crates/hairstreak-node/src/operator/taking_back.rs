//! Taking back in memory the changes that could not be written: a refused change does not exist, neither now nor after a restart.
//!
//! A new object is deleted as an operator would delete it. A changed object gets its earlier state. Objects that were deleted
//! since are ignored.

use std::sync::Arc;

use hairstreak_broker::change::Change as Recorded;
use hairstreak_broker::policy::Scope;

use super::taking_effect::{apply_definition, apply_policy};
use super::users::{self, By};
use super::{bindings, exchanges, policies, queues, virtual_hosts};
use crate::definitions::{Change, Definition};
use crate::node::{Node, from_definition};

/// Has refused changes of a node taken back from here on.
pub fn take_back_what_fails(node: &Arc<Node>) {
    let weak = Arc::downgrade(node);
    node.journal.set_take_back(Box::new(move |definition, before| {
        // A dropped node has nothing in memory.
        let Some(node) = weak.upgrade() else { return };
        match before {
            None => delete(&node, definition),
            Some(before) => put_back(&node, before),
        }
    }));
}

/// Deletes a definition that was new.
fn delete(node: &Node, definition: &Definition) {
    // An object may be gone already with its owner, and no caller waits for the outcome of a deletion.
    let _ = match definition {
        Definition::VirtualHost(host) => {
            let _changing = node.changing.lock();
            virtual_hosts::remove(node, &host.name).map(drop)
        }
        Definition::User(user) => users::delete(node, &user.name, By::Node).map(drop),
        Definition::Permission(row) => {
            users::clear_permission(node, &row.vhost, &row.user, By::Node).map(drop)
        }
        Definition::TopicPermission(row) => {
            let exchange = Some(&*row.exchange);
            users::clear_topic_permissions(node, &row.vhost, &row.user, exchange, By::Node).map(drop)
        }
        Definition::Exchange(exchange) => {
            exchanges::delete(node, &exchange.vhost, &exchange.name.0, false).map(drop)
        }
        Definition::Queue(queue) => queues::delete(node, &queue.vhost, &queue.name.0, false, false).map(drop),
        Definition::Binding(_) => match from_definition(definition.clone()) {
            Some((host, Recorded::Bound(binding))) => bindings::unbind(node, &host, &binding).map(drop),
            _ => Ok(()),
        },
        Definition::Policy(policy) => {
            policies::delete(node, Scope::User, &policy.vhost, &policy.name).map(drop)
        }
        Definition::OperatorPolicy(policy) => {
            policies::delete(node, Scope::Operator, &policy.vhost, &policy.name).map(drop)
        }
        Definition::GlobalParameter(_) | Definition::Parameter(_) | Definition::ConfiguredUser(_) => {
            let _changing = node.changing.lock();
            let place = definition.place();
            node.catalog.remove(&place);
            drop(node.journal.commit(&[Change::Delete(place)]));
            Ok(())
        }
    };
}

/// Has a definition be as it was before.
fn put_back(node: &Node, before: Definition) {
    let _changing = node.changing.lock();
    node.journal.write_back(&before);
    let restored = match &before {
        Definition::User(user) => users::take_back(node, user.clone()),
        Definition::Permission(row) => users::restore_permission(node, row.clone()),
        Definition::TopicPermission(row) => users::restore_topic_permission(node, row.clone()),
        // Exchanges, queues and bindings are never replaced.
        _ => {
            node.catalog.put(before.clone());
            apply_to_host(node, &before);
            Ok(())
        }
    };
    if let Err(error) = restored {
        log::warn!("{} cannot be as before: {error}", before.describe());
    }
}

/// Has a restored definition act in its live host.
fn apply_to_host(node: &Node, definition: &Definition) {
    match definition {
        Definition::VirtualHost(host) => apply_definition(node, host),
        Definition::Policy(policy) => apply_policy(node, Scope::User, policy),
        Definition::OperatorPolicy(policy) => apply_policy(node, Scope::Operator, policy),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config::NodeConfig;
    use crate::definitions::read_document;
    use crate::operator::{definitions, importing, open};

    fn import(node: &Node, file: &Value) {
        let document = read_document(file.to_string().as_bytes(), None).unwrap();
        let imported = importing::import(node, document, By::Operator).unwrap();
        assert_eq!(imported.refusal(), None);
    }

    /// A definition of each kind, with values that say `variant`, of things called `name`.
    fn items(name: &str, variant: i64) -> Vec<(&'static str, Value)> {
        let row =
            json!({"user": "u", "vhost": "v", "configure": format!("^{variant}"), "write": "", "read": ""});
        let topic =
            json!({"user": "u", "vhost": "v", "exchange": name, "write": format!("^{variant}"), "read": ""});
        let policy =
            json!({"vhost": "v", "name": name, "pattern": "^a", "definition": {"max-length": variant}});
        let operator = json!({"vhost": "v", "component": "operator_policy", "name": name,
            "value": {"pattern": "^a", "definition": {"max-length": variant}}});
        vec![
            (
                "users",
                json!({"name": name, "tags": format!("{variant}"), "limits": {"max-channels": variant}}),
            ),
            (
                "vhosts",
                json!({"name": name, "description": format!("{variant}"), "limits": {"max-queues": variant + 9}}),
            ),
            ("permissions", row),
            ("topic_permissions", topic),
            ("global_parameters", json!({"name": name, "value": variant})),
            ("parameters", json!({"vhost": "v", "component": "c", "name": name, "value": variant})),
            ("parameters", operator),
            ("policies", policy),
            ("exchanges", json!({"name": name, "vhost": "v", "type": "topic", "durable": true})),
            ("queues", json!({"name": name, "vhost": "v", "durable": true})),
            (
                "bindings",
                json!({"source": "amq.direct", "vhost": "v", "destination": "v", "destination_type": "queue",
                "routing_key": name}),
            ),
        ]
    }

    #[test]
    fn a_change_that_cannot_be_written_is_taken_back() {
        let path = std::env::temp_dir().join(format!("hairstreak-taking-back-{}", std::process::id()));
        let config = NodeConfig { data_dir: Some(path.clone()), ..NodeConfig::default() };
        let node = Arc::new(open(&config).unwrap());
        take_back_what_fails(&node);
        import(
            &node,
            &json!({"users": [{"name": "u"}, {"name": "w"}], "vhosts": [{"name": "v"}, {"name": "w"}]}),
        );
        for (list, item) in items("v", 1) {
            import(&node, &json!({list: [item]}));
        }
        let exported = |node: &Node| definitions::export(node, None).unwrap();
        let before = exported(&node);
        // From here on no change is written, as on a full disk.
        node.journal.close().unwrap();
        for (name, variant) in [("new", 1), ("v", 2)] {
            for (list, item) in items(name, variant) {
                import(&node, &json!({list: [item]}));
                node.journal.flush().unwrap_err();
                assert_eq!(exported(&node), before, "{list} {name}");
            }
        }
        // Several changes at once, each of which depends on the one before.
        let host = json!({"name": "new"});
        let queue = json!({"name": "q", "vhost": "new", "durable": true});
        let file = json!({"vhosts": [host], "queues": [queue]}).to_string();
        // The host may be deleted already when the queue comes.
        let document = read_document(file.as_bytes(), None).unwrap();
        drop(importing::import(&node, document, By::Operator).unwrap());
        for variant in [3, 4] {
            import(&node, &json!({"policies": [items("v", variant)[7].1.clone()]}));
        }
        node.journal.flush().unwrap_err();
        assert_eq!(exported(&node), before);
        drop(node);
        std::fs::remove_dir_all(path).unwrap();
    }
}
