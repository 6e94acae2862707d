//! The server alone, with a service that echoes requests: bounds, slow clients, and the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_node::process::descriptor_count;
use hairstreak_testkit::{BoundedCommand, until_eq};
use hyper::StatusCode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{HttpServer, Service};
use crate::http::options::HttpOptions;
use crate::http::request::Request;
use crate::http::response::{Chunks, Response};

const PATIENCE: Duration = Duration::from_secs(60);
/// The variable that a test has in a process of its own.
const ALONE: &str = "HAIRSTREAK_TEST_ALONE";
/// Bytes that a body without end is made of.
const PIECE: usize = 64 * 1024;

/// `/size`: the size of the body. `/endless`: a body without end. `/refuse`: nothing is read. `/length/N`: a body of N bytes.
#[derive(Default)]
struct Repeating {
    /// Each body without end that is being sent has one, too.
    endless: Arc<()>,
}

struct Endless {
    _alive: Arc<()>,
}

impl Chunks for Endless {
    fn next(&mut self) -> Option<Vec<u8>> {
        Some(vec![b'x'; PIECE])
    }
}

impl Service for Repeating {
    async fn answer(&self, request: &mut Request) -> Response {
        let segments = request.path.take().unwrap().segments().to_vec();
        match &*segments[0] {
            b"size" => match request.body.read(100_000).await {
                Ok(bytes) => Response::json(&json!({"size": bytes.len()})),
                Err(error) => error.into_response(),
            },
            b"endless" => Response::stream(Box::new(Endless { _alive: Arc::clone(&self.endless) })),
            b"length" => {
                let size = std::str::from_utf8(&segments[1]).unwrap().parse().unwrap();
                Response::whole(vec![b'1'; size])
            }
            _ => Response::empty(StatusCode::UNAUTHORIZED),
        }
    }
}

fn start(options: HttpOptions) -> HttpServer {
    start_with(options, Repeating::default())
}

fn start_with(options: HttpOptions, service: Repeating) -> HttpServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    HttpServer::start(vec![listener.into()], options, service).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads one response: its first line, its headers in lower case, and its body.
fn ask(stream: &TcpStream, bytes: &[u8]) -> (String, String, Vec<u8>) {
    (&mut &*stream).write_all(bytes).unwrap();
    read_response(&mut BufReader::new(stream))
}

fn read_response(reader: &mut BufReader<&TcpStream>) -> (String, String, Vec<u8>) {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    assert!(!lines.is_empty(), "the connection was closed");
    let headers = lines.split_off(1).join("\n").to_lowercase();
    let size = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    let mut body = vec![0; size.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    (lines.remove(0), headers, body)
}

/// Returns `true` if the server closes the connection before the patience ends.
fn is_closed(mut stream: &TcpStream) -> bool {
    let mut bytes = vec![0; PIECE];
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
    false
}

#[test]
fn requests_come_one_after_the_other_on_a_connection() {
    let server = start(HttpOptions::default());
    let stream = connect(server.addresses()[0]);
    for size in [0, 5, 60_000] {
        let head = format!("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n");
        let (status, headers, body) = ask(&stream, &[head.as_bytes(), &vec![b'x'; size]].concat());
        assert_eq!((&*status, &*body), ("HTTP/1.1 200 OK", format!("{{\"size\":{size}}}").as_bytes()));
        assert!(headers.contains("content-type: application/json"), "{headers}");
    }
    let chunked = b"POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    assert_eq!(ask(&stream, chunked).2, b"{\"size\":7}");
    let both = b"GET /length/3 HTTP/1.1\r\nHost: a\r\n\r\nGET /length/2 HTTP/1.1\r\nHost: a\r\n\r\n";
    (&mut &stream).write_all(both).unwrap();
    let mut reader = BufReader::new(&stream);
    assert_eq!(
        [read_response(&mut reader).2, read_response(&mut reader).2],
        [b"111".to_vec(), b"11".to_vec()]
    );
    drop(server);
}

#[test]
fn head_has_the_length_of_a_body_and_no_body() {
    let server = start(HttpOptions::default());
    let mut stream = connect(server.addresses()[0]);
    stream.write_all(b"HEAD /length/7 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("content-length: 7\r\n") && text.ends_with("\r\n\r\n"), "{text}");
}

#[test]
fn a_body_is_bounded_and_a_refused_one_does_not_disturb_the_next_request() {
    let server = start(HttpOptions::default());
    let stream = connect(server.addresses()[0]);
    let too_large = br#"{"error":"bad_request","reason":"Exceeded HTTP request body size limit"}"#;
    let large = "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n";
    assert_eq!(ask(&stream, large.as_bytes()).2, too_large);
    let stream = connect(server.addresses()[0]);
    let chunk = format!(
        "POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n186A1\r\n{}",
        "x".repeat(100_001)
    );
    assert_eq!(ask(&stream, chunk.as_bytes()).2, too_large);
    let stream = connect(server.addresses()[0]);
    (&mut &stream).write_all(b"POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n").unwrap();
    (&mut &stream).write_all(&[b'x'; 50_000]).unwrap();
    assert_eq!(read_response(&mut BufReader::new(&stream)).0, "HTTP/1.1 401 Unauthorized");
    assert_eq!(ask(&stream, b"GET /length/1 HTTP/1.1\r\nHost: a\r\n\r\n").2, b"1");
}

#[test]
fn slow_headers_bodies_and_readers_are_closed() {
    let options = HttpOptions {
        header_timeout: Duration::from_millis(50),
        write_timeout: Duration::from_millis(50),
        body_timeout: Duration::from_millis(50),
        ..HttpOptions::default()
    };
    let service = Repeating::default();
    let endless = Arc::clone(&service.endless);
    let server = start_with(options, service);
    let address = server.addresses()[0];
    for bytes in ["", "GET /length/1 HT", "GET /length/1 HTTP/1.1\r\nHost: a\r\n"] {
        let mut stream = connect(address);
        stream.write_all(bytes.as_bytes()).unwrap();
        assert!(is_closed(&stream), "{bytes}");
    }
    let stream = connect(address);
    let (status, _, body) = ask(&stream, b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");
    let too_slow = br#"{"error":"request_timeout","reason":"The request body did not come in time"}"#;
    assert_eq!((&*status, &*body), ("HTTP/1.1 408 Request Timeout", &too_slow[..]));
    // A client that reads nothing: the server gives up when the buffers are full, and the rest of the response never comes.
    let mut stream = connect(address);
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    until_eq("holders of the body", 2, || Arc::strong_count(&endless));
    assert!(is_closed(&stream));
}

#[test]
fn a_client_that_has_asked_nothing_is_closed_sooner_than_one_that_is_idle() {
    let first_header_timeout = Duration::from_millis(50);
    let server = start(HttpOptions { first_header_timeout, ..HttpOptions::default() });
    let address = server.addresses()[0];
    let idle = connect(address);
    let request = b"GET /length/1 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut late = connect(address);
    late.write_all(&request[..20]).unwrap();
    // On a busy machine the request itself may be late.
    (&mut &idle).write_all(request).unwrap();
    let since = Instant::now();
    assert!(is_closed(&late) && is_closed(&connect(address)));
    assert!(since.elapsed() < HttpOptions::default().header_timeout / 2);
    assert_eq!(read_response(&mut BufReader::new(&idle)).2, b"1");
    assert_eq!(ask(&idle, request).2, b"1");
}

#[test]
fn a_connection_beyond_the_bound_is_closed_and_a_place_is_free_again() {
    let server = start(HttpOptions { connections_max: 2, ..HttpOptions::default() });
    let address = server.addresses()[0];
    let request = b"GET /length/1 HTTP/1.1\r\nHost: a\r\n\r\n";
    // Both have a request in progress.
    let begin = || {
        let mut stream = connect(address);
        stream.write_all(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 1]).unwrap();
        stream
    };
    let (first, _second) = (begin(), begin());
    assert!(is_closed(&connect(address)));
    drop(first);
    let since = Instant::now();
    loop {
        assert!(since.elapsed() < PATIENCE, "the place is not free again");
        let mut third = connect(address);
        let mut line = String::new();
        let is_sent = third.write_all(request).is_ok();
        if is_sent && BufReader::new(&third).read_line(&mut line).is_ok() && line.contains("200") {
            break;
        }
    }
}

#[test]
fn the_connection_that_has_waited_longest_gives_way() {
    let server = start(HttpOptions { connections_max: 2, ..HttpOptions::default() });
    let address = server.addresses()[0];
    let request = b"GET /length/1 HTTP/1.1\r\nHost: a\r\n\r\n";
    let (first, second) = (connect(address), connect(address));
    assert_eq!([&first, &second, &first].map(|stream| ask(stream, request).2), [b"1", b"1", b"1"]);
    let third = connect(address);
    assert_eq!(ask(&third, request).2, b"1");
    assert!(is_closed(&second));
    assert_eq!([ask(&first, request).2, ask(&third, request).2], [b"1", b"1"]);
}

/// Silent clients cannot keep out other clients, nor clients that have sent a request.
#[test]
fn connections_that_have_never_asked_give_way_first() {
    let hour = Duration::from_secs(3600);
    let options = HttpOptions { connections_max: 3, first_header_timeout: hour, ..HttpOptions::default() };
    let server = start(HttpOptions { header_timeout: hour, ..options });
    let address = server.addresses()[0];
    let request = b"GET /length/1 HTTP/1.1\r\nHost: a\r\n\r\n";
    let asked = connect(address);
    assert_eq!(ask(&asked, request).2, b"1");
    let silent: Vec<TcpStream> = (0..20).map(|_| connect(address)).collect();
    (&mut &silent[19]).write_all(&request[..20]).unwrap();
    let newest = connect(address);
    assert_eq!(ask(&newest, request).2, b"1");
    assert!(silent[..19].iter().all(is_closed));
    assert_eq!(ask(&asked, request).2, b"1");
}

#[test]
fn silent_connections_give_their_descriptors_to_new_ones() {
    if !is_alone() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let silent: Vec<TcpStream> = (0..100).map(|_| connect(address)).collect();
    let newest = connect(address);
    // The server has its own descriptors, and the descriptors of a few connections.
    let limits = getrlimit(Resource::Nofile);
    let current = descriptor_count() + 20;
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limits }).unwrap();
    let hour = Duration::from_secs(3600);
    let options = HttpOptions { first_header_timeout: hour, header_timeout: hour, ..HttpOptions::default() };
    let server = HttpServer::start(vec![listener.into()], options, Repeating::default()).unwrap();
    assert_eq!(ask(&newest, b"GET /length/1 HTTP/1.1\r\nHost: a\r\n\r\n").2, b"1");
    assert!(is_closed(&silent[0]));
    drop(server);
}

#[test]
fn a_header_that_is_too_long_is_refused_in_one_piece_and_in_many() {
    let server = start(HttpOptions::default());
    let header = |size: usize| {
        let mut header = b"GET /length/1 HTTP/1.1\r\nHost: a\r\nX: ".to_vec();
        header.resize(size - 4, b'x');
        [&*header, b"\r\n\r\n"].concat()
    };
    let answer = |bytes: &[u8], piece_size| {
        let mut stream = connect(server.addresses()[0]);
        for piece in bytes.chunks(piece_size) {
            // The answer may come before the last piece.
            if stream.write_all(piece).is_err() {
                break;
            }
        }
        let mut status = String::new();
        let _ = BufReader::new(&stream).read_line(&mut status);
        status.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for size in [32 * 1024 + 1, 40_000, 60_000] {
        assert_eq!(answer(&header(size), size), "431", "{size}");
    }
    assert_eq!(answer(&header(40_000), 1_000), "431");
    for piece_size in [1_000, 100_000] {
        assert_eq!(answer(&header(30_000), piece_size), "200");
    }
}

#[test]
fn a_thousand_clients_that_never_read_or_write_cost_little() {
    if !is_alone() {
        return;
    }
    let server = start(HttpOptions::default());
    let address = server.addresses()[0];
    let before = resident_bytes();
    let clients: Vec<TcpStream> = (0..1000)
        .map(|index| {
            let mut stream = connect(address);
            let bytes: &[u8] = match index % 4 {
                0 => b"",
                1 => b"GET /length/1 HTTP/1.1\r\nHost:",
                2 => b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\nslow",
                _ => b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n",
            };
            stream.write_all(bytes).unwrap();
            stream
        })
        .collect();
    // Another client is served meanwhile.
    let stream = connect(address);
    for _ in 0..100 {
        assert_eq!(ask(&stream, b"GET /length/2 HTTP/1.1\r\nHost: a\r\n\r\n").2, b"11");
    }
    let each = resident_bytes().saturating_sub(before) / 1000;
    assert!(each < 256 * 1024, "{each} bytes each");
    drop(clients);
    drop(server);
}

/// Returns `true` if this test has the process, its memory and its descriptors for itself. Otherwise another process
/// has run the test.
fn is_alone() -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let name = std::thread::current().name().map(str::to_owned).unwrap();
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", &name]).env(ALONE, "1").run_to_end();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}

#[test]
fn stopping_lets_a_request_end_and_closes_idle_connections() {
    let server = start(HttpOptions::default());
    let address = server.addresses()[0];
    let idle = connect(address);
    assert_eq!(ask(&idle, b"GET /length/2 HTTP/1.1\r\nHost: a\r\n\r\n").2, b"11");
    let mut busy = connect(address);
    busy.write_all(b"POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .unwrap();
    let mut reader = BufReader::new(&busy);
    assert_eq!(read_response(&mut reader).0, "HTTP/1.1 100 Continue");
    let stopping = std::thread::Builder::new().name("stop".into()).spawn(move || drop(server)).unwrap();
    assert!(is_closed(&idle));
    (&mut &busy).write_all(b"abc").unwrap();
    assert_eq!(read_response(&mut reader).2, b"{\"size\":3}");
    stopping.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn malformed_requests_are_refused() {
    let server = start(HttpOptions::default());
    let address = server.addresses()[0];
    for (bytes, status) in [
        ("GARBAGE\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(100_000)), "HTTP/1.1 431"),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(100_000)), "HTTP/1.1 4"),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n".to_owned(), "HTTP/1.1 400"),
    ] {
        let mut stream = connect(address);
        // The server may have closed before everything is sent.
        let _ = stream.write_all(bytes.as_bytes());
        let mut line = String::new();
        let _ = BufReader::new(&stream).read_line(&mut line);
        assert!(line.starts_with(status) || line.is_empty() && bytes.len() > 1000, "{line} {}", &bytes[..20]);
    }
}
