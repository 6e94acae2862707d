//! Strangers at a TLS server: garbage, half a handshake, an endless handshake. They get an alert or the end, cost little, and delay no
//! other client.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_testkit::rng;
use hairstreak_transport::event_loop::{Context, EventLoops, LoopOptions, Protocol};
use hairstreak_transport::tls::{ClientCertificates, Pem, TlsClientOptions, TlsIdentity};
use hairstreak_transport::{ClientLayer, Endpoint, ServerLayer, Stream};

use crate::certificate::{client, client_options, client_with, path, pem, server, server_asking};
use crate::end::{End, pattern};
use crate::kind::Kind;
use crate::memory;
use crate::middle::Middle;

const HANDSHAKE_BYTES_MAX: usize = 28 * 1024;

/// A server, and the socket of a stranger at its other end.
fn server_and_stranger() -> (Stream, UnixStream) {
    let (stream, stranger) = Stream::pair().unwrap();
    let stranger = stranger.readiness_source().unwrap().try_clone_to_owned().unwrap();
    rustix::fs::fcntl_setfl(&stranger, rustix::fs::OFlags::empty()).unwrap();
    (stream.with_server_layer(&ServerLayer::Tls(server())), stranger.into())
}

/// The first bytes of a client.
fn client_hello() -> Vec<u8> {
    let (stream, stranger) = Stream::pair().unwrap();
    let mut stream = stream.with_client_layer(&ClientLayer::Tls(client()));
    stream.establish().unwrap();
    drop(stream);
    let mut bytes = Vec::new();
    let source = stranger.readiness_source().unwrap().try_clone_to_owned().unwrap();
    UnixStream::from(source).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn garbage_is_answered_with_an_alert_and_ends_the_connection() {
    let mut records = vec![0x16, 3, 1, 0, 5];
    records.extend([0xff; 5]);
    for (garbage, words, is_answered) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "the peer does not speak TLS", true),
        (b"HTTP/1.1 400 Bad Request", "the peer does not speak TLS", true),
        (&[0xff; 1000], "the peer does not speak TLS", true),
        // rustls has no alert for a message of 16 MiB.
        (&records, "TLS handshake: ", false),
    ] {
        let (mut server, mut stranger) = server_and_stranger();
        server.establish().unwrap();
        stranger.write_all(garbage).unwrap();
        let error = server.establish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(server.establish().unwrap_err().kind(), ErrorKind::NotConnected);
        drop(server);
        let mut answer = Vec::new();
        let _ = stranger.read_to_end(&mut answer);
        // An alert, fatal.
        assert_eq!(answer.starts_with(&[0x15, 3]) && answer[5] == 2, is_answered, "{answer:?}");
    }
}

#[test]
fn random_bytes_in_the_place_of_a_handshake_hurt_nobody() {
    let mut random = rng();
    let hello = client_hello();
    for _ in 0..300 {
        let (mut server, mut stranger) = server_and_stranger();
        let mut bytes = hello.clone();
        let from = random.usize(..bytes.len());
        bytes[from..].fill_with(|| random.u8(..));
        stranger.write_all(&bytes).unwrap();
        let _ = server.establish();
        drop(stranger);
        assert!(server.establish().is_err(), "{from}");
    }
}

#[test]
fn a_handshake_without_end_is_cut_off_and_held_to_64_kib() {
    let (mut server, mut stranger) = server_and_stranger();
    // A client's first message that announces 60,000 bytes, in records of 1,000.
    let mut message = vec![1, 0, 0xea, 0x60];
    message.resize(60_004, 0);
    let records = message.chunks(1000).flat_map(|part| {
        let size = (part.len() as u16).to_be_bytes();
        [&[0x16, 3, 1, size[0], size[1]], part].concat()
    });
    let bytes: Vec<u8> = records.collect();
    let mut error = None;
    let (_, held_max) = memory::held_by(|| {
        for part in bytes.chunks(1000) {
            if stranger.write_all(part).is_err() {
                break;
            }
            if let Err(failure) = server.establish() {
                error = Some(failure);
                break;
            }
        }
    });
    let error = error.expect("the handshake is too long").to_string();
    assert_eq!(error, format!("TLS handshake: longer than {HANDSHAKE_BYTES_MAX} bytes"));
    println!("{held_max} bytes held");
    assert!(held_max < 64 * 1024, "{held_max} bytes held");
}

/// Returns `true` if a client with this number of certificates is accepted.
fn is_accepted(certificate_count: usize) -> bool {
    let mut chain = std::fs::read(path("client.pem")).unwrap();
    for _ in 1..certificate_count {
        chain.extend(std::fs::read(path("ca.pem")).unwrap());
    }
    let identity = TlsIdentity { certificates: Pem::bytes("chain", chain), key: pem("client.key") };
    let client = client_with(&TlsClientOptions { identity: Some(identity), ..client_options() });
    let server = server_asking(ClientCertificates::Required(pem("ca.pem")));
    let (mut client, mut middle, mut server) =
        Middle::between(&ClientLayer::Tls(client), &ServerLayer::Tls(server));
    let result = middle.establish(&mut client, &mut server, 1 << 20);
    println!("{certificate_count} certificates, {} bytes: {result:?}", middle.up.passed);
    if let Err(error) = &result {
        assert_eq!(error.to_string(), format!("TLS handshake: longer than {HANDSHAKE_BYTES_MAX} bytes"));
    }
    assert_eq!(result.is_ok(), middle.up.passed <= HANDSHAKE_BYTES_MAX);
    result.is_ok()
}

#[test]
fn a_long_chain_of_certificates_is_taken_up_to_the_bound() {
    // A certificate of the chain takes some 400 bytes.
    let taken: Vec<bool> = (60..90).step_by(2).map(is_accepted).collect();
    assert!(taken.is_sorted_by(|one, next| one >= next) && taken[0] && !taken[taken.len() - 1], "{taken:?}");
}

/// Echoes its input.
struct Echo;

impl Protocol for Echo {
    type Mail = ();
    type Error = std::convert::Infallible;

    fn handle_start(&mut self, _: &mut Context<'_, Echo, ()>) -> Result<(), Self::Error> {
        Ok(())
    }

    fn handle_bytes(&mut self, context: &mut Context<'_, Echo, ()>) -> Result<(), Self::Error> {
        let size = context.connection.input.unread().len();
        let bytes = context.connection.input.take(0, size);
        context.connection.output.push_shared(&[], bytes, true);
        Ok(())
    }

    fn handle_mail(&mut self, (): (), _: &mut Context<'_, Echo, ()>) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn strangers_that_stop_in_the_middle_of_the_handshake_hold_their_own_connection_only_and_not_for_long() {
    let place = Kind::Tls.listen();
    let connector = place.connector();
    let Endpoint::Tcp(address) = place.listener.endpoint().clone() else { panic!("not tcp") };
    let options = LoopOptions {
        loop_count: 1,
        establish_timeout: Duration::from_millis(300),
        ..LoopOptions::default()
    };
    let loops = EventLoops::start(options).unwrap();
    loops.listen(place.listener, |_| Some(Echo));
    let hello = Arc::new(client_hello());
    let strangers: Vec<_> = (0..20)
        .map(|index| {
            let mut stranger = TcpStream::connect((&*address.host, address.port)).unwrap();
            stranger.write_all(&hello[..hello.len() * index / 20]).unwrap();
            stranger
        })
        .collect();
    // Meanwhile a client is served.
    let mut client = End::new(connector.connect().unwrap());
    client.establish_by_events().unwrap();
    for round in 0..100 {
        client.write_all(&pattern(round, 1));
        assert_eq!(client.read_some(), pattern(round, 1));
    }
    for mut stranger in strangers {
        let mut answer = Vec::new();
        // The end, or a reset if bytes were left unread.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{answer:?}");
    }
    client.write_all(b"still here");
    assert_eq!(client.read_some(), b"still here");
    client.end_output();
    client.read_to_end().1.unwrap();
    loops.stop().unwrap();
}
