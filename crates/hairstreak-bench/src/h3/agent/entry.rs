//! The agent's process: listens for controllers, each of whom has a conversation of its own.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use super::error::AgentError;
use super::session::Session;

/// Serves controllers on `address` for ever. The line that says so ends with the address, with the real port.
pub fn serve(address: SocketAddr, rabbitmq: &str) -> Result<(), AgentError> {
    let listener = TcpListener::bind(address)?;
    let mut output = io::stdout().lock();
    writeln!(output, "h3 agent {} at {}", env!("CARGO_PKG_VERSION"), listener.local_addr()?)?;
    output.flush()?;
    drop(output);
    for control in listener.incoming() {
        let (control, rabbitmq) = (control?, rabbitmq.to_owned());
        thread::Builder::new().name("h3-session".into()).spawn(move || {
            // The session tells the controller of its error. A controller that cannot be told has gone.
            let _ = Session::new(control, &rabbitmq).and_then(Session::run);
        })?;
    }
    Ok(())
}
