//! Patterns whose messages are made or copied on their way, behind CURVE: subscriptions, publications to several
//! peers at once, envelopes.

use std::sync::atomic::{AtomicUsize, Ordering};

use hairstreak_socket::{Context, Message, Options, Pub, Rep, Req, Sub, SubscribeError, XPub, XSub};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::messages::{message, published};
use crate::relay::{Change, Relay};
use crate::roles::{MECHANISMS, Roles};

const COUNT: usize = 200;
/// Where a greeting tells the minor version.
const MINOR_AT: usize = 11;

#[test]
fn every_subscriber_gets_what_it_subscribed_to_however_it_is_secured() {
    for transport in ["tcp", "ipc", "shm", "inproc"] {
        for mechanism in MECHANISMS {
            let roles = Roles::new(mechanism);
            let publisher = XPub::with_options(&Context::new(), roles.server()).unwrap();
            let place = publisher.bind(&endpoint(transport)).unwrap().to_string();
            let subscribers = [(); 3].map(|()| {
                let subscriber = Sub::with_options(&Context::new(), roles.client()).unwrap();
                subscriber.subscribe("t").unwrap();
                subscriber.connect(&place).unwrap();
                subscriber
            });
            assert!(publisher.wait_for_subscribers_to("t", 3, LONG));
            for number in 0..COUNT {
                publisher.send_timeout(&published(number), LONG).unwrap();
                publisher.send_timeout("u: nobody subscribed to this", LONG).unwrap();
                for subscriber in &subscribers {
                    let got = subscriber.recv_timeout(LONG).unwrap();
                    assert_eq!(got, published(number), "{transport}, {mechanism}");
                }
            }
            let [first, ..] = &subscribers;
            assert!(first.unsubscribe("t").unwrap());
            first.subscribe("other").unwrap();
            assert!(publisher.wait_for_subscribers_to("other", 1, LONG));
            publisher.send_timeout("other", LONG).unwrap();
            assert_eq!(first.recv_timeout(LONG).unwrap().body(), b"other");
        }
    }
}

#[test]
fn questions_and_answers_keep_their_envelopes() {
    for transport in ["tcp", "ipc", "shm", "inproc"] {
        for mechanism in MECHANISMS {
            let roles = Roles::new(mechanism);
            let answers = Rep::with_options(&Context::new(), roles.server()).unwrap();
            let options = Options { req_correlate: true, ..roles.client() };
            let asks = Req::with_options(&Context::new(), options).unwrap();
            asks.connect(&answers.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
            for number in 0..COUNT {
                let question = Message::from_frames(message(number));
                asks.send_timeout(&question, LONG).unwrap();
                let got = answers.recv_timeout(LONG).unwrap();
                assert_eq!(got, question, "{transport}, {mechanism}");
                answers.send_timeout(&got, LONG).unwrap();
                assert_eq!(asks.recv_timeout(LONG).unwrap(), question, "{transport}, {mechanism}");
            }
        }
    }
}

/// Makes the connecting end one of ZMTP 3.0, as far as its greeting tells.
fn old() -> Box<Change> {
    let seen = AtomicUsize::new(0);
    Box::new(move |bytes| {
        let mut bytes = bytes.to_vec();
        let at = seen.fetch_add(bytes.len(), Ordering::Relaxed);
        if let Some(minor) = MINOR_AT.checked_sub(at).and_then(|at| bytes.get_mut(at)) {
            *minor = 0;
        }
        bytes
    })
}

/// Bytes between a subscriber and a publisher until the subscription is there.
fn bytes_to_subscribe(change: impl Fn() -> Box<Change> + Send + 'static) -> usize {
    let roles = Roles::new("curve");
    let subscriber = XSub::with_options(&Context::new(), roles.server()).unwrap();
    subscriber.subscribe("a secret topic").unwrap();
    let relay = Relay::changing(&subscriber.bind(&endpoint("tcp")).unwrap().to_string(), change);
    let publisher = Pub::with_options(&Context::new(), roles.client()).unwrap();
    publisher.connect(relay.place()).unwrap();
    assert!(publisher.wait_for_subscribers_to("a secret topic", 1, LONG));
    let heard = relay.heard();
    for text in ["a secret topic", "SUBSCRIBE"] {
        assert!(!heard.windows(text.len()).any(|window| window == text.as_bytes()), "{text}");
    }
    publisher.send_timeout("a secret topic", LONG).unwrap();
    assert_eq!(subscriber.recv_timeout(LONG).unwrap().body(), b"a secret topic");
    heard.len()
}

#[test]
fn a_subscription_is_sealed_as_a_command_or_for_an_old_publisher_as_a_message() {
    let as_command = bytes_to_subscribe(|| Box::new(<[u8]>::to_vec));
    let as_message = bytes_to_subscribe(old);
    assert_eq!(as_command - as_message, "\u{9}SUBSCRIBE".len() - "\u{1}".len());
}

#[test]
fn as_many_subscriptions_as_are_allowed_are_told_to_a_publisher_that_comes_late() {
    const PREFIX_COUNT: usize = 20_000;
    let roles = Roles::new("curve");
    let limits = |options| Options { send_bytes_max: 4096, subscription_count_max: PREFIX_COUNT, ..options };
    let subscriber = Sub::with_options(&Context::new(), limits(roles.client())).unwrap();
    for number in 0..PREFIX_COUNT {
        subscriber.subscribe(number.to_string()).unwrap();
    }
    let refused = subscriber.subscribe("one more");
    assert!(matches!(refused, Err(SubscribeError::Limit(_))), "{refused:?}");
    let publisher = Pub::with_options(&Context::new(), limits(roles.server())).unwrap();
    subscriber.connect(&publisher.bind(&endpoint("tcp")).unwrap().to_string()).unwrap();
    let last = (PREFIX_COUNT - 1).to_string();
    assert!(publisher.wait_for_subscribers_to(&last, 1, LONG));
    assert_eq!(subscriber.stats().failed_connections, 0);
}
