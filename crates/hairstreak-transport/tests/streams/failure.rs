//! A loop that fails reports it.

use std::convert::Infallible;
use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

use hairstreak_transport::Listener;
use hairstreak_transport::event_loop::{Context, EventLoops, LoopOptions, OnFailure, Protocol};

/// Panics at the first byte.
struct Panicking;

impl Protocol for Panicking {
    type Mail = ();
    type Error = Infallible;

    fn handle_start(&mut self, _context: &mut Context<'_, Panicking, ()>) -> Result<(), Infallible> {
        Ok(())
    }

    fn handle_bytes(&mut self, _context: &mut Context<'_, Panicking, ()>) -> Result<(), Infallible> {
        panic!("this is the test's own panic");
    }

    fn handle_mail(&mut self, (): (), _context: &mut Context<'_, Panicking, ()>) -> Result<(), Infallible> {
        Ok(())
    }
}

#[test]
fn a_loop_whose_protocol_panics_says_that_it_has_failed() {
    let (told, failures) = mpsc::channel();
    let on_failure = OnFailure::new(move || told.send(()).unwrap());
    let options = LoopOptions { loop_count: 1, on_failure, ..LoopOptions::default() };
    let loops = EventLoops::start(options).unwrap();
    let listener = Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
    let address = listener.endpoint().to_string();
    loops.listen(listener, |_| Some(Panicking));
    let mut client = TcpStream::connect(address.strip_prefix("tcp://").unwrap()).unwrap();
    client.write_all(b"x").unwrap();
    failures.recv_timeout(Duration::from_secs(30)).unwrap();
    // The loop is gone: stopping does not wait for it.
    loops.stop().unwrap();
}
