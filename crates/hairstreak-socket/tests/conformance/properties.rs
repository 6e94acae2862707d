//! An application's own properties: told to the peer in the handshake, whatever the transport and the mechanism.

use hairstreak_socket::settlement::Settlement;
use hairstreak_socket::{
    Context, Dealer, OpenError, Options, OptionsError, Pattern, PropertiesError, Pull, Push, Router, Socket,
    Stream,
};

use crate::cell::check;

fn with(properties: &[(&str, &[u8])]) -> Options {
    let own = |(name, value): &(&str, &[u8])| (name.to_string(), value.to_vec());
    Options { properties: properties.iter().map(own).collect(), ..Options::default() }
}

/// What the socket's one peer said of itself, but for what the library did.
fn told<P: Pattern>(socket: &Socket<P>) -> Vec<(String, Vec<u8>)> {
    let [peer] = &socket.peers()[..] else { panic!("one peer") };
    let is_own = |name: &str| name.starts_with("X-") && !name.starts_with("X-Hairstreak");
    peer.properties.iter().filter(|(name, _)| is_own(name)).cloned().collect()
}

#[test]
fn each_side_knows_the_others_properties() {
    let (ours, theirs) =
        (with(&[("X-Region", b"north"), ("X-empty", b"")]), with(&[("X-Capacity", b"\0\xff")]));
    check(|cell| {
        let router: Router = cell.server(ours.clone());
        let dealer: Dealer = cell.client(theirs.clone());
        cell.join(&router, &dealer);
        assert_eq!(told(&router), theirs.properties, "{cell:?}");
        assert_eq!(told(&dealer), ours.properties, "{cell:?}");
        cell.send(&dealer, "a question");
        assert_eq!(cell.recv(&router).frames().last(), Some(&b"a question"[..]));
    });
}

/// As many as there may be, beside all that the library itself says, and the same in bytes.
#[test]
fn the_most_properties_arrive() {
    let many: Vec<(String, Vec<u8>)> = (10..70).map(|n| (format!("X-{n}"), vec![n; 4])).collect();
    let large = vec![("X-large".to_owned(), vec![7; 30 * 1024 - 12])];
    check(|cell| {
        for properties in [&many, &large] {
            let most = Options {
                properties: properties.clone(),
                routing_id: Some(vec![b'i'; 255]),
                ..Options::default()
            };
            let router: Router = cell.server(most.clone());
            let dealer: Dealer = cell.client(most.clone());
            cell.join(&router, &dealer);
            assert_eq!((told(&router), told(&dealer)), (properties.clone(), properties.clone()), "{cell:?}");
            let settled = Options { settlement: Some(Settlement::default()), ..most };
            let pull: Pull = cell.server(settled.clone());
            let push: Push = cell.client(settled);
            cell.join(&pull, &push);
            assert_eq!((told(&pull), told(&push)), (properties.clone(), properties.clone()), "{cell:?}");
        }
    });
}

#[test]
fn bad_properties_are_refused_when_the_socket_is_opened() {
    fn why<P: Pattern>(opened: Result<Socket<P>, OpenError>) -> Option<OptionsError> {
        match opened {
            Ok(_) => None,
            Err(OpenError::Options(error)) => Some(error),
            Err(error) => panic!("{error}"),
        }
    }
    let dealer = |options| why(Dealer::with_options(&Context::new(), options));
    let twice = with(&[("X-a", b""), ("X-A", b"")]);
    for (options, error) in [
        (with(&[("Region", b"north")]), PropertiesError::Name("Region".to_owned())),
        (with(&[("X-Hairstreak-Shm", b"")]), PropertiesError::Taken("X-Hairstreak-Shm".to_owned())),
        (twice, PropertiesError::Twice("X-A".to_owned())),
        (with(&[("X-a", &[0; 30 * 1024])]), PropertiesError::Size(30 * 1024 + 8)),
    ] {
        assert_eq!(dealer(options), Some(OptionsError::Properties(error)));
    }
    let good = with(&[("X-a", b"")]);
    assert_eq!(dealer(good.clone()), None);
    assert_eq!(why(Stream::with_options(&Context::new(), good)), Some(OptionsError::PlainProperties));
}
