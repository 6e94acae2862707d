//! Invalid addresses, absent servers, and servers without a management API.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use crate::process::{HAIRSTREAK, end};

/// Runs `queues` with these words. It must fail with this status. Returns its line on standard error.
#[track_caller]
fn refused(words: &[&str], status: i32) -> String {
    let mut command = Command::new(HAIRSTREAK);
    command
        .arg("queues")
        .args(words)
        .env_remove("HAIRSTREAK_HTTP_URL")
        .env_remove("HAIRSTREAK_HTTP_PASSWORD");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    end(command.spawn().unwrap(), b"").bad(status)
}

/// A server that sends this answer on each connection, and closes it.
fn server(answer: Vec<u8>) -> SocketAddr {
    answering(move |_| answer.clone(), drop)
}

/// A server that answers each request by its first line, and then calls `then` with the connection.
fn answering(
    answer: impl Fn(&str) -> Vec<u8> + Send + 'static,
    then: impl Fn(TcpStream) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(count) if count > 0 => request.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            let request = String::from_utf8(request).unwrap();
            // A client that has read enough is gone.
            let _ = stream.write_all(&answer(request.lines().next().unwrap_or_default()));
            then(stream);
        }
    });
    address
}

/// The reason of a failure at a server with this answer, without the server's address.
#[track_caller]
fn reason(answer: &str) -> String {
    let address = server(answer.as_bytes().to_vec());
    let reason = refused(&["--url", &format!("http://{address}")], 1);
    reason.replace(&address.to_string(), "HERE")
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn addresses_that_make_no_sense_are_refused_without_the_password() {
    for (url, expected) in [
        ("host:15672", "--url: the address is http://USER:PASSWORD@HOST:PORT"),
        (
            "amqp://u:secret@host",
            "--url: amqp:// is for messages; operators' commands need http:// or https://",
        ),
        ("ftp://u:secret@host", "--url: ftp:// is neither http:// nor https://"),
        ("http://u:secret@host:port", "--url: \"port\" is no port"),
        (
            "http://u:secret@ho st",
            "--url: host and path may only have printable ASCII characters without spaces",
        ),
        (
            "http://u:secret%@host",
            "--url: a percent sign in the address is not followed by two hexadecimal digits",
        ),
    ] {
        assert_eq!(refused(&["--url", url], 2), expected);
    }
    assert!(refused(&["--timeout", "0s"], 2).contains("a timeout is between 1ms and 3600s"));
}

#[test]
fn a_server_that_is_not_there_is_one_clear_line() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let reason = refused(&["--url", &format!("http://{place}")], 1);
    let expected =
        format!("cannot connect to {place}: Connection refused (os error 111); is a management API there?");
    assert!(reason.starts_with(&expected), "{reason}");
    let reason = refused(&["--url", "http://no-such-host.invalid"], 1);
    assert!(reason.starts_with("host \"no-such-host.invalid\" cannot be resolved: "), "{reason}");
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = silent.local_addr().unwrap();
    let reason = refused(&["--url", &format!("http://{place}"), "--timeout", "1s"], 1);
    assert_eq!(reason, format!("no answer from {place} for 1 s to GET /api/queues"));
    // An answer that begins, and does not go on.
    let begun = || b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[".to_vec();
    let place = answering(move |_| begun(), std::mem::forget);
    let reason = refused(&["--url", &format!("http://{place}"), "--timeout", "1s"], 1);
    assert_eq!(reason, format!("no answer from {place} for 1 s to GET /api/queues"));
    let place = server(begun());
    let reason = refused(&["--url", &format!("http://{place}")], 1);
    assert!(reason.starts_with(&format!("the connection to {place} broke: ")), "{reason}");
}

#[test]
fn answers_that_are_none_of_the_api_are_refused() {
    let page = "<html>\n<h1>It works!</h1>";
    let expected = "answered GET /api/queues with status 200 and no JSON: <html>\\n<h1>It works!</h1>; is a management API there?";
    assert_eq!(reason(&answer("200 OK", page)), format!("http://HERE {expected}"));
    let expected = "http://HERE answered GET /api/queues with status 404 and no JSON: Not Found; is a management API there?";
    assert_eq!(reason(&answer("404 Not Found", "Not Found")), expected);
    let expected =
        "http://HERE answered GET /api/queues with status 502 and no JSON; is a management API there?";
    assert_eq!(reason(&answer("502 Bad Gateway", "")), expected);
    assert!(
        reason(&answer("200 OK", "{\"items\": 5}")).starts_with("the API's list is malformed: invalid type")
    );
    assert!(reason(&answer("200 OK", "[{\"name\": 1}, ")).starts_with("the API's list is malformed: EOF"));
    assert!(reason(&answer("200 OK", "\"queues\"")).contains("and no JSON: \"queues\""));
    let moved = "HTTP/1.1 301 Moved\r\nLocation: https://x/\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        reason(moved),
        "http://HERE answered GET /api/queues with status 301, which leads elsewhere: https://x/"
    );
}

#[test]
fn servers_that_speak_something_else_are_refused() {
    let said = reason("220 mail.example ESMTP\r\n");
    assert!(said.starts_with("HERE does not speak HTTP: "), "{said}");
    let said = reason("AMQP\0\0\u{9}\u{1}");
    assert!(
        said.starts_with("HERE does not speak HTTP: ") || said.starts_with("the connection to HERE broke"),
        "{said}"
    );
    let said = reason("");
    assert!(said.starts_with("the connection to HERE broke: "), "{said}");
}

#[test]
fn errors_of_the_api_are_told_in_its_words() {
    let refusal =
        answer("401 Unauthorized", "{\"error\":\"not_authorised\",\"reason\":\"Not management user\"}");
    assert_eq!(reason(&refusal), "HERE refuses user 'guest': Not management user");
    let rejection = answer("400 Bad Request", "{\"error\":\"bad_request\",\"reason\":\"a\\n\\u001b[2Jb\"}");
    assert_eq!(reason(&rejection), "a \\u{1b}[2Jb (status 400)");
    assert_eq!(reason(&answer("405 Method Not Allowed", "")), "the API refuses GET /api/queues (status 405)");
    let failure = answer("500 Internal Server Error", "{\"error\":\"badarg\"}");
    assert_eq!(reason(&failure), "badarg (status 500)");
}

#[test]
fn a_broker_that_can_peek_is_asked_to() {
    let place = answering(
        |request| {
            match request.split(' ').nth(1).unwrap() {
                "/api/overview?columns=product_name" => {
                    answer("200 OK", "{\"product_name\": \"Hairstreak\"}")
                }
                "/api/queues/shop/a%2Fb/peek?offset=5&count=2&encoding=auto&truncate=9" => {
                    answer("200 OK", "[{\"payload\": \"hi\", \"payload_bytes\": 2, \"routing_key\": \"k\"}]")
                }
                other => answer("404 Not Found", &format!("{{\"error\": \"{other}\"}}")),
            }
            .into_bytes()
        },
        drop,
    );
    let mut command = Command::new(HAIRSTREAK);
    command.args(["peek", "a/b", "-n", "2", "--offset", "5", "--truncate", "9", "--vhost", "shop"]);
    command.args(["--url", &format!("http://{place}")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = end(command.spawn().unwrap(), b"").good();
    assert_eq!(shown, "message 5: exchange '', key 'k', 2 bytes\n    hi\n");
}

#[test]
fn text_of_the_api_moves_no_cursor() {
    let address = server(answer("200 OK", "[{\"name\": \"a\\u001b[2Jb\", \"messages\": 1}]").into_bytes());
    let mut command = Command::new(HAIRSTREAK);
    command.args(["queues", "--columns", "name,messages", "--url", &format!("http://{address}")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let table = end(command.spawn().unwrap(), b"").good();
    assert_eq!(table, "name         messages\na\\u{1b}[2Jb         1\n1 queue: 1 message\n");
}
