//! `AddressRules`: which addresses may connect, looked at before a byte is read.

use std::net::{IpAddr, SocketAddr};

use hairstreak_transport::{Endpoint, Stream};
use ipnet::IpNet;
use thiserror::Error;

/// Networks that are let in and networks that are not. Without any, everybody may connect. An address of a
/// denied network is refused, even if it is allowed too; with any network allowed, all others are refused.
/// Connections without an address (ipc) are not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    allowed: Vec<IpNet>,
    denied: Vec<IpNet>,
}

/// A text that names no network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("\"{text}\" is no address and no network such as 192.168.0.0/16 or fd00::/8")]
pub struct AddressRulesError {
    text: String,
}

impl AddressRules {
    /// No rules.
    pub fn new() -> AddressRules {
        AddressRules::default()
    }

    /// Lets in an address or a network (CIDR).
    pub fn allow(mut self, network: &str) -> Result<AddressRules, AddressRulesError> {
        self.allowed.push(parse(network)?);
        Ok(self)
    }

    /// Keeps out an address or a network (CIDR).
    pub fn deny(mut self, network: &str) -> Result<AddressRules, AddressRulesError> {
        self.denied.push(parse(network)?);
        Ok(self)
    }

    /// Whether a peer of this address may connect.
    pub fn permit(&self, remote: SocketAddr) -> bool {
        // A listener for both families sees IPv4 peers as IPv6 addresses.
        let address = remote.ip().to_canonical();
        let is_in = |networks: &[IpNet]| networks.iter().any(|network| network.contains(&address));
        !is_in(&self.denied) && (self.allowed.is_empty() || is_in(&self.allowed))
    }

    /// Whether the peer of this connection may stay. One that is already gone may not, if there are rules.
    pub(crate) fn permit_stream(&self, endpoint: &Endpoint, stream: &Stream) -> bool {
        let no_rules = self.allowed.is_empty() && self.denied.is_empty();
        let has_address = matches!(endpoint, Endpoint::Tcp(_));
        no_rules || !has_address || stream.remote_address().is_some_and(|remote| self.permit(remote))
    }
}

fn parse(text: &str) -> Result<IpNet, AddressRulesError> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| AddressRulesError { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(rules: &AddressRules, address: &str) -> bool {
        rules.permit(SocketAddr::new(address.parse().unwrap(), 1))
    }

    #[test]
    fn without_rules_everybody_may_connect() {
        assert!(permits(&AddressRules::new(), "192.0.2.1") && permits(&AddressRules::new(), "::1"));
    }

    #[test]
    fn allowed_networks_keep_out_all_others() {
        let rules = AddressRules::new().allow("10.0.0.0/8").unwrap().allow("fd00::/8").unwrap();
        for (address, permitted) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("::ffff:10.1.2.3", true),
            ("::ffff:11.1.2.3", false),
            ("fd00::1", true),
            ("fe80::1", false),
        ] {
            assert_eq!(permits(&rules, address), permitted, "{address}");
        }
    }

    #[test]
    fn denied_networks_win_over_allowed_ones() {
        let rules = AddressRules::new().allow("10.0.0.0/8").unwrap().deny("10.6.6.6").unwrap();
        assert!(permits(&rules, "10.6.6.5") && !permits(&rules, "10.6.6.6"));
        let rules = AddressRules::new().deny("0.0.0.0/0").unwrap();
        assert!(!permits(&rules, "10.6.6.5") && permits(&rules, "::1"));
    }

    #[test]
    fn what_is_no_network_is_named() {
        for text in ["10.0.0.0/33", "host", "", "10.0.0/8"] {
            let error = AddressRules::new().allow(text).unwrap_err();
            assert!(error.to_string().starts_with(&format!("\"{text}\" is no address")), "{error}");
        }
    }
}
