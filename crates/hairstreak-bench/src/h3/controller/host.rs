//! `HostRole`: an option `--host ROLE=ADDRESS:PORT`, an agent that runs already.

use std::net::SocketAddr;
use std::str::FromStr;

/// The side of the cluster that a host is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
}

/// An agent on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRole {
    /// Its side.
    pub side: Side,
    /// Where it listens.
    pub address: SocketAddr,
}

impl FromStr for HostRole {
    type Err = String;

    fn from_str(text: &str) -> Result<HostRole, String> {
        let wrong =
            || "a host is sender=ADDRESS:PORT or receiver=ADDRESS:PORT, where an agent listens".to_owned();
        let (side, address) = text.split_once('=').ok_or_else(wrong)?;
        let side = match side {
            "sender" => Side::Sender,
            "receiver" => Side::Receiver,
            _ => return Err(wrong()),
        };
        Ok(HostRole { side, address: address.parse().map_err(|_| wrong())? })
    }
}

impl Side {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_side_and_an_address() {
        let address = "10.0.0.2:7700".parse().unwrap();
        assert_eq!("receiver=10.0.0.2:7700".parse(), Ok(HostRole { side: Side::Receiver, address }));
        for wrong in ["10.0.0.2:7700", "broker=10.0.0.2:7700", "sender=10.0.0.2", "sender=host:7700"] {
            assert!(wrong.parse::<HostRole>().unwrap_err().starts_with("a host is "), "{wrong}");
        }
    }
}
