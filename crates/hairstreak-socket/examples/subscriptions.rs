//! How fast messages are matched against many prefixes, and published to those who want them.
//!
//! `cargo run --release -p hairstreak-socket --example subscriptions`: the index alone with 100,000
//! prefixes of 1,000 subscribers, topics drawn at random so that caches do not help; then a PUB with four
//! inproc SUBs that have as many prefixes between them.

use std::error::Error;
use std::time::{Duration, Instant};

use hairstreak_socket::pubsub::index::{Index, Limits};
use hairstreak_socket::{Context, Pub, Sub};

const PREFIX_COUNT: usize = 100_000;
const SUBSCRIBER_COUNT: usize = 1000;
const LOOK_UP_COUNT: usize = 2_000_000;
const MESSAGE_COUNT: usize = 1_000_000;
/// Messages published before the subscribers take them.
const BATCH_COUNT: usize = 64;
const LIMITS: Limits = Limits { count_max: usize::MAX, size_max: usize::MAX, bytes_max: usize::MAX };

type Outcome = Result<(), Box<dyn Error>>;

/// Like the names of instruments or sensors: a few places, then kinds, then a number.
fn prefix(number: usize) -> String {
    const PLACES: [&str; 7] = ["amsterdam", "bergen", "bern", "cork", "delft", "delhi", "essen"];
    const KINDS: [&str; 4] = ["temperature", "tension", "price", "pressure"];
    format!("{}/{}/{:05}", PLACES[number % 7], KINDS[number / 7 % 4], number)
}

fn report(what: &str, count: usize, since: Instant) {
    let rate = count as f64 / since.elapsed().as_secs_f64() / 1e6;
    println!("{what}: {rate:.2} M/s");
}

fn match_in_index(topics: &[String]) -> Outcome {
    let mut index = Index::new();
    let since = Instant::now();
    for number in 0..PREFIX_COUNT {
        index.subscribe(number % SUBSCRIBER_COUNT, prefix(number).as_bytes(), &LIMITS)?;
    }
    report("subscriptions made", PREFIX_COUNT, since);
    let since = Instant::now();
    let (mut found, mut total) = (Vec::new(), 0);
    for topic in topics.iter().cycle().take(LOOK_UP_COUNT) {
        found.clear();
        index.find(topic.as_bytes(), &mut found);
        total += found.len();
    }
    assert_eq!(total, LOOK_UP_COUNT);
    report("messages matched with 100,000 prefixes of 1,000 subscribers", LOOK_UP_COUNT, since);
    for subscriber in 0..SUBSCRIBER_COUNT {
        index.subscribe(subscriber, b"", &LIMITS)?;
    }
    let since = Instant::now();
    for topic in topics.iter().take(LOOK_UP_COUNT / 1000) {
        found.clear();
        index.find(topic.as_bytes(), &mut found);
        assert_eq!(found.len(), SUBSCRIBER_COUNT);
    }
    report("copies for 1,000 subscribers to everything found", LOOK_UP_COUNT, since);
    let since = Instant::now();
    (0..SUBSCRIBER_COUNT).for_each(|subscriber| index.remove(subscriber, |_| ()));
    report("subscriptions removed with their subscribers", PREFIX_COUNT, since);
    Ok(())
}

fn publish(topics: &[String]) -> Outcome {
    let context = Context::new();
    let publisher = Pub::new(&context)?;
    publisher.bind("inproc://prices")?;
    let subs = [Sub::new(&context)?, Sub::new(&context)?, Sub::new(&context)?, Sub::new(&context)?];
    for number in 0..PREFIX_COUNT {
        subs[number % 4].subscribe(prefix(number))?;
    }
    for sub in &subs {
        sub.connect("inproc://prices")?;
    }
    assert!(publisher.wait_for_subscribers(4, Duration::from_secs(10)));
    let since = Instant::now();
    let mut received = 0;
    let mut topics = topics.iter().cycle();
    for _ in 0..MESSAGE_COUNT / BATCH_COUNT {
        for topic in topics.by_ref().take(BATCH_COUNT) {
            publisher.send(topic)?;
        }
        publisher.flush();
        for sub in &subs {
            while sub.try_recv().is_ok() {
                received += 1;
            }
        }
    }
    let stats = publisher.stats();
    assert_eq!(stats.sent, received + stats.drops.newest);
    report("messages published to one of four SUBs and received, one thread", MESSAGE_COUNT, since);
    Ok(())
}

fn main() -> Outcome {
    let mut random = fastrand::Rng::with_seed(7);
    let topics: Vec<String> =
        (0..LOOK_UP_COUNT / 4).map(|_| prefix(random.usize(..PREFIX_COUNT)) + "/value").collect();
    match_in_index(&topics)?;
    publish(&topics)
}
