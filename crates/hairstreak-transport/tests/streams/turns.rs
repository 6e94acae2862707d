//! Turns that a protocol ends early, or defers: other connections have a turn before the rest of its input, which is not lost.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use hairstreak_transport::Listener;
use hairstreak_transport::event_loop::{Context, EventLoops, LoopOptions, Protocol};

const COUNT: usize = 1000;

/// The bytes in the order in which they were handled.
type Order = Arc<Mutex<Vec<u8>>>;

/// Handles one byte in a turn. The first `b` sends a byte on another connection.
struct Slow {
    order: Order,
    other: Arc<Mutex<Option<TcpStream>>>,
}

impl Protocol for Slow {
    type Mail = ();
    type Error = Infallible;

    fn handle_start(&mut self, _context: &mut Context<'_, Slow, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn handle_bytes(&mut self, context: &mut Context<'_, Slow, ()>) -> Result<(), Infallible> {
        let input = &mut context.connection.input;
        let Some(&byte) = input.unread().first() else { return Ok(()) };
        input.consume(1);
        self.order.lock().unwrap().push(byte);
        if byte == b'b'
            && let Some(mut other) = self.other.lock().unwrap().take()
        {
            other.write_all(b"a").unwrap();
        }
        if context.connection.input.unread().is_empty() {
            context.connection.output.push_copy(b".", &[], true);
        } else {
            context.yield_turn();
        }
        Ok(())
    }

    fn handle_mail(&mut self, (): (), _context: &mut Context<'_, Slow, ()>) -> Result<(), Infallible> {
        Ok(())
    }
}

#[test]
fn a_turn_that_ends_early_lets_others_go_first_and_goes_on_to_the_last_byte() {
    let loops = EventLoops::start(LoopOptions { loop_count: 1, ..LoopOptions::default() }).unwrap();
    let listener = Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let endpoint = listener.endpoint().to_string();
    let address = endpoint.strip_prefix("tcp://").unwrap();
    let (order, other) = (Order::default(), Arc::new(Mutex::new(None)));
    let shared = (Arc::clone(&order), Arc::clone(&other));
    loops
        .listen(listener, move |_| Some(Slow { order: Arc::clone(&shared.0), other: Arc::clone(&shared.1) }));
    let mut short = TcpStream::connect(address).unwrap();
    // The loop knows the connection, because the connection answers.
    short.write_all(b"x").unwrap();
    short.read_exact(&mut [0]).unwrap();
    *other.lock().unwrap() = Some(short);
    let mut long = TcpStream::connect(address).unwrap();
    long.write_all(&[b'b'; COUNT]).unwrap();
    long.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    long.read_to_end(&mut answer).unwrap();
    let order = order.lock().unwrap();
    let short_at = order.iter().position(|byte| *byte == b'a').unwrap();
    assert!(short_at < 10, "its turn came after {short_at} others");
    assert_eq!(order.iter().filter(|byte| **byte == b'b').count(), COUNT);
}

/// Defers until the lock is free. Anything else is echoed.
struct Deferring {
    lock: Arc<Mutex<()>>,
}

impl Deferring {
    fn echo(&self, context: &mut Context<'_, Deferring, ()>) {
        let input = context.connection.input.unread().to_vec();
        if input.starts_with(b"l") && self.lock.try_lock().is_err() {
            return context.defer();
        }
        context.connection.input.consume(input.len());
        context.connection.output.push_copy(&input, &[], true);
    }
}

impl Protocol for Deferring {
    type Mail = ();
    type Error = Infallible;

    fn handle_start(&mut self, _context: &mut Context<'_, Deferring, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn handle_bytes(&mut self, context: &mut Context<'_, Deferring, ()>) -> Result<(), Infallible> {
        self.echo(context);
        Ok(())
    }

    fn handle_deferred(&mut self, context: &mut Context<'_, Deferring, ()>) -> Result<(), Infallible> {
        // A paused connection is called, too.
        context.pause();
        self.echo(context);
        Ok(())
    }

    fn handle_mail(&mut self, (): (), _context: &mut Context<'_, Deferring, ()>) -> Result<(), Infallible> {
        Ok(())
    }
}

#[test]
fn a_connection_that_waits_for_a_lock_holds_up_no_other_one_of_its_loop() {
    let loops = EventLoops::start(LoopOptions { loop_count: 1, ..LoopOptions::default() }).unwrap();
    let listener = Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let endpoint = listener.endpoint().to_string();
    let address = endpoint.strip_prefix("tcp://").unwrap();
    let lock = Arc::default();
    let shared = Arc::clone(&lock);
    loops.listen(listener, move |_| Some(Deferring { lock: Arc::clone(&shared) }));
    let (mut waiting, mut other) =
        (TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap());
    let locked = lock.lock().unwrap();
    waiting.write_all(b"lock").unwrap();
    for _ in 0..100 {
        other.write_all(b"x").unwrap();
        other.read_exact(&mut [0]).unwrap();
    }
    drop(locked);
    let mut answer = [0; 4];
    waiting.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"lock");
}
