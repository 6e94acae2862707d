//! Limits of users: connections and channels.

use super::*;

fn limit(access: &Access, limit: UserLimit, value: Option<i64>) {
    access.set_user_limit("alice", limit, value).unwrap();
}

#[test]
fn connections_and_channels_are_counted_with_rabbitmqs_texts() {
    let access = access();
    access.add("alice", "secret");
    limit(&access, UserLimit::Connections, Some(2));
    limit(&access, UserLimit::Channels, Some(3));
    // The count is the user's, not the login's.
    let [one, two] = [access.identity("alice"), access.identity("alice")];
    let (first, second) = (one.take_connection().unwrap(), two.take_connection().unwrap());
    assert_eq!(
        one.take_connection().unwrap_err().to_string(),
        "connection refused for user 'alice': user connection limit (2) is reached"
    );
    let channels =
        [first.take_channel().unwrap(), second.take_channel().unwrap(), second.take_channel().unwrap()];
    assert_eq!(
        first.take_channel().unwrap_err().to_string(),
        "number of channels opened for user 'alice' has reached the maximum allowed user limit of (3)"
    );
    let view = access.user_views().remove(0);
    assert_eq!((view.connection_count, view.channel_count), (2, 3));

    drop((first, channels));
    assert!(one.take_connection().is_ok() && second.take_channel().is_ok());
    drop(second);
    let view = access.user_views().remove(0);
    assert_eq!((view.connection_count, view.channel_count), (0, 0));
}

#[test]
fn zero_is_none_at_all_and_negative_is_no_limit() {
    let access = access();
    access.add("alice", "secret");
    let alice = access.identity("alice");
    for (value, expected) in
        [(None, true), (Some(0), false), (Some(-1), true), (Some(1), true), (Some(i64::MAX), true)]
    {
        limit(&access, UserLimit::Connections, value);
        assert_eq!(alice.take_connection().is_ok(), expected, "{value:?}");
        assert_eq!(access.user("alice").unwrap().limits.value(UserLimit::Connections), value);
    }
}

#[test]
fn a_lower_limit_closes_nothing() {
    let access = access();
    access.add("alice", "secret");
    let alice = access.identity("alice");
    let open: Vec<ConnectionSlot> = (0..5).map(|_| alice.take_connection().unwrap()).collect();
    limit(&access, UserLimit::Connections, Some(2));
    assert!(alice.take_connection().is_err());
    drop(open);
    assert!(alice.take_connection().is_ok());
}

#[test]
fn a_user_of_the_same_name_starts_from_zero() {
    let access = access();
    access.add("alice", "secret");
    limit(&access, UserLimit::Connections, Some(1));
    let slot = access.identity("alice").take_connection().unwrap();
    access.delete_user("alice").unwrap();
    access.add("alice", "secret");
    limit(&access, UserLimit::Connections, Some(1));
    let new = access.identity("alice").take_connection().unwrap();
    drop(slot);
    assert!(access.identity("alice").take_connection().is_err());
    drop(new);
    assert!(access.identity("alice").take_connection().is_ok());
}

#[test]
fn many_threads_take_no_more_than_there_is() {
    let access = access();
    access.add("alice", "secret");
    limit(&access, UserLimit::Connections, Some(100));
    let taken: usize = std::thread::scope(|scope| {
        let take = || {
            let alice = access.identity("alice");
            let slots: Vec<_> = (0..100).filter_map(|_| alice.take_connection().ok()).collect();
            let count = slots.len();
            // The places are not given back.
            std::mem::forget(slots);
            count
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(taken, 100);
}

#[test]
fn limits_have_rabbitmqs_names() {
    for limit in UserLimit::ALL {
        assert_eq!(UserLimit::from_name(limit.name()), Some(limit));
    }
    assert_eq!(UserLimit::from_name("max-queues"), None);
}
