//! Clients that are refused, by us and by libzmq: nothing of theirs gets through, and good clients do.

use hairstreak_socket::monitor::{EventKind, HandshakeFailure};
use hairstreak_socket::security::{Login, Security, generate_key_pair};
use hairstreak_socket::{Context, Options, Pull, Push};
use hairstreak_testkit::until;

use crate::LONG;
use crate::endpoints::endpoint;
use crate::roles::{Roles, secured};
use crate::script::Script;

/// What a bad client of `roles` is like: as options of ours, as arguments of the script, and what libzmq says of
/// being refused by us.
fn bad_clients(roles: &Roles, mechanism: &str) -> Vec<(Options, Vec<String>, Option<&'static str>)> {
    if mechanism == "plain" {
        let client = |username: &str, password: &str| {
            let login = Login::new(username.as_bytes(), password.as_bytes()).unwrap();
            let arguments = ["plain-client", username, password].map(str::to_owned).to_vec();
            // libzmq does not understand a right ERROR in PLAIN.
            (secured(Security::Plain(login)), arguments, Some("protocol"))
        };
        return vec![client("ann", "Secret"), client("bob", "secret"), client("ann", "secret!")];
    }
    let (stranger, other_server) = (generate_key_pair().unwrap(), generate_key_pair().unwrap());
    let mut arguments = roles.client_arguments();
    let mut unknown = arguments.clone();
    unknown[2] = stranger.public().to_string();
    unknown[3] = stranger.secret().to_z85().to_string();
    arguments[1] = other_server.public().to_string();
    let misled = Security::Curve { keys: roles.client_keys.clone(), server_key: *other_server.public() };
    vec![
        (secured(roles.curve_client(&stranger)), unknown, Some("auth 400")),
        // A client of another server is told so in words, which libzmq keeps to itself.
        (secured(misled), arguments, None),
    ]
}

#[test]
fn bad_clients_of_ours_get_nothing_through_to_our_server_which_serves_a_good_one() {
    for mechanism in ["plain", "curve"] {
        let roles = Roles::new(mechanism);
        for (bad, _, _) in bad_clients(&roles, mechanism) {
            let pull = Pull::with_options(&Context::new(), roles.server()).unwrap();
            let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
            let (context, bad_context) = (Context::new(), Context::new());
            let refused = Push::with_options(&bad_context, bad).unwrap();
            refused.connect(&place).unwrap();
            let good = Push::with_options(&context, roles.client()).unwrap();
            good.connect(&place).unwrap();
            // The bad client tries again after a refusal.
            let mut exchanged = 0;
            until("two refusals on both sides", || {
                good.send_timeout(format!("good {exchanged}").as_bytes(), LONG).unwrap();
                good.flush();
                let got = pull.recv_timeout(LONG).unwrap();
                assert_eq!(got.body(), format!("good {exchanged}").as_bytes());
                exchanged += 1;
                let counts = [&refused.stats(), &pull.stats()].map(|stats| stats.failed_connections);
                if counts.iter().all(|count| *count >= 2) { Ok(()) } else { Err(counts) }
            });
            assert_eq!((pull.stats().peer_count, refused.stats().peer_count), (1, 0));
            assert!(refused.try_send("bad").is_err(), "nobody takes it");
        }
    }
}

#[test]
fn libzmq_is_told_that_it_is_refused() {
    for mechanism in ["plain", "curve"] {
        let roles = Roles::new(mechanism);
        for (_, arguments, expected) in bad_clients(&roles, mechanism) {
            let pull = Pull::with_options(&Context::new(), roles.server()).unwrap();
            let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
            let fixed = ["push", "connect", &place, "0"].map(str::to_owned);
            let mut script = Script::python("secure.py", fixed.into_iter().chain(arguments));
            if let Some(expected) = expected {
                let heard = script.hear("handshake");
                assert!(heard.starts_with(expected), "{mechanism}: {heard}");
            }
            until("a refusal", || pull.stats().failed_connections > 0);
            assert_eq!(pull.stats().peer_count, 0);
        }
    }
}

#[test]
fn libzmq_refuses_our_bad_clients() {
    for mechanism in ["plain", "curve"] {
        let roles = Roles::new(mechanism);
        for (bad, _, heard) in bad_clients(&roles, mechanism) {
            let fixed = ["pull", "bind", &endpoint("tcp"), "1"].map(str::to_owned);
            let mut script = Script::python("secure.py", fixed.into_iter().chain(roles.server_arguments()));
            let place = script.hear("bound");
            let refused = Push::with_options(&Context::new(), bad).unwrap();
            let monitor = refused.monitor().unwrap();
            refused.connect(&place).unwrap();
            // libzmq closes the connection of a client of another server without a word.
            let silent = HandshakeFailure::Disconnected;
            let expected = heard.map_or(silent, |_| HandshakeFailure::Auth { status: 400 });
            let failure =
                until("the end of a handshake", || match monitor.recv_timeout(LONG).unwrap().kind {
                    EventKind::HandshakeFailed { failure, .. } => Ok(failure),
                    EventKind::HandshakeSucceeded => panic!("{mechanism}: libzmq accepts a bad client"),
                    other => Err(other),
                });
            assert_eq!(failure, expected, "{mechanism}");
            assert!(refused.try_send("bad").is_err(), "nobody takes it");
        }
    }
}

#[test]
fn clients_of_another_mechanism_are_refused() {
    let (plain, curve) = (Roles::new("plain"), Roles::new("curve"));
    for (server, client) in
        [(&plain, secured(Security::Null)), (&plain, curve.client()), (&curve, plain.client())]
    {
        let pull = Pull::with_options(&Context::new(), server.server()).unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        let refused = Push::with_options(&Context::new(), client).unwrap();
        refused.connect(&place).unwrap();
        until("a refusal", || pull.stats().failed_connections > 0);
        assert_eq!(pull.stats().peer_count, 0);
    }
}
