//! Own properties in the handshake with a libzmq peer: it knows them, and is not confused.

use hairstreak_socket::{Context, Options, Router};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::roles::Roles;
use crate::script::Script;

#[test]
fn pyzmq_knows_our_properties() {
    let long = "n".repeat(2000);
    let properties = [("X-Region", "north"), ("X-Long", &long), ("X-Hairstreak-Services", "1")]
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    for transport in ["tcp", "ipc"] {
        for mechanism in ["null", "curve"] {
            let roles = Roles::new(mechanism);
            let options = Options { properties: properties.to_vec(), ..roles.server() };
            let router = Router::with_options(&Context::new(), options).unwrap();
            let place = router.bind(&endpoint(transport)).unwrap().to_string();
            let keys = match roles.client_arguments().split_first() {
                Some((_, keys)) if keys.len() == 3 => keys.to_vec(),
                _ => vec!["-".to_owned(); 3],
            };
            let names = ["X-Region", "X-Long", "X-Hairstreak-Services", "Socket-Type"].map(str::to_owned);
            let arguments = ["connect".to_owned(), place].into_iter().chain(keys).chain(names);
            let mut dealer = Script::python("properties.py", arguments);
            let question = router.recv_timeout(LONG).unwrap();
            assert_eq!(question.frame(1), Some(&b"a question"[..]));
            router.send_timeout(&[question.frame(0).unwrap(), b"an answer"], LONG).unwrap();
            router.flush();
            let told = format!("X-Region=north X-Long={long} X-Hairstreak-Services=1 Socket-Type=ROUTER");
            assert_eq!(dealer.hear("told"), told, "{transport}, {mechanism}");
            dealer.finish();
        }
    }
}
