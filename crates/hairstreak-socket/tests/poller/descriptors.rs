//! File descriptors beside sockets.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use hairstreak_socket::{AddError, Context, Interest, Poller, Ready};

use crate::finding::{look, wait};
use crate::joined::pull_of;
use crate::{LONG, TRANSPORTS};

fn readable(key: usize) -> Ready {
    Ready { key, readable: true, ..Ready::default() }
}

#[test]
fn descriptors_and_sockets_are_waited_for_together() {
    for transport in TRANSPORTS {
        let (pull, push) = pull_of(&Context::new(), transport);
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(&pull, 1, Interest::READABLE).unwrap();
        poller.add_descriptor(&near, 2, Interest::READABLE).unwrap();
        let (to_near, mut told) = UnixStream::pair().unwrap();
        let sender = thread::spawn(move || {
            for round in 0..100 {
                if round % 2 == 0 {
                    push.send_timeout("message", LONG).unwrap();
                    push.flush();
                } else {
                    far.write_all(b"b").unwrap();
                }
                // One at a time.
                (&to_near).read_exact(&mut [0]).unwrap();
            }
        });
        for round in 0..100 {
            let found = wait(&mut poller);
            assert_eq!(found, [readable(1 + round % 2)], "{transport}");
            assert_eq!(look(&mut poller), found, "as long as it is");
            if round % 2 == 0 {
                assert_eq!(pull.try_recv().unwrap().body(), b"message");
            } else {
                near.read_exact(&mut [0]).unwrap();
            }
            told.write_all(b"t").unwrap();
        }
        sender.join().unwrap();
    }
}

#[test]
fn a_descriptor_is_reported_for_what_is_asked_and_until_it_is_removed() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add_descriptor(&near, 5, Interest::BOTH).unwrap();
    assert_eq!(wait(&mut poller), [Ready { key: 5, writable: true, ..Ready::default() }]);
    poller.modify(5, Interest::READABLE).unwrap();
    assert_eq!(look(&mut poller), []);
    (&far).write_all(b"x").unwrap();
    assert_eq!(wait(&mut poller), [readable(5)]);
    poller.modify(5, Interest::NONE).unwrap();
    assert_eq!(look(&mut poller), []);
    poller.modify(5, Interest::READABLE).unwrap();
    drop(far);
    assert!(wait(&mut poller)[0].closed);
    assert!(poller.remove(5) && !poller.remove(5));
    assert_eq!(look(&mut poller), []);
}

#[test]
fn the_same_descriptor_may_have_several_keys() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add_descriptor(&near, 1, Interest::READABLE).unwrap();
    poller.add_descriptor(&near, 2, Interest::READABLE).unwrap();
    (&far).write_all(b"x").unwrap();
    let mut found = wait(&mut poller);
    found.sort_by_key(|ready| ready.key);
    assert_eq!(found, [readable(1), readable(2)]);
}

#[test]
fn what_the_kernel_cannot_watch_is_refused() {
    let mut poller = Poller::new().unwrap();
    let file = File::open("/proc/self/exe").unwrap();
    assert!(matches!(poller.add_descriptor(&file, 1, Interest::READABLE), Err(AddError::System(_))));
    let (near, _far) = UnixStream::pair().unwrap();
    // The key is still free.
    poller.add_descriptor(&near, 1, Interest::WRITABLE).unwrap();
}
