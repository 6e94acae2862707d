//! The index against a naive model: after any sequence of operations both say the same.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Added, Index, Limits, Removed, SubscriptionError};

const NO_LIMITS: Limits = Limits { count_max: usize::MAX, size_max: usize::MAX, bytes_max: usize::MAX };

/// How often each subscriber subscribed to each prefix.
#[derive(Default)]
struct Model(BTreeMap<(Vec<u8>, usize), u32>);

impl Model {
    fn others(&self, prefix: &[u8], subscriber: usize) -> bool {
        self.0.keys().any(|(p, s)| p == prefix && *s != subscriber)
    }

    fn subscribe(&mut self, subscriber: usize, prefix: &[u8]) -> Added {
        let others = self.others(prefix, subscriber);
        let count = self.0.entry((prefix.to_vec(), subscriber)).or_default();
        *count += 1;
        match (*count, others) {
            (2.., _) => Added::Again,
            (_, true) => Added::Another,
            _ => Added::First,
        }
    }

    fn cancel(&mut self, subscriber: usize, prefix: &[u8]) -> Removed {
        let key = (prefix.to_vec(), subscriber);
        let Some(count) = self.0.get_mut(&key) else { return Removed::Absent };
        *count -= 1;
        if *count > 0 {
            return Removed::Counted;
        }
        self.0.remove(&key);
        if self.others(prefix, subscriber) { Removed::OneOfSeveral } else { Removed::Last }
    }

    fn remove(&mut self, subscriber: usize) -> Vec<Vec<u8>> {
        let theirs = self.0.keys().filter(|key| key.1 == subscriber);
        let last = theirs.filter(|key| !self.others(&key.0, subscriber)).map(|key| key.0.clone()).collect();
        self.0.retain(|key, _| key.1 != subscriber);
        last
    }

    fn find(&self, message: &[u8]) -> Vec<usize> {
        let mut found: Vec<usize> =
            self.0.keys().filter(|key| message.starts_with(&key.0)).map(|key| key.1).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[derive(Clone, Debug)]
enum Step {
    Subscribe(usize, Vec<u8>),
    Cancel(usize, Vec<u8>),
    Remove(usize),
    Find(Vec<u8>),
}

/// Few letters, so that prefixes share much; now and then a long one.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let letters = || prop::sample::select(&b"ab\0\xff"[..]);
    prop_oneof![
        8 => prop::collection::vec(letters(), 0..6),
        1 => (prop::collection::vec(letters(), 0..3), prop::collection::vec(letters(), 0..3))
            .prop_map(|(front, back)| [&front[..], &[b'a'; 40], &back].concat()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..4, text()).prop_map(|(subscriber, prefix)| Step::Subscribe(subscriber, prefix)),
        3 => (0usize..4, text()).prop_map(|(subscriber, prefix)| Step::Cancel(subscriber, prefix)),
        1 => (0usize..4).prop_map(Step::Remove),
        4 => text().prop_map(Step::Find),
    ]
}

proptest! {
    #[test]
    fn the_index_says_what_the_model_says(steps in prop::collection::vec(step(), 1..200)) {
        let (mut index, mut model) = (Index::new(), Model::default());
        for step in steps {
            match step {
                Step::Subscribe(subscriber, prefix) => prop_assert_eq!(
                    index.subscribe(subscriber, &prefix, &NO_LIMITS),
                    Ok(model.subscribe(subscriber, &prefix))
                ),
                Step::Cancel(subscriber, prefix) => {
                    prop_assert_eq!(index.cancel(subscriber, &prefix), model.cancel(subscriber, &prefix));
                }
                Step::Remove(subscriber) => {
                    let mut last = Vec::new();
                    index.remove(subscriber, |prefix| last.push(prefix));
                    last.sort();
                    prop_assert_eq!(last, model.remove(subscriber));
                }
                Step::Find(message) => {
                    let mut found = Vec::new();
                    index.find(&message, &mut found);
                    found.sort_unstable();
                    let expected = model.find(&message);
                    prop_assert_eq!(index.is_wanted(&message), !expected.is_empty());
                    prop_assert_eq!(found, expected);
                }
            }
            index.check();
        }
        let mut prefixes: Vec<_> = index.prefixes().collect();
        prefixes.sort();
        let mut expected: Vec<_> = model.0.keys().map(|key| key.0.clone()).collect();
        expected.dedup();
        prop_assert_eq!(prefixes, expected);
        (0..4).for_each(|subscriber| index.remove(subscriber, |_| ()));
        prop_assert_eq!(index.node_count(), 1);
    }
}

#[test]
fn every_byte_may_follow_a_prefix_and_any_may_go_again() {
    let mut index = Index::new();
    let prefixes: Vec<Vec<u8>> = (0..=255).rev().map(|byte| vec![b'p', byte]).collect();
    for (size, prefix) in prefixes.iter().enumerate() {
        assert_eq!(index.subscribe(0, prefix, &NO_LIMITS), Ok(Added::First));
        let wanted = |prefix: &Vec<u8>| index.is_wanted(prefix);
        assert!(prefixes[..=size].iter().all(wanted) && !prefixes[size + 1..].iter().any(wanted));
        index.check();
    }
    for (size, prefix) in prefixes.iter().enumerate() {
        assert_eq!(index.cancel(0, prefix), Removed::Last);
        let wanted = |prefix: &Vec<u8>| index.is_wanted(prefix);
        assert!(prefixes[size + 1..].iter().all(wanted) && !prefixes[..=size].iter().any(wanted));
        index.check();
    }
    assert_eq!(index.node_count(), 1);
}

#[test]
fn every_limit_holds_at_its_bound_and_one_past_it() {
    let limits = Limits { count_max: 3, size_max: 5, bytes_max: 9 };
    let mut index = Index::new();
    let mut subscribe = |subscriber, prefix: &str| index.subscribe(subscriber, prefix.as_bytes(), &limits);
    assert_eq!(subscribe(0, "12345"), Ok(Added::First));
    assert_eq!(subscribe(0, "123456"), Err(SubscriptionError::TooLong(5)));
    assert_eq!(subscribe(0, "1234"), Ok(Added::First));
    assert_eq!(subscribe(0, "1"), Err(SubscriptionError::TooLarge(9)));
    assert_eq!(subscribe(0, "1234"), Ok(Added::Again), "no more memory");
    assert_eq!(subscribe(0, ""), Ok(Added::First));
    assert_eq!(subscribe(1, "a"), Ok(Added::First), "limits are each subscriber's own");
    assert_eq!(subscribe(1, "b"), Ok(Added::First));
    assert_eq!(subscribe(1, "12345"), Ok(Added::Another));
    assert_eq!(subscribe(1, "c"), Err(SubscriptionError::TooMany(3)));
    assert_eq!(index.cancel(1, b"a"), Removed::Last);
    assert_eq!(index.subscribe(1, b"c", &limits), Ok(Added::First));
    index.remove(0, |_| ());
    assert_eq!(index.subscribe(0, b"12345", &limits), Ok(Added::Another));
    index.check();
}
