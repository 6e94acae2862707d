//! TLS: accepted and refused peers, configuration, bytes changed or cut on the way, and the memory of an idle connection.

use std::io::{ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::time::Instant;

use hairstreak_base::BlockPool;
use hairstreak_testkit::rng;
use hairstreak_transport::tls::{
    ClientCertificates, Pem, TlsClient, TlsClientOptions, TlsIdentity, TlsServer, TlsServerOptions,
};
use hairstreak_transport::{ClientLayer, Connection, Readiness, ServerLayer, Stream};

use crate::certificate::{
    SERVER_NAME, client, client_options, client_with, identity, path, pem, server, server_asking,
    server_options,
};
use crate::end::pattern;
use crate::memory;
use crate::middle::Middle;

/// Bytes of a TLS 1.3 record in addition to its data: header, type, tag.
const RECORD_OVERHEAD: usize = 5 + 1 + 16;
const CLOSE_NOTIFY_SIZE: usize = RECORD_OVERHEAD + 2;
/// More bytes than are ever on the way in these tests.
const ALL: usize = 1 << 20;

fn between(client: TlsClient, server: TlsServer) -> (Stream, Middle, Stream) {
    Middle::between(&ClientLayer::Tls(client), &ServerLayer::Tls(server))
}

/// Both established ends, and the middle.
fn established(client: TlsClient, server: TlsServer) -> (Stream, Middle, Stream) {
    let (mut client, mut middle, mut server) = between(client, server);
    assert!(middle.establish(&mut client, &mut server, ALL).unwrap());
    (client, middle, server)
}

/// Reads once, at most 64 KiB. `None` if no byte is there yet.
fn read(stream: &mut Stream) -> Option<std::io::Result<Vec<u8>>> {
    match stream.read(&mut [MaybeUninit::uninit(); 65_536]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        other => Some(other.map(|bytes| bytes.to_vec())),
    }
}

fn write(stream: &mut Stream, bytes: &[u8]) {
    assert_eq!(stream.write(&[IoSlice::new(bytes)]).unwrap(), bytes.len());
}

/// The error of the client, and the error of the server after all bytes are passed on.
fn refusals(client: TlsClient, server: TlsServer) -> (String, String) {
    let (mut client, mut middle, mut server) = between(client, server);
    let (mut client_error, mut server_error) = (None, None);
    for _ in 0..10 {
        client_error = client_error.or_else(|| error_of(&mut client));
        server_error = server_error.or_else(|| error_of(&mut server));
        middle.pass(ALL);
    }
    (client_error.expect("the client fails"), server_error.expect("the server fails"))
}

/// The error of the handshake, or of the first read after it.
fn error_of(stream: &mut Stream) -> Option<String> {
    let error = stream.establish().err().or_else(|| {
        let read = stream.is_established().then(|| read(stream));
        read.flatten().and_then(Result::err)
    });
    error.map(|error| error.to_string())
}

#[track_caller]
fn assert_part(text: &str, part: &str) {
    assert!(text.contains(part) && !text.contains('\n'), "{text:?} instead of {part:?}");
}

#[test]
fn a_server_is_refused_for_its_name_its_issuer_or_its_age_and_the_error_says_so() {
    let stranger_roots = client_with(&TlsClientOptions::new(pem("stranger-ca.pem")));
    let expired = TlsServer::load(&TlsServerOptions::new(identity("expired.pem", "server.key"))).unwrap();
    for (client, server, client_words, server_words) in [
        (client().for_server("elsewhere.test").unwrap(), server(), "elsewhere.test", "bad_certificate"),
        (client().for_server("127.0.0.2").unwrap(), server(), "127.0.0.2", "bad_certificate"),
        (stranger_roots, server(), "none of the CA roots", "unknown_ca"),
        (client(), expired, "expired", "certificate_expired"),
    ] {
        let (client_error, server_error) = refusals(client, server);
        assert_part(&client_error, "TLS handshake: ");
        assert_part(&client_error, client_words);
        assert_part(&server_error, &format!("the peer refuses with the alert {server_words}"));
    }
}

#[test]
fn a_server_may_show_a_certificate_that_the_client_was_given_itself() {
    for name in ["self.pem", "common-name.pem"] {
        let server = || TlsServer::load(&TlsServerOptions::new(identity(name, "server.key"))).unwrap();
        let given = client_with(&TlsClientOptions::new(pem(name)));
        let (_client, _middle, secured) = established(given.clone(), server());
        assert_eq!(secured.tls().unwrap().server_name(), Some(SERVER_NAME));
        for (client, words) in [
            (given.for_server("elsewhere.test").unwrap(), "is not for elsewhere.test"),
            (given.for_server("127.0.0.1").unwrap(), "is not for 127.0.0.1"),
            (client(), "is that of a CA"),
        ] {
            let (client_error, _) = refusals(client, server());
            assert_part(&client_error, words);
        }
    }
    let expired =
        TlsServer::load(&TlsServerOptions::new(identity("expired-self.pem", "server.key"))).unwrap();
    let (client_error, server_error) =
        refusals(client_with(&TlsClientOptions::new(pem("expired-self.pem"))), expired);
    assert_part(&client_error, "expired");
    assert_part(&server_error, "certificate_expired");
    // A certificate for another purpose than this end of TLS.
    let other = TlsServer::load(&TlsServerOptions::new(identity("client.pem", "client.key"))).unwrap();
    let (client_error, _) = refusals(client_with(&TlsClientOptions::new(pem("client.pem"))), other);
    assert_part(&client_error, "is not for this side of TLS");
}

#[test]
fn a_client_may_show_a_certificate_that_the_server_was_given_itself() {
    let shows = |certificate| {
        let identity = Some(identity(certificate, "server.key"));
        client_with(&TlsClientOptions { identity, ..client_options() })
    };
    for asks in [ClientCertificates::Required, ClientCertificates::Optional] {
        let (_client, _middle, server) = established(shows("self.pem"), server_asking(asks(pem("self.pem"))));
        assert!(server.tls().unwrap().peer_certificate().is_some());
        let (_, server_error) =
            refusals(shows("expired-self.pem"), server_asking(asks(pem("expired-self.pem"))));
        assert_part(&server_error, "expired");
        let (_, server_error) = refusals(shows("server.pem"), server_asking(asks(pem("server.pem"))));
        assert_part(&server_error, "is not for this side of TLS");
    }
}

#[test]
fn certificates_and_keys_of_unknown_kinds_are_one_line_that_says_what_to_do() {
    for (certificate, key, words) in [
        (
            "old.pem",
            "server.key",
            "of X.509 version 1, and TLS needs version 3: make it anew, as openssl req -x509",
        ),
        (
            "server.pem",
            "p521.key",
            "P-256 or P-384, or Ed25519; such a key and its certificate can be made by openssl",
        ),
    ] {
        let error =
            TlsServer::load(&TlsServerOptions::new(identity(certificate, key))).unwrap_err().to_string();
        assert_part(&error, words);
    }
    // A root may be of version 1.
    TlsClient::load(&TlsClientOptions::new(pem("old.pem")), SERVER_NAME).unwrap();
}

#[test]
fn a_server_may_be_known_by_its_address() {
    let (_client, _middle, server) = established(client().for_server("127.0.0.1").unwrap(), server());
    assert_eq!(server.tls().unwrap().server_name(), None);
}

#[test]
fn each_side_learns_what_the_other_showed_and_what_they_agreed_on() {
    let options = TlsServerOptions {
        protocols: vec!["spoken".into(), "other".into()],
        client_certificates: ClientCertificates::Required(pem("ca.pem")),
        ..server_options()
    };
    let client = client_with(&TlsClientOptions {
        identity: Some(identity("client.pem", "client.key")),
        protocols: vec!["other".into(), "spoken".into()],
        ..client_options()
    });
    let (client, _middle, server) = established(client, TlsServer::load(&options).unwrap());
    let (client, server) = (client.tls().unwrap(), server.tls().unwrap());
    assert!(client.peer_certificate().is_some_and(|der| contains(der, b"localhost")));
    assert!(server.peer_certificate().is_some_and(|der| contains(der, b"tester")));
    assert_eq!((client.protocol(), server.protocol()), (Some(&b"spoken"[..]), Some(&b"spoken"[..])));
    assert_eq!((client.server_name(), server.server_name()), (None, Some(SERVER_NAME)));
    assert_eq!((client.version(), client.cipher_suite()), ("TLSv1_3", "TLS13_AES_256_GCM_SHA384"));
    let (plain, _) = Stream::pair().unwrap();
    assert!(plain.tls().is_none());
}

fn contains(der: &[u8], part: &[u8]) -> bool {
    der.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_client_shows_a_certificate_where_the_server_wants_one_and_only_a_known_one() {
    let known = client_with(&TlsClientOptions {
        identity: Some(identity("client.pem", "client.key")),
        ..client_options()
    });
    let (_client, _middle, server) =
        established(known.clone(), server_asking(ClientCertificates::Optional(pem("ca.pem"))));
    assert!(server.tls().unwrap().peer_certificate().is_some());
    let (_client, _middle, server) =
        established(client(), server_asking(ClientCertificates::Optional(pem("ca.pem"))));
    assert!(server.tls().unwrap().peer_certificate().is_none());

    let (client_error, server_error) =
        refusals(client(), server_asking(ClientCertificates::Required(pem("ca.pem"))));
    assert_part(&client_error, "the peer refuses with the alert certificate_required");
    assert_part(&server_error, "the client shows no certificate");
    for asks in [ClientCertificates::Required, ClientCertificates::Optional] {
        let (client_error, server_error) =
            refusals(known.clone(), server_asking(asks(pem("stranger-ca.pem"))));
        assert_part(&client_error, "the peer refuses with the alert unknown_ca");
        assert_part(&server_error, "none of the CA roots given here has signed the peer's certificate");
    }
}

#[test]
fn a_client_whose_certificate_has_expired_is_refused() {
    let identity = Some(identity("expired-client.pem", "client.key"));
    let expired = client_with(&TlsClientOptions { identity, ..client_options() });
    let (client_error, server_error) =
        refusals(expired, server_asking(ClientCertificates::Optional(pem("ca.pem"))));
    assert_part(&client_error, "the peer refuses with the alert certificate_expired");
    assert_part(&server_error, "expired");
}

#[test]
fn a_server_that_is_reloaded_shows_the_new_certificate_and_keeps_its_connections() {
    let strangers = client_with(&TlsClientOptions::new(pem("stranger-ca.pem")));
    let expired = TlsServerOptions::new(identity("expired.pem", "server.key"));
    let reloaded = TlsServer::load(&expired).unwrap();
    // The listener's clone follows.
    let listening = reloaded.clone();
    let (client_error, _) = refusals(client(), listening.clone());
    assert_part(&client_error, "expired");
    // Options that cannot be used change nothing.
    let broken = TlsServerOptions::new(identity("server.pem", "missing.key"));
    assert_part(&reloaded.reload(&broken).unwrap_err().to_string(), "missing.key");
    let (client_error, _) = refusals(client(), listening.clone());
    assert_part(&client_error, "expired");
    reloaded.reload(&server_options()).unwrap();
    let (mut old, mut middle, mut server) = established(client(), listening.clone());
    let asks = ClientCertificates::Required(pem("ca.pem"));
    reloaded.reload(&TlsServerOptions { client_certificates: asks, ..server_options() }).unwrap();
    let (client_error, _) = refusals(client(), listening.clone());
    assert_part(&client_error, "certificate_required");
    let (client_error, _) = refusals(strangers, listening);
    assert_part(&client_error, "none of the CA roots");
    trickle(&mut old, &mut server, &mut middle, 1_000);
}

#[test]
fn two_sides_without_a_common_protocol_do_not_agree() {
    let speaks = |protocol: &str| vec![protocol.to_owned()];
    let client = client_with(&TlsClientOptions { protocols: speaks("one"), ..client_options() });
    let server =
        TlsServer::load(&TlsServerOptions { protocols: speaks("other"), ..server_options() }).unwrap();
    let (client_error, _) = refusals(client, server);
    assert_part(&client_error, "no_application_protocol");
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_in_one_line_that_names_the_file() {
    let text = |name: &str| Pem::bytes("the text", std::fs::read(path(name)).unwrap());
    let begun = Pem::bytes("the text", "-----BEGIN CERTIFICATE-----\nMIIB\n");
    let broken = Pem::bytes("the text", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    let broken_key = Pem::bytes("the text", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n");
    let long = Pem::bytes("the text", vec![b' '; (4 << 20) + 1]);
    let (chain, key) = (pem("server.pem"), pem("server.key"));
    for (certificates, key, words) in [
        (pem("missing.pem"), key.clone(), "missing.pem: No such file"),
        (chain.clone(), pem("missing.key"), "missing.key: No such file"),
        (Pem::file("/"), key.clone(), "/: Is a directory"),
        (text("server.key"), key.clone(), "the text: no certificate"),
        (chain.clone(), text("server.pem"), "the text: no private key"),
        (chain.clone(), text("encrypted.key"), "the text: the private key is encrypted"),
        (
            chain.clone(),
            pem("client.key"),
            "client.key: the private key does not belong to the first certificate in",
        ),
        (begun, key.clone(), "the text: not PEM"),
        (broken.clone(), key.clone(), "the text: the certificate cannot be used"),
        (chain.clone(), broken_key, "the text: the private key cannot be used"),
        (long, key, "the text: larger than 4194304 bytes"),
    ] {
        let identity = TlsIdentity { certificates, key };
        let error = TlsServer::load(&TlsServerOptions::new(identity.clone())).unwrap_err().to_string();
        assert_part(&error, words);
        let options = TlsClientOptions { identity: Some(identity), ..client_options() };
        assert_eq!(TlsClient::load(&options, SERVER_NAME).unwrap_err().to_string(), error);
    }
    for roots in [broken, text("server.key")] {
        let error = TlsClient::load(&TlsClientOptions::new(roots.clone()), SERVER_NAME).unwrap_err();
        assert_part(&error.to_string(), "the text: ");
        let asks = ClientCertificates::Required(roots);
        let options = TlsServerOptions { client_certificates: asks, ..server_options() };
        assert_eq!(TlsServer::load(&options).unwrap_err().to_string(), error.to_string());
    }
    for name in ["", "a b", "-", "localhost:1"] {
        assert_part(
            &client().for_server(name).unwrap_err().to_string(),
            &format!("\"{name}\": neither a DNS name"),
        );
    }
    for (size, is_taken) in [(0, false), (1, true), (255, true), (256, false)] {
        let options = TlsClientOptions { protocols: vec!["x".repeat(size)], ..client_options() };
        let result = TlsClient::load(&options, SERVER_NAME);
        assert_eq!(result.is_ok(), is_taken, "{size}");
    }
}

#[test]
fn bytes_that_arrive_one_at_a_time_make_the_same_connection() {
    let (mut client, mut middle, mut server) = between(client(), server());
    assert!(middle.establish(&mut client, &mut server, 1).unwrap());
    trickle(&mut client, &mut server, &mut middle, 20_000);
    trickle(&mut server, &mut client, &mut middle, 1_000);
}

/// Passes `size` bytes and the end on, one byte at a time.
fn trickle(from: &mut Stream, to: &mut Stream, middle: &mut Middle, size: usize) {
    write(from, &pattern(0, size));
    from.shutdown_write();
    let mut received = Vec::new();
    loop {
        let passed = middle.pass(1);
        match read(to) {
            Some(bytes) if bytes.as_ref().is_ok_and(Vec::is_empty) => break,
            Some(bytes) => received.extend(bytes.unwrap()),
            None => assert!(passed > 0, "all is passed on, and {} bytes came", received.len()),
        }
    }
    assert_eq!(received, pattern(0, size));
}

/// The place of a changed bit.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In a byte of the handshake, sent by the client or by the server.
    Up(usize),
    Down(usize),
    /// In a byte that the client sends after the handshake.
    Data(usize),
}

/// The client sends 500 bytes and the end, and a bit is changed on the way. Returns the bytes that the server read, and whether it
/// saw a clean end. `None` if no connection was established.
fn with_changed_bit(place: Place, bit: u8) -> Option<(Vec<u8>, bool)> {
    let (mut client, mut middle, mut server) = between(client(), server());
    match place {
        Place::Up(at) => middle.up.flipped_bit = Some((at, bit)),
        Place::Down(at) => middle.down.flipped_bit = Some((at, bit)),
        Place::Data(_) => {}
    }
    // An error, or a peer that waits for missing bytes. The driver has the time limit for such a wait.
    if !middle.establish(&mut client, &mut server, ALL).is_ok_and(|is_done| is_done) {
        return None;
    }
    if let Place::Data(at) = place {
        middle.up.flipped_bit = Some((middle.up.passed + at, bit));
    }
    write(&mut client, &pattern(0, 500));
    client.shutdown_write();
    middle.up.pass(ALL);
    middle.up.cut();
    let mut received = Vec::new();
    loop {
        match read(&mut server).expect("the socket has ended") {
            Ok(bytes) if bytes.is_empty() => return Some((received, true)),
            Ok(bytes) => received.extend(bytes),
            Err(_) => return Some((received, false)),
        }
    }
}

#[test]
fn a_bit_that_was_changed_on_the_way_never_changes_data() {
    let mut random = rng();
    let (client, middle, server) = established(client(), server());
    let (up, down) = (middle.up.passed, middle.down.passed);
    drop((client, server));
    for place in (0..up).step_by(7).map(Place::Up).chain((0..down).step_by(7).map(Place::Down)) {
        if let Some((received, _)) = with_changed_bit(place, random.u8(0..8)) {
            assert!(received.is_empty() || received == pattern(0, 500), "{place:?}");
        }
    }
    let close_notify_at = RECORD_OVERHEAD + 500;
    for at in (0..close_notify_at + CLOSE_NOTIFY_SIZE).step_by(3) {
        let (received, is_clean) = with_changed_bit(Place::Data(at), random.u8(0..8)).unwrap();
        let is_whole = received == pattern(0, 500);
        assert!(is_whole || received.is_empty(), "byte {at}");
        // Type and version in the header of a record have no meaning, and are the same in every record (RFC 8446, 5.2).
        if at % close_notify_at >= 3 {
            assert_eq!((is_whole, is_clean), (at >= close_notify_at, false), "byte {at}");
        }
    }
}

#[test]
fn an_end_that_was_not_announced_is_an_error_wherever_the_stream_is_cut() {
    let mut clean_ends = 0;
    for kept in 0..=RECORD_OVERHEAD + 100 + CLOSE_NOTIFY_SIZE {
        let (mut client, mut middle, mut server) = established(client(), server());
        write(&mut client, &pattern(0, 100));
        client.shutdown_write();
        middle.up.stop_at = middle.up.passed + kept;
        middle.up.pass(ALL);
        middle.up.cut();
        let mut received = 0;
        let error = loop {
            match read(&mut server).expect("the socket has ended") {
                Ok(bytes) if bytes.is_empty() => break None,
                Ok(bytes) => received += bytes.len(),
                Err(error) => break Some(error),
            }
        };
        assert_eq!(received, if kept < RECORD_OVERHEAD + 100 { 0 } else { 100 }, "{kept} bytes kept");
        match error {
            None => clean_ends += 1,
            Some(error) => {
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                assert_part(&error.to_string(), "without close_notify");
                // Every further read gives the same error.
                assert!(read(&mut server).unwrap().is_err());
            }
        }
    }
    assert_eq!(clean_ends, 1);
}

#[test]
fn data_before_a_record_that_was_changed_is_read_and_then_the_error() {
    let (mut client, mut middle, mut server) = established(client(), server());
    write(&mut client, &pattern(0, 100));
    write(&mut client, &pattern(100, 100));
    middle.up.flipped_bit = Some((middle.up.passed + 200, 0));
    middle.up.pass(ALL);
    assert_eq!(read(&mut server).unwrap().unwrap(), pattern(0, 100));
    for _ in 0..2 {
        let error = read(&mut server).unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_part(&error.to_string(), "decrypt");
    }
    // The client is told.
    middle.down.pass(ALL);
    let error = read(&mut client).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_part(&error.to_string(), "the peer refuses with the alert bad_record_mac");
}

#[test]
fn bad_bytes_hurt_nobody_after_this_side_has_ended_its_own() {
    let (mut client, mut middle, mut server) = established(client(), server());
    server.shutdown_write();
    write(&mut client, &pattern(0, 100));
    middle.up.flipped_bit = Some((middle.up.passed + 50, 0));
    middle.up.pass(ALL);
    assert_eq!(read(&mut server).unwrap().unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(!server.has_unsent());
}

#[test]
fn an_end_that_nobody_hears_is_no_error() {
    let (client, middle, mut server) = established(client(), server());
    drop((client, middle));
    server.shutdown_write();
    assert!(!server.has_unsent());
    server.flush().unwrap();
}

#[test]
fn ciphertext_that_finds_no_room_is_bounded() {
    let (mut client, mut middle, mut server) = established(client(), server());
    let mut sent = 0;
    let bytes = pattern(0, 1 << 20);
    let (_, held_max) = memory::held_by(|| {
        while let Ok(count) = client.write(&[IoSlice::new(&bytes)]) {
            sent += count;
        }
    });
    assert!(client.has_unsent() && sent > 65_536);
    println!("{sent} bytes sent, {held_max} bytes held");
    assert!(held_max < 80_000, "{held_max} bytes held");
    let mut received = 0;
    while client.has_unsent() || received < sent {
        let _ = client.flush();
        middle.up.pass(50_000);
        while let Some(bytes) = read(&mut server) {
            received += bytes.unwrap().len();
        }
    }
    assert_eq!(received, sent);
}

#[test]
fn bytes_that_are_decrypted_and_not_read_count_as_unread() {
    let (mut client, mut middle, mut server) = established(client(), server());
    write(&mut client, &pattern(0, 100));
    middle.up.pass(ALL);
    assert!(server.has_unread());
    assert_eq!(server.read(&mut [MaybeUninit::uninit(); 10]).unwrap(), pattern(0, 10));
    assert!(server.has_unread());
    assert_eq!(read(&mut server).unwrap().unwrap(), pattern(10, 90));
    assert!(!server.has_unread());
}

#[test]
fn a_connection_ends_its_output_behind_the_ciphertext_that_waits() {
    const SIZE: usize = 1 << 20;
    let (client, mut middle, mut server) = established(client(), server());
    let now = Instant::now();
    let mut client = Connection::new(client, &BlockPool::new(), now, now);
    client.output.push_copy(&[], &pattern(0, SIZE), true);
    client.end_output();
    let mut received = 0;
    client.flush().unwrap();
    // An event follows only a write without room.
    while !client.is_writable() {
        middle.up.pass(50_000);
        while let Some(bytes) = read(&mut server) {
            received += bytes.unwrap().len();
        }
        client.on_event(&Readiness { token: 0, readable: false, writable: true, ended: false });
        client.flush().unwrap();
    }
    while middle.up.pass(50_000) > 0 {
        if let Some(bytes) = read(&mut server) {
            received += bytes.unwrap().len();
        }
    }
    assert_eq!(received, SIZE);
    assert!(read(&mut server).expect("the end is here").unwrap().is_empty());
}

#[test]
fn a_connection_at_rest_keeps_little() {
    const COUNT: isize = 10;
    let (client_config, server_config) = (client(), server());
    let (mut client_held, mut server_held) = (0, 0);
    let mut connections = Vec::new();
    for _ in 0..COUNT {
        let (mut client, mut middle, mut server) = between(client_config.clone(), server_config.clone());
        while !(client.is_established() && server.is_established()) {
            client_held += memory::held_by(|| assert!(client.establish().is_ok())).0;
            server_held += memory::held_by(|| assert!(server.establish().is_ok())).0;
            middle.pass(ALL);
        }
        client_held += pass_on(&mut client, &mut server, &mut middle, &mut server_held);
        server_held += pass_on(&mut server, &mut client, &mut middle, &mut client_held);
        connections.push((client, middle, server));
    }
    println!("a client keeps {} bytes, a server {}", client_held / COUNT, server_held / COUNT);
    assert!(client_held / COUNT < 12_000 && server_held / COUNT < 10_000);
}

/// Writes 100,000 bytes and reads them. Returns the memory that the writer keeps in addition to before, and adds that of the reader.
fn pass_on(from: &mut Stream, to: &mut Stream, middle: &mut Middle, to_held: &mut isize) -> isize {
    let bytes = pattern(0, 100_000);
    let mut room = vec![MaybeUninit::uninit(); 65_536];
    let (mut held, _) =
        memory::held_by(|| assert_eq!(from.write(&[IoSlice::new(&bytes)]).unwrap(), bytes.len()));
    while middle.pass(ALL) > 0 || from.has_unsent() {
        held += memory::held_by(|| drop(from.flush())).0;
        *to_held += memory::held_by(|| while to.read(&mut room).is_ok() {}).0;
    }
    held
}
