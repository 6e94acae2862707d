//! `VortexAddress`: a port of a rank of a fabric.

use std::fmt;

/// The longest name of a fabric, in bytes: the name of the fabric's socket has to fit a unix address.
const NAME_SIZE_MAX: usize = 64;

/// The part of an endpoint after `vortex://`: `FABRIC/RANK:PORT`, or `FABRIC/FROM;RANK:PORT` for a connection from the card of rank `FROM`.
///
/// ```
/// use hairstreak_transport::{Endpoint, vortex::VortexAddress};
///
/// let Endpoint::Vortex(address) = "vortex://lab/2;3:5555".parse()? else { panic!() };
/// assert_eq!((address.from, address.rank, address.port), (Some(2), Some(3), 5555));
/// # Ok::<(), hairstreak_transport::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VortexAddress {
    /// The name of the fabric.
    pub fabric: String,
    /// The rank to connect from. `None`: the rank that the process has, or else the one with the fewest processes.
    pub from: Option<u32>,
    /// The rank. `None`, written `*`: when binding, the process's rank as for `from`.
    pub rank: Option<u32>,
    /// The port. 0, written `*`: when binding, a port that is free.
    pub port: u16,
}

impl VortexAddress {
    /// Parses the text after `vortex://`.
    pub(crate) fn parse(text: &str) -> Option<VortexAddress> {
        let (fabric, place) = text.split_once('/')?;
        let (from, place) = match place.split_once(';') {
            Some((from, place)) => (Some(parse_rank(from)?), place),
            None => (None, place),
        };
        let (rank, port) = place.split_once(':')?;
        let rank = if rank == "*" { None } else { Some(parse_rank(rank)?) };
        let port = if port == "*" { 0 } else { parse_number(port)? };
        is_name(fabric).then(|| VortexAddress { fabric: fabric.to_owned(), from, rank, port })
    }

    /// Returns `true` if the address is complete enough for a connect.
    pub fn is_complete(&self) -> bool {
        self.rank.is_some() && self.port != 0
    }
}

/// Returns `true` if `name` is a valid name of a fabric.
pub(super) fn is_name(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NAME_SIZE_MAX).contains(&name.len()) && name.bytes().all(is_sign)
}

/// The largest number stands for no rank.
fn parse_rank(text: &str) -> Option<u32> {
    parse_number(text).filter(|rank| *rank != u32::MAX)
}

/// Digits only: no sign, no blank.
fn parse_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for VortexAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.fabric)?;
        if let Some(from) = self.from {
            write!(f, "{from};")?;
        }
        match self.rank {
            Some(rank) => write!(f, "{rank}:")?,
            None => f.write_str("*:")?,
        }
        if self.port == 0 { f.write_str("*") } else { write!(f, "{}", self.port) }
    }
}
