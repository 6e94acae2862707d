//! Accepts connections, a thread for each.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use super::connection;
use super::registry::Registry;

/// Serves until the process ends. A connection that fails says why on standard error.
pub fn serve(listener: &TcpListener) -> Result<(), io::Error> {
    let registry = Arc::new(Registry::default());
    loop {
        let (stream, _) = listener.accept()?;
        let registry = Arc::clone(&registry);
        thread::spawn(move || {
            if let Err(error) = connection::serve(stream, &registry) {
                eprintln!("hairstreak-bench: the limit: {error}");
            }
        });
    }
}
