//! `Readers`: who may read metrics without credentials.

use std::net::IpAddr;

/// The clients that may read metrics without credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Nobody.
    Users,
    /// Clients on this host.
    Loopback,
    /// Everybody.
    Anyone,
}

impl Readers {
    /// `require_login`: clients on this host need credentials, too. `anonymous`: nobody does.
    pub(crate) fn new(require_login: bool, anonymous: bool) -> Readers {
        match (anonymous, require_login) {
            (true, _) => Readers::Anyone,
            (false, true) => Readers::Users,
            (false, false) => Readers::Loopback,
        }
    }

    /// Whether a client at this address needs no credentials.
    pub(super) fn may_be_anonymous(self, address: IpAddr) -> bool {
        match self {
            Readers::Users => false,
            Readers::Loopback => address.to_canonical().is_loopback(),
            Readers::Anyone => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_on_this_host_need_no_credentials() {
        for (readers, address, is_free) in [
            (Readers::Users, "127.0.0.1", false),
            (Readers::Loopback, "127.0.0.1", true),
            (Readers::Loopback, "::1", true),
            (Readers::Loopback, "::ffff:127.0.0.1", true),
            (Readers::Loopback, "192.168.0.1", false),
            (Readers::Loopback, "::ffff:192.168.0.1", false),
            (Readers::Anyone, "192.168.0.1", true),
        ] {
            assert_eq!(readers.may_be_anonymous(address.parse().unwrap()), is_free, "{readers:?} {address}");
        }
    }
}
