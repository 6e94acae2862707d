//! Held output: bytes after a mark leave when the mark is released, in order, over every kind of stream. The loop sleeps until
//! then.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use hairstreak_transport::event_loop::{Address, Context, EventLoops, Harness, LoopOptions, Protocol};
use rustix::time::{ClockId, clock_gettime};

use crate::end::End;
use crate::kind::Kind;

/// Output that does not arrive for this time is held.
const HELD_AFTER: Duration = Duration::from_millis(300);

/// The CPU time of the loop, reported by the protocol.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// After the whole input.
    Handled(Address, Duration),
    /// After bytes have left.
    Written(Duration),
}

/// Echoes each byte. A digit is a ticket: the answers from it on are held. `q` closes, and `!` drops held answers.
struct Holding {
    tell: Sender<Told>,
}

impl Holding {
    fn answer(&mut self, byte: u8, context: &mut Context<'_, Holding, ()>) {
        let output = &mut context.connection.output;
        match byte {
            b'0'..=b'9' => output.hold(u64::from(byte - b'0')),
            b'!' => {
                output.discard_held();
            }
            _ => {}
        }
        output.push_copy(&[byte], &[], true);
        if byte == b'q' {
            context.close();
        }
    }
}

impl Protocol for Holding {
    type Mail = ();
    type Error = Infallible;

    fn handle_start(&mut self, _context: &mut Context<'_, Holding, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn handle_bytes(&mut self, context: &mut Context<'_, Holding, ()>) -> Result<(), Infallible> {
        let bytes = context.connection.input.unread().to_vec();
        context.connection.input.consume(bytes.len());
        bytes.iter().for_each(|byte| self.answer(*byte, context));
        // A test that ends no longer listens.
        let _ = self.tell.send(Told::Handled(context.address(), used_time()));
        Ok(())
    }

    fn handle_mail(&mut self, (): (), _context: &mut Context<'_, Holding, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn handle_written(&mut self, _context: &mut Context<'_, Holding, ()>) -> Result<(), Infallible> {
        let _ = self.tell.send(Told::Written(used_time()));
        Ok(())
    }
}

/// The CPU time of this thread.
fn used_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

/// A client of a loop that holds output, and the reports of the protocol. The client is dropped first: the loop waits for its end.
struct Bench {
    client: End,
    loops: EventLoops<Holding>,
    told: Receiver<Told>,
}

impl Bench {
    fn new(kind: Kind, drain_timeout: Duration) -> Bench {
        let options =
            LoopOptions { loop_count: 1, name: "held".into(), drain_timeout, ..LoopOptions::default() };
        let (loops, place) = (EventLoops::start(options).unwrap(), kind.listen());
        let connector = place.connector();
        let (tell, told) = channel();
        loops.listen(place.listener, move |_| Some(Holding { tell: tell.clone() }));
        let mut client = End::new(connector.connect().unwrap());
        client.establish_by_events().unwrap();
        Bench { client, loops, told }
    }

    /// Sends `bytes` and waits until they are handled. Returns the CPU time of the loop at that time.
    fn send(&mut self, bytes: &[u8]) -> (Address, Duration) {
        self.client.write_all(bytes);
        loop {
            if let Told::Handled(address, used) = self.told.recv().unwrap() {
                return (address, used);
            }
        }
    }

    fn expect(&mut self, bytes: &[u8]) {
        let mut got = Vec::new();
        while got.len() < bytes.len() {
            let more = self.client.read_some();
            assert!(!more.is_empty(), "the end after {got:?}");
            got.extend(more);
        }
        assert_eq!(got, bytes);
    }

    fn expect_nothing(&mut self) {
        assert_eq!(self.client.read_for(HELD_AFTER), None);
    }

    fn expect_end(&mut self) {
        assert_eq!(self.client.read_some(), b"");
    }
}

#[test]
fn what_is_behind_a_mark_leaves_when_it_is_released_and_the_loop_sleeps_until_then() {
    for kind in Kind::ALL {
        println!("{kind:?}");
        let mut bench = Bench::new(kind, Duration::from_secs(30));
        let handle = bench.loops.handle();
        let (address, used_before) = bench.send(b"ab1cd2ef2g7h");
        bench.expect(b"ab");
        bench.expect_nothing();
        handle.release(address, 0);
        bench.expect_nothing();
        handle.release(address, 1);
        bench.expect(b"1cd");
        bench.expect_nothing();
        let mut last = used_before;
        while let Ok(told) = bench.told.try_recv() {
            if let Told::Written(used) = told {
                last = used;
            }
        }
        assert!(last - used_before < HELD_AFTER, "the loop was at work for {:?}", last - used_before);
        // Further bytes wait behind all marks.
        bench.send(b"i");
        handle.release(address, 6);
        bench.expect(b"2ef2g");
        handle.release(address, 7);
        bench.expect(b"7hi");
        bench.send(b"j");
        bench.expect(b"j");
    }
}

#[test]
fn a_connection_that_closes_while_its_output_is_held_says_all_once_it_is_released() {
    for kind in Kind::ALL {
        println!("{kind:?}");
        let mut bench = Bench::new(kind, Duration::from_secs(30));
        let (address, _) = bench.send(b"a1bq");
        bench.expect(b"a");
        bench.expect_nothing();
        bench.loops.handle().release(address, 1);
        bench.expect(b"1bq");
        bench.expect_end();
    }
}

#[test]
fn what_is_never_released_is_lost_when_the_time_for_draining_is_over() {
    for kind in Kind::ALL {
        println!("{kind:?}");
        let mut bench = Bench::new(kind, Duration::from_millis(50));
        bench.send(b"a1bq");
        bench.expect(b"a");
        let (count, _) = bench.client.read_to_end();
        assert_eq!(count, 0);
    }
}

#[test]
fn what_is_dropped_never_leaves_and_what_comes_next_does() {
    for kind in Kind::ALL {
        println!("{kind:?}");
        let mut bench = Bench::new(kind, Duration::from_secs(30));
        bench.send(b"a1b2cd!q");
        bench.expect(b"a!q");
        bench.expect_end();
    }
}

#[test]
fn much_that_is_held_leaves_as_it_was_put_in() {
    for kind in Kind::ALL {
        println!("{kind:?}");
        let mut bench = Bench::new(kind, Duration::from_secs(30));
        let body = vec![b'x'; 1 << 20];
        bench.client.write_all(b"1");
        bench.client.write_all(&body);
        bench.client.write_all(b"q");
        let mut address = Address::default();
        while let Ok(Told::Handled(from, _)) = bench.told.recv_timeout(HELD_AFTER) {
            address = from;
        }
        bench.loops.handle().release(address, 1);
        bench.expect(&[b"1", &*body, b"q"].concat());
        bench.expect_end();
    }
}

#[test]
fn the_harness_holds_as_a_loop_does() {
    let mut harness = Harness::new(Instant::now()).unwrap();
    let (tell, told) = channel();
    let at = harness.add(Holding { tell }).unwrap();
    let written = |harness: &mut Harness<Holding>| {
        let mut into = Vec::new();
        harness.write(at, usize::MAX, &mut into);
        into
    };
    harness.read(at, b"a1bq");
    assert_eq!(written(&mut harness), b"a");
    assert_eq!(written(&mut harness), b"");
    assert!(harness.protocol(at).is_some(), "it closes when all is written");
    harness.release(at, 1);
    assert_eq!(written(&mut harness), b"");
    harness.deliver_mail();
    assert_eq!(written(&mut harness), b"1bq");
    assert!(harness.protocol(at).is_none());
    assert!(matches!(told.try_iter().collect::<Vec<_>>()[..], [Told::Handled(..)]));
}
