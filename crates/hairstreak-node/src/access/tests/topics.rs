//! Topic permissions and their variables.

use super::*;

const ALL: [&str; 3] = [".*", ".*", ".*"];

/// Returns true if the user may publish with that key when `pattern` is the pattern for writing.
fn may_publish(user: &str, pattern: &str, key: &[u8]) -> bool {
    let access = access();
    access.add(user, "secret");
    access.permit(user, "/", ALL);
    access.permit_topics(user, "amq.topic", pattern, "");
    let permissions = access.identity(user).permissions("/").unwrap();
    permissions.allows_topic(Operation::Write, b"amq.topic", key)
}

#[test]
fn only_exchanges_with_a_row_are_looked_at() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    access.permit_topics("alice", "amq.topic", "^write", "^read");
    let permissions = access.identity("alice").permissions("/").unwrap();
    for (operation, exchange, key, expected) in [
        (Operation::Write, &b"amq.topic"[..], &b"write.a"[..], true),
        (Operation::Write, b"amq.topic", b"read.a", false),
        (Operation::Read, b"amq.topic", b"read.a", true),
        (Operation::Read, b"amq.topic", b"write.a", false),
        (Operation::Write, b"another", b"anything", true),
        (Operation::Read, b"another\xff", b"\xff", true),
        (Operation::Configure, b"amq.topic", b"anything", true),
    ] {
        assert_eq!(permissions.allows_topic(operation, exchange, key), expected, "{operation:?} {key:?}");
    }
}

#[test]
fn variables_stand_for_their_values_and_nothing_else() {
    for (user, pattern, key, expected) in [
        ("alice", r"^{username}\.", &b"alice.x"[..], true),
        ("alice", r"^{username}\.", b"bob.x", false),
        ("alice", r"^{vhost}-{username}$", b"/-alice", true),
        // RabbitMQ 3.10 takes the value for a pattern: there `l.m` may write to `lxm`, and `.*` to everything.
        ("l.m", "^{username}$", b"l.m", true),
        ("l.m", "^{username}$", b"lxm", false),
        (".*", "^{username}$", b"anything", false),
        (".*", "^{username}$", b".*", true),
        ("a|b", "^{username}$", b"b", false),
        ("é", "^{username}$", "é".as_bytes(), true),
        ("a b", "^[{username}]+$", b"a b", true),
        // AMQP has no client id.
        ("alice", r"^{client_id}\.", b"{client_id}.x", true),
        ("alice", r"^{client_id}\.", b"alice.x", false),
        ("alice", "^{user}$", b"{user}", true),
        ("alice", "^a{2}$", b"aa", true),
        // As in RabbitMQ the empty pattern is the empty key.
        ("alice", "", b"a", false),
        ("alice", "", b"", true),
        ("alice", ".*", b"\xff", true),
        ("{vhost}", "^{username}$", b"{vhost}", true),
    ] {
        assert_eq!(may_publish(user, pattern, key), expected, "{user} {pattern} {key:?}");
    }
}

#[test]
fn a_client_of_mqtt_has_an_id() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    access.permit_topics("alice", "amq.topic", r"^{client_id}\.", "^{username}$");
    let alice = access.identity("alice");
    for (client_id, key, expected) in [
        (&b"sensor.1"[..], &b"sensor.1.x"[..], true),
        (b"sensor.1", b"sensorx1.x", false),
        (b"\xff\x00", b"\xff\x00.x", true),
        (b"(", b"(.x", true),
        (b".*", b"anything.x", false),
    ] {
        let permissions = alice.permissions_of_client("/", client_id).unwrap();
        assert_eq!(permissions.allows_topic(Operation::Write, b"amq.topic", key), expected, "{client_id:?}");
    }
    assert!(alice.permissions_of_client("other", b"x").is_none());
}

#[test]
fn a_change_of_topic_permissions_counts_at_once() {
    let access = access();
    access.add("alice", "secret");
    access.permit("alice", "/", ALL);
    let mut cache = Rights::open(access.identity("alice"), "/").unwrap();
    assert!(cache.allows_topic(Operation::Write, b"amq.topic", b"a"));
    access.permit_topics("alice", "amq.topic", "^b", "");
    assert!(!cache.allows_topic(Operation::Write, b"amq.topic", b"a"));
    access.permit_topics("alice", "other", "^b", "");
    let cleared = access.clear_topic_permissions("alice", "/", Some("amq.topic")).unwrap();
    assert_eq!((cleared.len(), &*cleared[0].exchange), (1, "amq.topic"));
    assert!(cache.allows_topic(Operation::Write, b"amq.topic", b"a"));
    assert!(!cache.allows_topic(Operation::Write, b"other", b"a"));
    assert_eq!(access.clear_topic_permissions("alice", "/", None).unwrap().len(), 1);
    assert!(cache.allows_topic(Operation::Write, b"other", b"a"));
}
