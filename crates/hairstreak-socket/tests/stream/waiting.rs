//! Waiting for room, with a poller and in a proxy.

use std::time::Duration;

use hairstreak_socket::{Context, Dealer, Interest, Options, Poller, Proxy, SendError, Stream};

use crate::{LONG, client, endpoints::endpoint, listening, read_exactly, receive_notice, write};

fn is_writable(stream: &Stream, timeout: Duration) -> bool {
    let mut poller = Poller::new().unwrap();
    poller.add(stream, 0, Interest::WRITABLE).unwrap();
    let mut ready = Vec::new();
    poller.wait_timeout(&mut ready, timeout).unwrap();
    ready.iter().any(|found| found.writable)
}

#[test]
fn it_is_writable_as_long_as_a_client_has_room() {
    let options = Options { send_bytes_max: 1 << 20, ..Options::default() };
    let (stream, place) = listening(options);
    assert!(!is_writable(&stream, Duration::ZERO));
    let mut client = client(&place);
    let name = receive_notice(&stream);
    let body = vec![7; 100_000];
    let mut sent = 0;
    while is_writable(&stream, Duration::ZERO) {
        stream.try_send(&[&name[..], &body]).unwrap();
        sent += 1;
        assert!(sent < 10_000, "no bound");
    }
    assert!(sent > 0, "it never was");
    assert_eq!(stream.try_send(&[&name[..], &body]), Err(SendError::WouldBlock));
    assert!(read_exactly(&mut client, sent * body.len()).iter().all(|byte| *byte == 7));
    assert!(is_writable(&stream, LONG));
    stream.try_send(&[&name[..], &body]).unwrap();
}

#[test]
fn a_proxy_passes_between_plain_clients_and_a_dealer() {
    let context = Context::new();
    let stream = Stream::new(&context).unwrap();
    let place = stream.bind("tcp://127.0.0.1:*").unwrap().to_string();
    let inside = Dealer::new(&context).unwrap();
    let exit = inside.bind(&endpoint("tcp")).unwrap().to_string();
    let mut proxy = Proxy::new(&stream, &inside).unwrap();
    let control = proxy.control();
    let running = std::thread::spawn(move || proxy.run());
    let worker = Dealer::new(&Context::new()).unwrap();
    worker.connect(&exit).unwrap();
    let mut client = client(&place);
    let notice = worker.recv_timeout(LONG).unwrap();
    let name = notice.frame(0).unwrap();
    for number in 0..100u32 {
        write(&mut client, &number.to_be_bytes());
        let mut got = Vec::new();
        while got.len() < 4 {
            let message = worker.recv_timeout(LONG).unwrap();
            assert_eq!(message.frame(0), Some(name));
            got.extend_from_slice(message.frame(1).unwrap());
        }
        worker.send_timeout(&[name, &got[..]], LONG).unwrap();
        worker.flush();
        assert_eq!(read_exactly(&mut client, 4), number.to_be_bytes());
    }
    control.terminate();
    running.join().unwrap().unwrap();
}
