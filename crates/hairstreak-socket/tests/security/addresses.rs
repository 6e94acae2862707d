//! Address rules: looked at before a byte is exchanged, counted, and for tcp only.

use hairstreak_socket::security::AddressRules;
use hairstreak_socket::{Context, Options, Pull, Push};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::raw::Raw;

fn ruled(address_rules: AddressRules) -> Options {
    Options { address_rules, ..Options::default() }
}

#[test]
fn a_denied_address_gets_no_byte_and_is_counted() {
    for rules in [
        AddressRules::new().deny("127.0.0.0/8").unwrap(),
        AddressRules::new().allow("192.0.2.0/24").unwrap(),
        AddressRules::new().allow("127.0.0.0/8").unwrap().deny("127.0.0.1").unwrap(),
    ] {
        let pull = Pull::with_options(&Context::new(), ruled(rules)).unwrap();
        let place = pull.bind(&endpoint("tcp")).unwrap().to_string();
        for count in 1..=3 {
            assert_eq!(Raw::connect(&place).wait_for_end(), b"");
            assert_eq!(pull.stats().denied_connections, count);
        }
        assert_eq!(pull.stats().failed_connections, 0);
    }
}

#[test]
fn a_permitted_address_and_ipc_are_served() {
    for (transport, rules) in [
        ("tcp", AddressRules::new().allow("127.0.0.1").unwrap()),
        ("ipc", AddressRules::new().deny("0.0.0.0/0").unwrap().deny("::/0").unwrap()),
    ] {
        let pull = Pull::with_options(&Context::new(), ruled(rules)).unwrap();
        let push = Push::new(&Context::new()).unwrap();
        push.connect(&pull.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
        push.send_timeout("hello", LONG).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"hello");
        assert_eq!(pull.stats().denied_connections, 0);
    }
}
