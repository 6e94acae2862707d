//! The changes and lists of operators.

use super::*;

const KEYS: [&str; 2] =
    ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"];

fn permission(user: &str, virtual_host: &str) -> Permission {
    Permission { user: user.into(), virtual_host: virtual_host.into(), ..Permission::default() }
}

fn topic_permission(user: &str, virtual_host: &str, exchange: &str) -> TopicPermission {
    TopicPermission {
        user: user.into(),
        virtual_host: virtual_host.into(),
        exchange: exchange.into(),
        ..TopicPermission::default()
    }
}

fn texts<T>(items: Vec<T>, text: impl Fn(&T) -> String) -> Vec<String> {
    items.iter().map(text).collect()
}

#[test]
fn a_change_leaves_what_it_does_not_name() {
    let access = access();
    let limits = UserLimits { connections: Some(5), channels: None };
    let update = UserUpdate {
        password_hash: Some(hash("secret")),
        tags: Some(Tags::from_text("administrator, x").unwrap()),
        limits: Some(limits),
        curve: Some(Some(KEYS[0].parse().unwrap())),
    };
    let change = access.put_user("alice", update).unwrap();
    assert_eq!((change.before, Some(change.after.clone())), (None, access.user("alice")));
    access.set_permission(permission("alice", "/")).unwrap();

    let update = UserUpdate { tags: Some(Tags::default()), ..UserUpdate::default() };
    let second = access.put_user("alice", update).unwrap();
    assert_eq!(second.before, Some(change.after.clone()));
    assert_eq!(second.after, User { tags: Tags::default(), ..change.after });
    assert_eq!(access.permissions(Some("alice"), None).len(), 1);

    let update =
        UserUpdate { password_hash: Some(PasswordHash::none()), curve: Some(None), ..UserUpdate::default() };
    let third = access.put_user("alice", update).unwrap().after;
    assert_eq!((third.password_hash.is_none(), third.curve, third.limits), (true, None, limits));
}

#[test]
fn each_change_is_a_generation_and_a_failed_one_is_none() {
    let access = access();
    access.add("alice", "secret");
    let generation = access.generation();
    for failed in [
        access.delete_user("bob").is_err(),
        access.put_user("", UserUpdate::default()).is_err(),
        access.set_permission(permission("bob", "/")).is_err(),
        access.set_permission(permission("alice", "nowhere")).is_err(),
        access.remove_virtual_host("nowhere").is_none(),
        access.clear_topic_permissions("bob", "/", None).is_err(),
        access.set_user_limit("bob", UserLimit::Channels, Some(1)).is_err(),
    ] {
        assert!(failed);
    }
    assert_eq!(access.generation(), generation);
    access.set_permission(permission("alice", "/")).unwrap();
    access.set_topic_permission(topic_permission("alice", "/", "x")).unwrap();
    access.set_user_limit("alice", UserLimit::Channels, Some(1)).unwrap();
    access.clear_permission("alice", "/").unwrap();
    access.delete_user("alice").unwrap();
    assert_eq!(access.generation(), generation + 5);
}

#[test]
fn what_is_missing_is_named() {
    let access = access();
    access.add("alice", "secret");
    let said = |error: AccessError| error.to_string();
    assert_eq!(access.delete_user("bob").map_err(said), Err("no such user: 'bob'".into()));
    assert_eq!(
        access.set_permission(permission("bob", "/")).map_err(said),
        Err("no such user: 'bob'".into())
    );
    let nowhere = Err("no such virtual host: 'nowhere'".into());
    assert_eq!(access.set_permission(permission("alice", "nowhere")).map_err(said), nowhere);
    assert_eq!(access.clear_permission("alice", "/").map_err(said), Ok(None));
    assert_eq!(access.clear_permission("bob", "/").map_err(said), Err("no such user: 'bob'".into()));
    let long = "x".repeat(256);
    let size = Err("the name of a user has 1 to 255 bytes, this has 256".into());
    assert_eq!(access.put_user(&long, UserUpdate::default()).map(|_| ()).map_err(said), size);
    assert!(access.put_user(&long[1..], UserUpdate::default()).is_ok());
    let size = Err("the name of a exchange has 1 to 255 bytes, this has 256".into());
    assert_eq!(access.set_topic_permission(topic_permission("alice", "/", &long)).map_err(said), size);
    assert!(access.set_topic_permission(topic_permission("alice", "/", "")).is_ok());
}

#[test]
fn rows_replace_each_other_and_are_listed_in_order() {
    let access = access();
    for name in ["bob", "alice"] {
        access.add(name, "secret");
        for host in ["other", "/"] {
            assert_eq!(access.set_permission(permission(name, host)).unwrap(), None);
            for exchange in ["b", "a"] {
                access.set_topic_permission(topic_permission(name, host, exchange)).unwrap();
            }
        }
    }
    let replaced = access.set_permission(Permission { read: "x".into(), ..permission("bob", "/") }).unwrap();
    assert_eq!(replaced, Some(permission("bob", "/")));
    let rows = |user, host| {
        texts(access.permissions(user, host), |row| format!("{} {}", row.user, row.virtual_host))
    };
    assert_eq!(rows(None, None), ["alice /", "alice other", "bob /", "bob other"]);
    assert_eq!(rows(Some("bob"), None), ["bob /", "bob other"]);
    assert_eq!(rows(None, Some("/")), ["alice /", "bob /"]);
    assert_eq!(rows(Some("bob"), Some("other")), ["bob other"]);
    assert_eq!(rows(Some("nobody"), None), [""; 0]);
    let rows = |user, host| {
        texts(access.topic_permissions(user, host), |row| format!("{} {}", row.virtual_host, row.exchange))
    };
    assert_eq!(rows(Some("bob"), None), ["/ a", "/ b", "other a", "other b"]);
    assert_eq!(rows(Some("alice"), Some("other")), ["other a", "other b"]);

    let (_, revoked) = access.delete_user("bob").unwrap();
    assert_eq!((revoked.permissions.len(), revoked.topic_permissions.len()), (2, 4));
    assert_eq!((access.permissions(None, None).len(), access.topic_permissions(None, None).len()), (2, 4));
}

#[test]
fn long_lists_are_whole() {
    let access = access();
    for number in 0..1000 {
        access.put_user(&format!("{number:04}"), UserUpdate::default()).unwrap();
    }
    access.set_permission(permission("0512", "/")).unwrap();
    let names = texts(access.users(), |user| user.name.clone());
    assert_eq!(names, (0..1000).map(|number| format!("{number:04}")).collect::<Vec<_>>());
    assert_eq!(access.users_without_permissions().len(), 999);
    assert_eq!(access.user_views().len(), 1000);
    access.set_permission(permission("0999", "/")).unwrap();
    assert_eq!(access.remove_virtual_host("/").unwrap().permissions.len(), 2);
    assert_eq!(access.users_without_permissions().len(), 1000);
}

#[test]
fn what_is_restored_is_what_was_there() {
    let access = access();
    access.add("alice", "secret");
    access.set_permission(permission("alice", "/")).unwrap();
    access.set_topic_permission(topic_permission("alice", "other", "x")).unwrap();
    let definitions = AccessDefinitions {
        users: access.users(),
        virtual_hosts: vec!["/".into(), "other".into()],
        permissions: access.permissions(None, None),
        topic_permissions: access.topic_permissions(None, None),
    };
    let second = Access::start(AccessOptions::default()).unwrap();
    second.restore(definitions.clone()).unwrap();
    assert_eq!(second.users(), definitions.users);
    assert_eq!(second.permissions(None, None), definitions.permissions);
    assert_eq!(second.topic_permissions(None, None), definitions.topic_permissions);
    assert!(second.is_let_in("alice", "secret"));

    let half = AccessDefinitions { users: Vec::new(), ..definitions.clone() };
    assert!(matches!(second.restore(half), Err(AccessError::NoSuchUser { .. })));
    assert_eq!(second.users(), definitions.users);
}

#[test]
fn a_curve_key_logs_in_its_user() {
    let access = access();
    let [key, other] = KEYS.map(|key| key.parse().unwrap());
    let with = |key| UserUpdate { curve: Some(Some(key)), ..UserUpdate::default() };
    access.put_user("alice", with(key)).unwrap();
    assert_eq!(&**access.log_in_by_curve_key(&key, far()).unwrap().user(), "alice");
    assert_eq!(access.log_in_by_curve_key(&other, far()).unwrap_err(), LoginError::UnknownKey);

    let taken = access.put_user("bob", with(key)).unwrap_err();
    assert_eq!(taken.to_string(), "user 'alice' has that CURVE key");
    assert_eq!(access.user("bob"), None);
    // Once more for the same user, and another.
    access.put_user("alice", with(key)).unwrap();
    access.put_user("alice", with(other)).unwrap();
    assert!(access.log_in_by_curve_key(&key, far()).is_err());
    access.put_user("bob", with(key)).unwrap();
    access.delete_user("bob").unwrap();
    assert!(access.log_in_by_curve_key(&key, far()).is_err());
    assert_eq!(&**access.log_in_by_curve_key(&other, far()).unwrap().user(), "alice");
}

#[test]
fn tags_say_what_the_user_may_do_over_http() {
    for (text, may) in [
        ("", [false; 6]),
        ("unknown", [false; 6]),
        ("management", [true, false, false, false, false, false]),
        ("policymaker", [true, true, false, false, false, false]),
        ("monitoring", [true, false, true, false, false, false]),
        ("administrator", [true, true, true, true, false, false]),
        ("impersonator", [false, false, false, false, true, false]),
        ("protected, management", [true, false, false, false, false, true]),
    ] {
        let tags = Tags::from_text(text).unwrap();
        let said = [
            tags.may_manage(),
            tags.may_set_policies(),
            tags.may_monitor(),
            tags.may_administer(),
            tags.may_impersonate(),
            tags.is_protected(),
        ];
        assert_eq!(said, may, "{text}");
        assert_eq!(tags.sees_all_virtual_hosts(), tags.may_monitor());
    }
    let tags = Tags::from_text(" b, a,,b ,").unwrap();
    assert_eq!(tags.iter().collect::<Vec<_>>(), ["b", "a"]);
    let many: Vec<String> = (0..65).map(|number| number.to_string()).collect();
    assert!(Tags::from_names(many[1..].iter().map(|tag| &**tag)).is_ok());
    assert!(Tags::from_names(many.iter().map(|tag| &**tag)).is_err());
    assert!(Tags::from_text(&"x".repeat(255)).is_ok() && Tags::from_text(&"x".repeat(256)).is_err());
}

#[test]
fn kinds_of_argon2id_are_few() {
    let access = access();
    let put = |name: &str, passes| {
        let parameters = Argon2idParameters::new(8, passes).unwrap();
        let hash = PasswordHash::of(b"secret", HashingAlgorithm::Argon2id, parameters).unwrap();
        access.put_user(name, UserUpdate { password_hash: Some(hash), ..UserUpdate::default() })
    };
    for passes in 1..=4 {
        put(&format!("user{passes}"), passes).unwrap();
    }
    let refused = put("user5", 5).unwrap_err().to_string();
    assert_eq!(refused, "there are 4 sets of parameters of Argon2id, and no more are allowed");
    // Known kinds are allowed. A new kind may replace a kind with one user only.
    put("user5", 4).unwrap();
    assert!(put("user4", 6).is_err());
    put("user3", 6).unwrap();
    assert!(access.is_let_in("user3", "secret") && access.is_let_in("user4", "secret"));
}
