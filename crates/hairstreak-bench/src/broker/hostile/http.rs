//! Requests to the management HTTP API of a broker, in bytes: what a load generator sends over and over.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::super::amqp::AmqpError;

/// The queues that a list names.
pub const QUEUES_LISTED: u32 = 10_000;
/// Asks for all queues as guest, whose password is guest.
const REQUEST: &str = "GET /api/queues HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n\
    Connection: close\r\n\r\n";
const SUCCESS: &[u8] = b"HTTP/1.1 200 ";
/// A field that each queue of a list has once.
const FIELD: &[u8] = b"\"auto_delete\":";

/// Puts or deletes an object as guest. An object that is not there counts as deleted.
pub fn change(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<(), AmqpError> {
    let head = REQUEST.split_once("/api/queues").map(|(_, rest)| rest.trim_end()).unwrap_or_default();
    let size = body.len();
    let lines = format!("Content-Type: application/json\r\nContent-Length: {size}\r\n");
    let stream = send(address, &format!("{method} /api/{path}{head}\r\n{lines}\r\n{body}"))?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status)?;
    match status.split(' ').nth(1) {
        Some("200" | "201" | "204" | "404") => Ok(()),
        _ => Err(AmqpError::Malformed("the answer to a change over HTTP")),
    }
}

/// Lists all queues and counts them.
pub fn list_queues(address: SocketAddr) -> Result<(), AmqpError> {
    let mut answer = Vec::new();
    ask_for_queues(address)?.read_to_end(&mut answer)?;
    let found = answer.windows(FIELD.len()).filter(|part| *part == FIELD).count();
    match answer.starts_with(SUCCESS) && found >= QUEUES_LISTED as usize {
        true => Ok(()),
        false => Err(AmqpError::Malformed("the list of queues over HTTP")),
    }
}

/// Sends a request for all queues. The caller reads the answer, or does not.
pub fn ask_for_queues(address: SocketAddr) -> io::Result<TcpStream> {
    send(address, REQUEST)
}

/// Sends the first half of a request.
pub fn send_half_request(address: SocketAddr) -> io::Result<TcpStream> {
    send(address, &REQUEST[..REQUEST.len() / 2])
}

fn send(address: SocketAddr, text: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(text.as_bytes())?;
    Ok(stream)
}
