//! A relay on event loops: `cargo run --release -p hairstreak-transport --example relay -- tcp://127.0.0.1:7000 vortex://lab/0:5672` accepts at the
//! first endpoint and passes the bytes of each connection to the second, until its standard input ends. A client without support for
//! fabrics can reach a fabric this way.

mod relay;

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::sync::Arc;

use hairstreak_transport::event_loop::{EventLoops, LoopOptions};
use hairstreak_transport::{Endpoint, Listener, Stream, resolve_bind, resolve_connect};

use relay::Relay;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Result<Vec<String>, OsString> =
        std::env::args_os().skip(1).map(OsString::into_string).collect();
    let arguments = arguments.map_err(|_| "an address is not UTF-8")?;
    let [here, there] = &arguments[..] else { return Err("usage: relay HERE THERE, both endpoints".into()) };
    let (listener, there) = (listen(&here.parse()?)?, there.parse::<Endpoint>()?);
    writeln!(io::stdout(), "{} -> {there}", listener.endpoint())?;
    let connect: relay::Connect = Arc::new(move || connect(&there));
    let loops = EventLoops::start(LoopOptions::default())?;
    loops.listen(listener, move |_| Some(Relay::accepted(Arc::clone(&connect))));
    io::stdin().read_to_end(&mut Vec::new())?;
    loops.stop()?;
    Ok(())
}

fn listen(here: &Endpoint) -> io::Result<Listener> {
    match here {
        Endpoint::Tcp(address) => {
            let resolved = resolve_bind(address).map_err(io::Error::other)?;
            Listener::bind_tcp(resolved, address.host == "*")
        }
        Endpoint::Ipc(address) => Listener::bind_ipc(address),
        Endpoint::Vortex(address) => Listener::bind_vortex(address),
        other => Err(io::Error::other(format!("{other}: a stream of bytes is needed"))),
    }
}

fn connect(there: &Endpoint) -> io::Result<Stream> {
    match there {
        Endpoint::Tcp(address) => {
            let resolved = resolve_connect(address, 0, true).map_err(io::Error::other)?;
            Stream::connect_tcp(resolved.ok_or(io::ErrorKind::AddrNotAvailable)?)
        }
        Endpoint::Ipc(address) => Stream::connect_ipc(address),
        Endpoint::Vortex(address) => Stream::connect_vortex(address),
        other => Err(io::Error::other(format!("{other}: a stream of bytes is needed"))),
    }
}
