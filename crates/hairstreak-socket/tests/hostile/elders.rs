//! Peers of ZMTP 3.0, which know no PING.

use std::fs;
use std::net::TcpStream;

use hairstreak_socket::{Context, Options, Pull};
use hairstreak_testkit::until;

use crate::raw::{Raw, greeting, ready};

/// Whether the kernel watches this end of the connection by a keepalive timer (proc(5): `tr` is 2).
fn is_kept_alive(port: u16, stream: &TcpStream) -> bool {
    let ends = [port, stream.local_addr().unwrap().port()].map(|port| format!(":{port:04X}"));
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|fields| {
        fields[1].ends_with(&ends[0]) && fields[2].ends_with(&ends[1]) && fields[5].starts_with("02:")
    })
}

#[test]
fn whether_an_elder_s_host_is_there_is_asked_by_the_kernel() {
    let options = Options { heartbeat_ms: 10, heartbeat_timeout_ms: 3000, ..Options::default() };
    let pull = Pull::with_options(&Context::new(), options).unwrap();
    let place = pull.bind("tcp://127.0.0.1:*").unwrap().to_string();
    let port = place.rsplit(':').next().unwrap().parse().unwrap();
    let mut elder = Raw::connect(&place);
    let mut hello = greeting();
    hello[11] = 0;
    elder.send(&hello);
    elder.send(&ready(&[("Socket-Type", b"PUSH")]));
    elder.read_handshake();
    let Raw::Tcp(stream) = &elder else { unreachable!() };
    until("the connection has keepalive", || is_kept_alive(port, stream));
}
