//! Connections that open and close.

use hairstreak_socket::{Context, Drops, Options, Pull, Push};
use hairstreak_testkit::until;

use crate::LONG;
use crate::crowd::{TRANSPORTS, alone, options, scheme, size};
use crate::endpoints::endpoint;
use crate::memory::{descriptor_count, resident_bytes};

const ROUNDS: usize = 4;
/// What a round may leave in the allocator's hands, however many there are.
const MEMORY_MAX: usize = 48 << 20;

/// A crowd connects, says one word each and leaves.
fn come_and_go(pull: &Pull, place: &str, options: &Options) {
    let context = Context::new();
    let crowd: Vec<Push> =
        (0..size()).map(|_| Push::with_options(&context, options.clone()).unwrap()).collect();
    crowd.iter().for_each(|push| push.connect(place).unwrap());
    assert!(pull.wait_for_peers(size(), LONG), "{place}: {:?}", pull.stats());
    for (number, push) in crowd.iter().enumerate() {
        push.send_timeout(&number.to_le_bytes(), LONG).unwrap();
    }
    crowd.into_iter().for_each(Push::close);
    let mut heard = vec![false; size()];
    for _ in 0..size() {
        let message = pull.recv_timeout(LONG).unwrap_or_else(|e| panic!("{place}: {e}: {:?}", pull.stats()));
        let number = usize::from_le_bytes(message.body().try_into().unwrap());
        assert!(!std::mem::replace(&mut heard[number], true), "{place}: {number} twice");
    }
    until("the crowd has left", || pull.peers().is_empty());
}

#[test]
fn a_crowd_that_comes_says_a_word_and_goes_is_heard_and_leaves_nothing() {
    let _alone = alone();
    for transport in TRANSPORTS {
        let options = options(transport);
        let pull = Pull::with_options(&Context::new(), options.clone()).unwrap();
        let place = pull.bind(&endpoint(scheme(transport))).unwrap().to_string();
        let descriptors = descriptor_count();
        let mut memory = 0;
        for round in 0..ROUNDS {
            come_and_go(&pull, &place, &options);
            // Without another call to the receiver.
            until("all descriptors are closed", || descriptor_count() <= descriptors);
            if round == 0 {
                // Buffers and tables have grown once.
                memory = resident_bytes();
            }
        }
        let grown = resident_bytes().saturating_sub(memory);
        assert!(grown <= MEMORY_MAX, "{transport}: {grown} bytes more than before");
        let stats = pull.stats();
        assert_eq!(stats.received as usize, size() * ROUNDS, "{transport}");
        assert_eq!((stats.drops, stats.failed_connections), (Drops::default(), 0), "{transport}");
    }
}
