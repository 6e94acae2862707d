//! Requests to the management HTTP API of a broker, in bytes, which a load generator repeats.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, ensure};

use super::super::server::Running;

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

/// Returns the address of the API.
pub fn address(server: &Running) -> Result<SocketAddr> {
    server.http.context("a broker without HTTP")
}

/// Creates a virtual host in which guest may do everything.
pub fn create_host(server: &Running, host: &str) -> Result<()> {
    change(server, "PUT", &format!("vhosts/{host}"), "{}")?;
    let all = r#"{"configure":".*","write":".*","read":".*"}"#;
    change(server, "PUT", &format!("permissions/{host}/guest"), all)
}

/// Deletes a virtual host with everything in it.
pub fn delete_host(server: &Running, host: &str) -> Result<()> {
    change(server, "DELETE", &format!("vhosts/{host}"), "")
}

/// Puts or deletes an object as guest. An object that is not there counts as deleted.
pub fn change(server: &Running, method: &str, path: &str, body: &str) -> Result<()> {
    let fields = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    let stream = send(server, &format!("{method} /api/{path} {HEAD}{fields}\r\n{body}"))?;
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status)?;
    let is_done = matches!(status.split(' ').nth(1), Some("200" | "201" | "204" | "404"));
    ensure!(is_done, "{method} of {path} over HTTP was answered {status:?}");
    Ok(())
}

/// Lists all queues and counts them.
pub fn list_queues(server: &Running) -> Result<()> {
    let mut answer = Vec::new();
    send(server, &list_request())?.read_to_end(&mut answer)?;
    let found = answer.windows(FIELD.len()).filter(|part| *part == FIELD).count();
    ensure!(answer.starts_with(b"HTTP/1.1 200 "), "a list of queues over HTTP failed");
    ensure!(found >= QUEUES_LISTED as usize, "a list over HTTP has {found} queues of {QUEUES_LISTED}");
    Ok(())
}

fn send(server: &Running, text: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address(server)?)?;
    stream.write_all(text.as_bytes())?;
    Ok(stream)
}
