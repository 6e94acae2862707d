//! `Client`: a client of a few lines. One connection for each request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A client with credentials, or without.
pub(super) struct Client {
    address: SocketAddr,
    authorization: String,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    /// In lower case, a header a line.
    pub(super) headers: String,
    pub(super) body: Vec<u8>,
}

impl Client {
    pub(super) fn new(address: SocketAddr, credentials: Option<(&str, &str)>) -> Client {
        let line = |(user, password): (&str, &str)| {
            format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{user}:{password}")))
        };
        Client { address, authorization: credentials.map(line).unwrap_or_default() }
    }

    /// Sends a request. `headers`: lines with their ends.
    pub(super) fn send(&self, method: &str, target: &str, headers: &str, body: &[u8]) -> Answered {
        self.begin(method, target, headers, body.len()).end(body)
    }

    /// Sends the head of a request, and returns when the node waits for the body.
    pub(super) fn begin_body(&self, method: &str, target: &str, size: usize) -> Begun {
        let mut begun = self.begin(method, target, "Expect: 100-continue\r\n", size);
        let mut answer = [0; 25];
        begun.0.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
        begun
    }

    /// Sends a whole request, and does not wait for the answer.
    pub(super) fn begin_all(&self, method: &str, target: &str, body: &str) -> Begun {
        let mut begun = self.begin(method, target, "", body.len());
        begun.0.write_all(body.as_bytes()).unwrap();
        begun
    }

    fn begin(&self, method: &str, target: &str, headers: &str, size: usize) -> Begun {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{}{headers}Content-Length: {size}\r\n\r\n",
            self.authorization
        );
        stream.write_all(head.as_bytes()).unwrap();
        Begun(stream)
    }

    pub(super) fn ask(&self, method: &str, target: &str, body: &str) -> Answered {
        self.send(method, target, "", body.as_bytes())
    }

    /// Sends a request, and compares the status and the body.
    #[track_caller]
    pub(super) fn check(&self, method: &str, target: &str, body: &str, status: u16, answer: &str) {
        let answered = self.ask(method, target, body);
        let text = String::from_utf8_lossy(&answered.body);
        assert_eq!((answered.status, &*text), (status, answer), "{method} {target} {body}");
    }

    #[track_caller]
    pub(super) fn check_status(&self, method: &str, target: &str, body: &str, status: u16) {
        assert_eq!(self.ask(method, target, body).status, status, "{method} {target} {body}");
    }

    /// Checks an error with this reason, which is the text of a JSON value.
    #[track_caller]
    pub(super) fn refuse(
        &self,
        method: &str,
        target: &str,
        body: &str,
        status: u16,
        error: &str,
        reason: &str,
    ) {
        let answer = format!("{{\"error\":\"{error}\",\"reason\":{reason}}}");
        self.check(method, target, body, status, &answer);
    }

    /// 400 with the error `bad_request`.
    #[track_caller]
    pub(super) fn bad(&self, method: &str, target: &str, body: &str, reason: &str) {
        self.refuse(method, target, body, 400, "bad_request", reason);
    }

    /// 404 without details.
    #[track_caller]
    pub(super) fn absent(&self, method: &str, target: &str) {
        self.refuse(method, target, "", 404, "Object Not Found", "\"Not Found\"");
    }

    /// A GET that succeeds.
    #[track_caller]
    pub(super) fn get(&self, target: &str) -> Value {
        let answered = self.ask("GET", target, "");
        assert_eq!(answered.status, 200, "{target}: {}", String::from_utf8_lossy(&answered.body));
        serde_json::from_slice(&answered.body).unwrap()
    }

    /// A PUT, POST or DELETE that succeeds.
    #[track_caller]
    pub(super) fn change(&self, method: &str, target: &str, body: &str) {
        let answered = self.ask(method, target, body);
        let text = String::from_utf8_lossy(&answered.body);
        assert!(
            (200..300).contains(&answered.status),
            "{method} {target} {body}: {} {text}",
            answered.status
        );
    }
}

/// A request whose answer has not come yet.
pub(super) struct Begun(TcpStream);

impl Begun {
    /// Returns `true` if some bytes of the answer are there.
    pub(super) fn is_answered(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let peeked = self.0.peek(&mut [0; 1]);
        self.0.set_nonblocking(false).unwrap();
        peeked.is_ok()
    }

    /// Sends the rest of the body, and reads the answer.
    pub(super) fn end(mut self, body: &[u8]) -> Answered {
        self.0.write_all(body).unwrap();
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let headers = head.to_lowercase();
        let body = bytes.split_off(end + 4);
        let body = if headers.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
        Answered { status, headers, body }
    }
}

impl Answered {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}
