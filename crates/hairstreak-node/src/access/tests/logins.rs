//! Logins: admission, cost, and the memory of right logins.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::*;

fn invalid(user: &str) -> LoginError {
    LoginError::InvalidCredentials { user: user.into() }
}

/// Sets a password as RabbitMQ would hash it, or as we do.
fn set_password(access: &Access, name: &str, algorithm: HashingAlgorithm, parameters: Argon2idParameters) {
    let hash = PasswordHash::of(b"secret", algorithm, parameters).unwrap();
    access.put_user(name, UserUpdate { password_hash: Some(hash), ..UserUpdate::default() }).unwrap();
}

/// A user for each algorithm, and one without a password.
fn one_of_each(parameters: Argon2idParameters) -> Access {
    let access = access();
    for algorithm in HashingAlgorithm::ALL {
        set_password(&access, algorithm.name(), algorithm, parameters);
    }
    access.put_user("none", UserUpdate::default()).unwrap();
    access
}

const NAMES: [&str; 6] = [
    "hairstreak_argon2id",
    "rabbit_password_hashing_sha256",
    "rabbit_password_hashing_sha512",
    "rabbit_password_hashing_md5",
    "none",
    "nobody",
];

#[test]
fn a_right_password_lets_in_whatever_the_algorithm() {
    let access = one_of_each(cheap());
    for name in &NAMES[..4] {
        let identity = access.log_in_and_wait(name, "secret", far()).unwrap();
        assert_eq!(&**identity.user(), *name);
        assert_eq!(access.log_in_and_wait(name, "Secret", far()).unwrap_err(), invalid(name));
    }
    for name in &NAMES[4..] {
        assert_eq!(access.log_in_and_wait(name, "secret", far()).unwrap_err(), invalid(name));
    }
}

#[test]
fn ten_thousand_logins_of_a_user_cost_one_hash() {
    let access = access();
    access.add("alice", "secret");
    assert!(access.is_let_in("alice", "secret"));
    let hashes = access.login_figures().hashes;
    for _ in 0..10_000 {
        let login = access.log_in(b"alice", b"secret", far(), |_| panic!("the answer comes at once"));
        assert!(matches!(login, Login::Now(Ok(identity)) if &**identity.user() == "alice"));
    }
    let figures = access.login_figures();
    assert_eq!(
        figures,
        LoginFigures { succeeded: 10_001, failed: 0, postponed: 0, remembered: 10_000, hashes }
    );
    assert_eq!(hashes, 1);
}

#[test]
fn every_wrong_password_costs_the_same_hashes() {
    let access = one_of_each(cheap());
    for name in NAMES {
        for password in ["wrong", "wrong"] {
            let before = access.login_figures().hashes;
            assert!(!access.is_let_in(name, password));
            // One of each algorithm, for a second time as well: wrong passwords are not remembered.
            assert_eq!(access.login_figures().hashes - before, 4, "{name}");
        }
    }
}

#[test]
fn a_wrong_password_costs_no_hash_that_nobody_has() {
    let access = access();
    let hashes = |name: &str| {
        let before = access.login_figures().hashes;
        assert!(!access.is_let_in(name, "wrong"));
        access.login_figures().hashes - before
    };
    assert_eq!(hashes("nobody"), 0);
    set_password(&access, "alice", HashingAlgorithm::Sha256, cheap());
    set_password(&access, "bob", HashingAlgorithm::Argon2id, cheap());
    assert_eq!((hashes("nobody"), hashes("alice"), hashes("bob")), (2, 2, 2));
    set_password(&access, "bob", HashingAlgorithm::Sha256, cheap());
    assert_eq!((hashes("nobody"), hashes("alice")), (1, 1));
    access.delete_user("bob").unwrap();
    access.delete_user("alice").unwrap();
    assert_eq!(hashes("nobody"), 0);
}

#[test]
fn a_wrong_password_takes_the_same_time_for_every_user() {
    // Hashes of Argon2id that take milliseconds; one of RabbitMQ's takes microseconds.
    let access = one_of_each(Argon2idParameters::new(2048, 1).unwrap());
    // The minimum of many runs, taken in turns: other load on the machine lengthens some runs, and not all. On a busy machine
    // more rounds pass until each name ran once undisturbed. A user with shorter logins stays apart for ever.
    let mut least = [Duration::MAX; NAMES.len()];
    for round in 0..200 {
        for (name, least) in NAMES.into_iter().zip(&mut least) {
            let start = Instant::now();
            assert!(!access.is_let_in(name, &format!("wrong{round}")));
            *least = start.elapsed().min(*least);
        }
        let (shortest, longest) = (least.iter().min().unwrap(), least.iter().max().unwrap());
        if round >= 20 && *longest < 2 * *shortest {
            return;
        }
    }
    panic!("{least:?}");
}

#[test]
fn a_new_password_is_the_only_one() {
    let access = access();
    access.add("alice", "old");
    assert!(access.is_let_in("alice", "old") && access.is_let_in("alice", "old"));
    access.add("alice", "new");
    assert!(!access.is_let_in("alice", "old") && access.is_let_in("alice", "new"));
    access
        .put_user("alice", UserUpdate { password_hash: Some(PasswordHash::none()), ..UserUpdate::default() })
        .unwrap();
    assert!(!access.is_let_in("alice", "new"));
}

#[test]
fn a_change_that_leaves_the_password_leaves_the_memory() {
    let access = access();
    access.add("alice", "secret");
    assert!(access.is_let_in("alice", "secret"));
    let user = access.user("alice").unwrap();
    // The definitions of the node, imported again.
    access
        .put_user("alice", UserUpdate { password_hash: Some(user.password_hash), ..UserUpdate::default() })
        .unwrap();
    let tags = Tags::from_text("management").unwrap();
    access.put_user("alice", UserUpdate { tags: Some(tags), ..UserUpdate::default() }).unwrap();
    access.set_user_limit("alice", UserLimit::Channels, Some(1)).unwrap();
    let login = access.log_in(b"alice", b"secret", far(), |_| {});
    assert!(matches!(login, Login::Now(Ok(identity)) if identity.tags().may_manage()));
}

#[test]
fn a_deleted_user_is_not_remembered() {
    let access = access();
    access.add("alice", "secret");
    assert!(access.is_let_in("alice", "secret"));
    access.delete_user("alice").unwrap();
    assert!(!access.is_let_in("alice", "secret"));
    access.add("alice", "another");
    assert!(!access.is_let_in("alice", "secret"));
}

#[test]
fn what_is_remembered_is_the_pair() {
    let access = access();
    for (name, password) in [("ab", "c"), ("a", "xyz"), ("b", "c")] {
        access.add(name, password);
        assert!(access.is_let_in(name, password));
    }
    for (name, password) in [("a", "bc"), ("abc", "c"), ("a", "c"), ("ab", "xyz"), ("AB", "c"), ("ab", "c\0")]
    {
        assert!(!access.is_let_in(name, password), "{name} {password}");
    }
}

#[test]
fn guest_comes_from_this_host_only() {
    let access = access();
    access.add("guest", "guest");
    access.add("alice", "secret");
    let only = LoginError::LoopbackOnly { user: "guest".into() };
    // Hashed, and then remembered.
    for _ in 0..2 {
        assert_eq!(access.log_in_and_wait("guest", "guest", far()).unwrap_err(), only);
        assert_eq!(access.log_in_and_wait("guest", "wrong", far()).unwrap_err(), invalid("guest"));
        for peer in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert!(
                access.log_in_and_wait("guest", "guest", Peer::at(peer.parse().unwrap())).is_ok(),
                "{peer}"
            );
        }
        assert!(access.log_in_and_wait("guest", "guest", Peer::local()).is_ok());
        assert!(access.log_in_and_wait("alice", "secret", far()).is_ok());
    }
    for peer in ["::ffff:192.0.2.1", "2001:db8::1", "fe80::1", "0.0.0.0"] {
        assert_eq!(
            access.log_in_and_wait("guest", "guest", Peer::at(peer.parse().unwrap())).unwrap_err(),
            only
        );
    }
    assert_eq!(access.log_in_without_password(b"guest", far()).unwrap_err(), only);

    let rules = LoginRules { loopback_users: vec!["alice".into()], ..LoginRules::default() };
    access.set_login_rules(rules);
    assert!(access.is_let_in("guest", "guest") && !access.is_let_in("alice", "secret"));
}

#[test]
fn bad_names_and_passwords_cost_no_hash() {
    let access = access();
    access.add("alice", "secret");
    access.put_user("none", UserUpdate::default()).unwrap();
    let long_name = "x".repeat(256);
    let long_password = "x".repeat(PASSWORD_SIZE_MAX + 1);
    for (name, password) in
        [("alice", ""), ("none", ""), ("nobody", ""), (&*long_name, "x"), ("alice", &*long_password)]
    {
        assert!(!access.is_let_in(name, password));
    }
    assert_eq!(access.login_figures(), LoginFigures { failed: 5, ..LoginFigures::default() });
    let blank = access.log_in_and_wait("alice", "", far()).unwrap_err();
    assert_eq!(blank.to_string(), "user 'alice' attempted to log in with a blank password");
    assert!(!access.is_let_in("alice", &long_password[1..]));
}

#[test]
fn names_are_bytes() {
    let access = access();
    access.add("alice", "secret");
    let (sender, receiver) = mpsc::channel();
    let login = access.log_in(b"alice\xff", b"secret\xff", far(), move |result| sender.send(result).unwrap());
    assert!(matches!(login, Login::Later));
    let error = receiver.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "user 'alice\u{fffd}' - invalid credentials");
    assert!(access.log_in_without_password(b"alice\xff", far()).is_err());
    // A name that is not UTF-8 costs one hash, like any other unknown name.
    assert_eq!(access.login_figures().hashes, 1);
}

#[test]
fn certificates_and_nobody_at_all() {
    let access = access();
    access.put_user("alice", UserUpdate::default()).unwrap();
    assert_eq!(&**access.log_in_without_password(b"alice", far()).unwrap().user(), "alice");
    assert_eq!(access.log_in_without_password(b"bob", far()).unwrap_err(), invalid("bob"));
    assert_eq!(access.log_in_anonymously(far()).unwrap_err(), LoginError::NotAnonymous);
    access.set_login_rules(LoginRules { anonymous_user: Some("alice".into()), ..LoginRules::default() });
    assert_eq!(&**access.log_in_anonymously(far()).unwrap().user(), "alice");
    access.set_login_rules(LoginRules { anonymous_user: Some("bob".into()), ..LoginRules::default() });
    assert_eq!(access.log_in_anonymously(far()).unwrap_err(), invalid("bob"));
    assert_eq!(access.login_figures(), LoginFigures { succeeded: 2, failed: 3, ..LoginFigures::default() });
}

#[test]
fn a_panic_in_an_answer_costs_nobody_else() {
    let access = access();
    access.add("alice", "secret");
    assert!(matches!(access.log_in(b"alice", b"wrong", far(), |_| panic!("for the test")), Login::Later));
    assert!(access.is_let_in("alice", "secret"));
}

#[test]
fn the_end_of_the_node_answers_everybody() {
    let access = Arc::new(access());
    access.add("alice", "secret");
    let (sender, receiver) = mpsc::channel();
    for number in 0..100 {
        let sender = sender.clone();
        let password = format!("wrong{number}");
        let login =
            access.log_in(b"alice", password.as_bytes(), far(), move |result| sender.send(result).unwrap());
        assert!(matches!(login, Login::Later));
    }
    drop((access, sender));
    let answers: Vec<LoginResult> = receiver.iter().collect();
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|answer| answer.is_err()));
}

#[test]
fn an_answer_may_end_the_node() {
    let access = Arc::new(access());
    access.add("alice", "secret");
    let (sender, receiver) = mpsc::channel();
    let (begin, begun) = mpsc::channel::<()>();
    let held = Arc::clone(&access);
    let login = access.log_in(b"alice", b"secret", far(), move |result| {
        begun.recv().unwrap();
        // The last one: the hashing thread ends itself.
        assert_eq!(Arc::strong_count(&held), 1);
        drop(held);
        sender.send(result).unwrap();
    });
    assert!(matches!(login, Login::Later));
    drop(access);
    begin.send(()).unwrap();
    assert!(receiver.recv_timeout(PATIENCE).unwrap().is_ok());
}
