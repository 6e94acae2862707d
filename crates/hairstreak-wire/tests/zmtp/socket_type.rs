//! Socket types: their names, and which of them may be connected.

use hairstreak_wire::zmtp::SocketType;

#[test]
fn names_are_read_as_they_are_written_and_no_other() {
    for socket_type in SocketType::ALL {
        assert_eq!(SocketType::from_bytes(socket_type.as_str().as_bytes()), Some(socket_type));
        assert_eq!(socket_type.to_string(), socket_type.as_str());
    }
    for name in [b"".as_slice(), b"push", b"PUSHX", b"CLIENT", b"\xff"] {
        assert_eq!(SocketType::from_bytes(name), None);
    }
}

#[test]
fn exactly_the_combinations_of_the_rfc_are_compatible() {
    use SocketType::*;
    let table = [
        (Pair, Pair),
        (Pub, Sub),
        (Pub, XSub),
        (XPub, Sub),
        (XPub, XSub),
        (Req, Rep),
        (Req, Router),
        (Rep, Dealer),
        (Dealer, Dealer),
        (Dealer, Router),
        (Router, Router),
        (Push, Pull),
    ];
    for one in SocketType::ALL {
        for other in SocketType::ALL {
            let legal = table.contains(&(one, other)) || table.contains(&(other, one));
            assert_eq!(one.compatible(other), legal, "{one} with {other}");
        }
    }
}
