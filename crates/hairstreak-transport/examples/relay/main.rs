//! A TCP relay on event loops: `cargo run --release --example relay -- 127.0.0.1:7000 127.0.0.1:7001` accepts on the first
//! address and passes each connection's bytes to the second, until its standard input ends.

mod relay;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use hairstreak_transport::event_loop::{EventLoops, LoopOptions};
use hairstreak_transport::{Listener, Stream};

use relay::Relay;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Result<Vec<String>, OsString> =
        std::env::args_os().skip(1).map(OsString::into_string).collect();
    let arguments = arguments.map_err(|_| "an address is not UTF-8")?;
    let [here, there] = &arguments[..] else { return Err("usage: relay HERE:PORT THERE:PORT".into()) };
    let there: SocketAddr = there.parse()?;
    let connect: relay::Connect = Arc::new(move || Stream::connect_tcp(there));
    let listener = Listener::bind_tcp(here.parse()?, false)?;
    writeln!(io::stdout(), "{} -> {there}", listener.endpoint())?;
    let loops = EventLoops::start(LoopOptions::default())?;
    loops.listen(listener, move |_| Some(Relay::accepted(Arc::clone(&connect))));
    io::stdin().read_to_end(&mut Vec::new())?;
    loops.stop()?;
    Ok(())
}
