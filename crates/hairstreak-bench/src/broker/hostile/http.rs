//! Requests to the management HTTP API of a broker, in bytes, which a load generator repeats.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Result, ensure};

/// The queues that a list names.
pub const QUEUES_LISTED: u32 = 10_000;
/// The end of a request line, and the headers of a guest whose password is guest.
const HEAD: &str =
    "HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\nConnection: close\r\n";
/// A field that each queue of a list has once.
const FIELD: &[u8] = b"\"auto_delete\":";

/// Returns the request for a list of all queues.
pub fn list_request() -> String {
    format!("GET /api/queues {HEAD}\r\n")
}

/// Puts or deletes an object as guest. An object that is not there counts as deleted.
pub fn change(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<()> {
    let fields = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    let stream = send(address, &format!("{method} /api/{path} {HEAD}{fields}\r\n{body}"))?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status)?;
    let is_done = matches!(status.split(' ').nth(1), Some("200" | "201" | "204" | "404"));
    ensure!(is_done, "{method} of {path} over HTTP was answered {status:?}");
    Ok(())
}

/// Lists all queues and counts them.
pub fn list_queues(address: SocketAddr) -> Result<()> {
    let mut answer = Vec::new();
    send(address, &list_request())?.read_to_end(&mut answer)?;
    let found = answer.windows(FIELD.len()).filter(|part| *part == FIELD).count();
    ensure!(answer.starts_with(b"HTTP/1.1 200 "), "a list of queues over HTTP failed");
    ensure!(found >= QUEUES_LISTED as usize, "a list over HTTP has {found} queues of {QUEUES_LISTED}");
    Ok(())
}

fn send(address: SocketAddr, text: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(text.as_bytes())?;
    Ok(stream)
}
