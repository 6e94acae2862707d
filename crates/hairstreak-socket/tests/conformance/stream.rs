//! STREAM, over the transports and by the calls that it has: it knows no mechanism.

use hairstreak_socket::{Context, Message, SendError, Stream};
use hairstreak_testkit::until;

use crate::cell::{Cell, check_plain};
use crate::shapes::shapes;

/// Two of them, joined, and what each calls the other.
fn pair(cell: Cell) -> [(Stream, Vec<u8>); 2] {
    let [a, b] = [(); 2].map(|()| Stream::new(&Context::new()).unwrap());
    cell.join(&a, &b);
    [a, b].map(|stream| {
        let name = receive_notice(cell, &stream);
        (stream, name)
    })
}

/// Who that is, and what came of it.
fn receive(cell: Cell, stream: &Stream) -> (Vec<u8>, Vec<u8>) {
    let message = cell.recv(stream);
    assert_eq!(message.frame_count(), 2, "{cell:?}");
    let mut frames = message.frames().map(<[u8]>::to_vec);
    (frames.next().unwrap(), frames.next().unwrap())
}

fn receive_notice(cell: Cell, stream: &Stream) -> Vec<u8> {
    let (name, bytes) = receive(cell, stream);
    assert!(bytes.is_empty(), "{cell:?}: {bytes:?} instead of a notice");
    name
}

/// Receives so many bytes of that peer, in pieces of any size.
fn receive_bytes(cell: Cell, stream: &Stream, from: &[u8], count: usize) -> Vec<u8> {
    let mut got = Vec::new();
    while got.len() < count {
        let (name, bytes) = receive(cell, stream);
        assert!(name == from && !bytes.is_empty(), "{cell:?}: after {} bytes", got.len());
        got.extend(bytes);
    }
    got
}

#[test]
fn the_bytes_of_every_shape_go_both_ways_without_their_frames() {
    check_plain(|cell| {
        let [(a, b_name), (b, a_name)] = pair(cell);
        let shapes: Vec<Message> = shapes().into_iter().filter(|message| message.size() > 0).collect();
        for message in &shapes {
            let bytes: Vec<u8> = message.frames().flatten().copied().collect();
            for (from, to_name, to, from_name) in [(&a, &b_name, &b, &a_name), (&b, &a_name, &a, &b_name)] {
                let frames = std::iter::once(&to_name[..]).chain(message.frames());
                cell.send(from, &Message::from_frames(frames));
                assert!(receive_bytes(cell, to, from_name, bytes.len()) == bytes, "{cell:?}: {message:?}");
            }
        }
        let (a, b) = (a.stats(), b.stats());
        assert_eq!((a.sent, b.sent), (shapes.len() as u64, shapes.len() as u64), "{cell:?}");
        assert_eq!((a.received_bytes, b.received_bytes), (b.sent_bytes, a.sent_bytes), "{cell:?}");
    });
}

#[test]
fn peers_are_told_apart_by_their_names() {
    check_plain(|cell| {
        let hub = Stream::new(&Context::new()).unwrap();
        let peers: Vec<(Stream, Vec<u8>, Vec<u8>)> = (0..3)
            .map(|_| {
                let peer = Stream::new(&Context::new()).unwrap();
                cell.join(&hub, &peer);
                let hubs_name = receive_notice(cell, &peer);
                (peer, hubs_name, receive_notice(cell, &hub))
            })
            .collect();
        for round in 0..20 {
            for (peer, hubs_name, name) in &peers {
                let question = format!("{round} of {name:?}");
                cell.send(peer, &[&hubs_name[..], question.as_bytes()]);
                assert_eq!(receive_bytes(cell, &hub, name, question.len()), question.as_bytes(), "{cell:?}");
                cell.send(&hub, &[&name[..], b"yes, ", name]);
                assert_eq!(receive_bytes(cell, peer, hubs_name, 10), [b"yes, ", &name[..]].concat());
            }
        }
    });
}

#[test]
fn a_message_without_bytes_closes_once_what_was_sent_before_has_gone() {
    check_plain(|cell| {
        let [a, b] = pair(cell);
        // Who has connected does not connect again when it is this side that ends it.
        let ((near, far_name), (far, near_name)) = if cell.first_binds { (b, a) } else { (a, b) };
        let last = vec![7; 1 << 20];
        cell.send(&near, &[&far_name[..], &last]);
        cell.send(&near, &[&far_name[..], b""]);
        assert_eq!(cell.try_to_send(&near, &[&far_name[..], b"more"]), Err(SendError::Unroutable));
        assert!(receive_bytes(cell, &far, &near_name, last.len()) == last, "{cell:?}");
        assert_eq!(receive_notice(cell, &far), near_name, "{cell:?}");
        until("it is over", || near.stats().peer_count == 0 && far.stats().peer_count == 0);
        assert_eq!(cell.try_to_send(&far, &[&near_name[..], b"late"]), Err(SendError::Unroutable));
        assert!(near.try_recv().is_err(), "{cell:?}: who ends it is not told");
    });
}

#[test]
fn what_is_for_nobody_is_refused() {
    check_plain(|cell| {
        let [(a, b_name), (b, a_name)] = pair(cell);
        for nobody in [&b"\0\0\0\0"[..], b"nobody", b""] {
            assert_eq!(cell.try_to_send(&a, &[nobody, b"x"]), Err(SendError::Unroutable), "{cell:?}");
        }
        assert_eq!(cell.try_to_send(&a, &b_name), Err(SendError::Unroutable), "a name alone is for nobody");
        cell.send(&a, &[&b_name[..], b"x"]);
        assert_eq!(receive_bytes(cell, &b, &a_name, 1), b"x");
        assert_eq!((a.stats().sent, a.stats().drops.total()), (1, 0), "{cell:?}");
    });
}
