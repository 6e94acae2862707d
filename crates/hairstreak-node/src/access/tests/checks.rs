//! Permissions: which names are allowed, and when a change counts.

use std::sync::Arc;

use hairstreak_testkit::until;

use super::*;

const ALL: [&str; 3] = [".*", ".*", ".*"];

#[test]
fn each_operation_has_its_pattern() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", [r"^(?!amq\.)", "^mine|^amq\\.default$", ""]);
    let permissions = access.identity("alice").permissions("/").unwrap();
    for (operation, name, expected) in [
        (Operation::Configure, &b"mine"[..], true),
        (Operation::Configure, b"amq.topic", false),
        (Operation::Write, b"mine-1", true),
        (Operation::Write, b"yours", false),
        // The default exchange.
        (Operation::Write, Resource::Exchange(b"").name(), true),
        (Operation::Configure, Resource::Exchange(b"").name(), false),
        // The empty pattern.
        (Operation::Read, b"mine", false),
        (Operation::Read, Resource::Exchange(b"").name(), false),
        // Names are bytes.
        (Operation::Configure, b"\xff\xfe", true),
        (Operation::Write, b"mine\xff", true),
        (Operation::Write, b"\xffmine", false),
    ] {
        assert_eq!(permissions.allows(operation, name), expected, "{operation:?} {name:?}");
    }
}

#[test]
fn a_virtual_host_without_a_row_is_closed() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ["", "", ""]);
    let alice = access.identity("alice");
    assert!(alice.permissions("/").is_some() && alice.may_access("/"));
    for host in ["other", "nowhere"] {
        assert!(alice.permissions(host).is_none() && !alice.may_access(host), "{host}");
        assert!(Rights::open(Arc::clone(&alice), host).is_none());
    }
    assert_eq!(alice.virtual_hosts(), ["/"]);
}

#[test]
fn a_pattern_that_is_none_allows_nothing() {
    let access = access();
    let permission = Permission {
        user: "alice".into(),
        virtual_host: "/".into(),
        configure: "(".into(),
        write: ".*".into(),
        read: ".*".into(),
    };
    access.add("alice", "secret");
    assert!(matches!(access.set_permission(permission.clone()), Err(AccessError::Pattern(_))));
    // From the disk.
    let definitions = AccessDefinitions {
        users: access.users(),
        virtual_hosts: vec!["/".into()],
        permissions: vec![permission],
        topic_permissions: Vec::new(),
    };
    access.restore(definitions).unwrap();
    let permissions = access.identity("alice").permissions("/").unwrap();
    assert!(
        !permissions.allows(Operation::Configure, b"a") && !permissions.allows(Operation::Configure, b"(")
    );
    assert!(permissions.allows(Operation::Write, b"a"));
}

#[test]
fn connections_of_a_user_share_compiled_permissions() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    let one = access.identity("alice").permissions("/").unwrap();
    assert!(Arc::ptr_eq(&one, &access.identity("alice").permissions("/").unwrap()));
    access.permit("alice", "/", ALL);
    assert!(!Arc::ptr_eq(&one, &access.identity("alice").permissions("/").unwrap()));
}

#[test]
fn a_cache_answers_by_the_permissions_of_now() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ["^mine", ".*", ".*"]);
    let mut cache = Rights::open(access.identity("alice"), "/").unwrap();
    for _ in 0..2 {
        assert!(cache.allows(Operation::Configure, b"mine") && !cache.allows(Operation::Configure, b"yours"));
    }
    access.permit("alice", "/", ["^yours", ".*", ".*"]);
    assert!(!cache.allows(Operation::Configure, b"mine") && cache.allows(Operation::Configure, b"yours"));
    access.clear_permission("alice", "/").unwrap();
    assert!(!cache.allows(Operation::Configure, b"yours") && !cache.allows(Operation::Read, b"yours"));
    access.permit("alice", "/", ALL);
    assert!(cache.allows(Operation::Configure, b"yours"));
}

#[test]
fn a_cache_tells_operations_names_and_keys_apart() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ["^c", "^(w|x)", "^r"]);
    access.permit_topics("alice", "x", "^key", "^ey");
    let mut cache = Rights::open(access.identity("alice"), "/").unwrap();
    let permissions = access.identity("alice").permissions("/").unwrap();
    let operations = [Operation::Configure, Operation::Write, Operation::Read];
    let names: Vec<String> = ["c", "w", "r", "x", "xk", "", "amq.default"]
        .into_iter()
        .flat_map(|name| (0..4).map(move |end| format!("{name}{}", &"aaa"[..end])))
        .collect();
    // Names and keys whose bytes are the same together, more of them than are kept, in an order that comes back to each.
    for round in 0..200 {
        let operation = operations[round % 3];
        let name = names[round * 7 % names.len()].as_bytes();
        let expected = permissions.allows(operation, name);
        assert_eq!(cache.allows(operation, name), expected, "{operation:?} {name:?}");
        let (exchange, key) =
            [(&b"x"[..], &b"key"[..]), (b"xk", b"ey"), (b"x", b"ey"), (b"", b"xkey")][round % 4];
        let expected = permissions.allows_topic(operation, exchange, key);
        assert_eq!(
            cache.allows_topic(operation, exchange, key),
            expected,
            "{operation:?} {exchange:?} {key:?}"
        );
        assert!(!cache.allows(Operation::Configure, b"xkey"));
    }
}

#[test]
fn a_cache_keeps_no_long_names() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ["^a+$", ".*", ".*"]);
    let mut cache = Rights::open(access.identity("alice"), "/").unwrap();
    let mut name = vec![b'a'; 10_000];
    assert!(cache.allows(Operation::Configure, &name) && cache.allows(Operation::Configure, &name));
    name[9_999] = b'b';
    assert!(!cache.allows(Operation::Configure, &name));
    assert!(format!("{cache:?}").len() < 10_000);
}

#[test]
fn a_deleted_user_is_allowed_nothing_also_if_there_is_a_new_one_of_that_name() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    let alice = access.identity("alice");
    let mut cache = Rights::open(Arc::clone(&alice), "/").unwrap();
    assert!(cache.allows(Operation::Read, b"q") && !alice.is_deleted());
    let (user, revoked) = access.delete_user("alice").unwrap();
    assert_eq!((&*user.name, revoked.permissions.len()), ("alice", 1));
    assert!(!cache.allows(Operation::Read, b"q") && alice.is_deleted());
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    assert!(!cache.allows(Operation::Read, b"q") && alice.is_deleted());
    assert!(alice.permissions("/").is_none() && alice.virtual_hosts().is_empty());
    assert!(access.identity("alice").permissions("/").is_some());
}

#[test]
fn a_virtual_host_that_goes_takes_its_permissions() {
    let access = access();
    for name in ["alice", "bob"] {
        access.add(name, "secret");
        access.permit(name, "/", ALL);
        access.permit(name, "other", ALL);
        access.permit_topics(name, "amq.topic", ".*", ".*");
    }
    let mut cache = Rights::open(access.identity("bob"), "/").unwrap();
    assert!(cache.allows(Operation::Read, b"q"));
    let revoked = access.remove_virtual_host("/").unwrap();
    assert_eq!((revoked.permissions.len(), revoked.topic_permissions.len()), (2, 2));
    assert!(!cache.allows(Operation::Read, b"q"));
    assert_eq!(access.remove_virtual_host("/"), None);
    // A new one of that name is closed.
    assert!(access.add_virtual_host("/"));
    assert!(access.identity("bob").permissions("/").is_none());
    assert!(access.topic_permissions(None, None).is_empty());
    assert_eq!(access.permissions(None, None).len(), 2);
}

#[test]
fn a_virtual_host_is_closed_before_its_last_permission_is_taken() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    let alice = access.identity("alice");
    let mut cache = Rights::open(Arc::clone(&alice), "/").unwrap();
    assert!(cache.allows(Operation::Read, b"q"));
    // The first step of the removal.
    access.state.change(|registry| registry.remove_virtual_host("/").then_some(()).ok_or(())).unwrap();
    assert!(!cache.allows(Operation::Read, b"q") && alice.permissions("/").is_none());
    assert!(!alice.may_access("/") && alice.virtual_hosts().is_empty());
}

#[test]
fn checks_see_a_change_of_another_thread_at_once() {
    let access = Arc::new(access());
    access.add("alice", "secret");
    access.permit("alice", "/", ["", "", ""]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut cache = Rights::open(access.identity("alice"), "/").unwrap();
                until("the change is seen", || cache.allows(Operation::Read, b"q"));
            });
        }
        access.permit("alice", "/", ["", "", "^q$"]);
    });
}
