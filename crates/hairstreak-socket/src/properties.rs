//! The properties that an application adds to the handshakes of a socket: what they may be. ZMTP's grammar of names is
//! narrower than what is accepted of a peer.

use hairstreak_wire::settlement::SettlementTerms;
use hairstreak_wire::zmtp::SharedTerms;
use hairstreak_wire::zmtp::metadata::NAME_SIZE_MAX;
use thiserror::Error;

/// What the wire crate takes of a peer, without Socket-Type, Identity and what this library says of itself.
const PROPERTIES_COUNT_MAX: usize = 60;

/// A peer takes a command of 32 KiB. The rest is for what else stands there: our own, a routing id of 255 bytes, and what
/// seals it.
const PROPERTIES_SIZE_MAX: usize = 30 * 1024;

/// The sizes of name and value, of each property.
const SIZES_SIZE: usize = 1 + 4;

/// Why properties cannot be told to a peer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PropertiesError {
    /// A name that ZMTP does not allow for an application's property.
    #[error(
        "property {0:?}: a name begins with \"X-\", goes on with letters, digits and -_.+, and has at most {NAME_SIZE_MAX} bytes"
    )]
    Name(String),
    /// A name by which the library tells peers of itself.
    #[error("property {0:?} is one of Hairstreak's own")]
    Taken(String),
    /// Names are compared without regard to case.
    #[error("property {0:?} is there twice")]
    Twice(String),
    /// More than a peer takes.
    #[error("{0} properties: there may be {PROPERTIES_COUNT_MAX}")]
    Count(usize),
    /// More than fits the command that carries them.
    #[error("properties of {0} bytes: with {SIZES_SIZE} for each there may be {PROPERTIES_SIZE_MAX}")]
    Size(usize),
}

pub(crate) fn check(properties: &[(String, Vec<u8>)]) -> Result<(), PropertiesError> {
    if properties.len() > PROPERTIES_COUNT_MAX {
        return Err(PropertiesError::Count(properties.len()));
    }
    let size = properties.iter().map(|(name, value)| SIZES_SIZE + name.len() + value.len()).sum();
    if size > PROPERTIES_SIZE_MAX {
        return Err(PropertiesError::Size(size));
    }
    for (index, (name, _)) in properties.iter().enumerate() {
        let is_name = |rest: &str| {
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b))
        };
        if name.len() > NAME_SIZE_MAX || !name.strip_prefix("X-").is_some_and(is_name) {
            return Err(PropertiesError::Name(name.clone()));
        }
        let taken = [SettlementTerms::PROPERTY, SharedTerms::PROPERTY];
        if taken.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
            return Err(PropertiesError::Taken(name.clone()));
        }
        if properties[..index].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(PropertiesError::Twice(name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hairstreak_wire::zmtp::metadata::PROPERTY_COUNT_MAX;

    use super::*;

    fn check_names(names: &[&str]) -> Result<(), PropertiesError> {
        check(&names.iter().map(|name| (name.to_string(), Vec::new())).collect::<Vec<_>>())
    }

    #[test]
    fn names_are_an_applications_and_of_zmtps_grammar() {
        let longest = format!("X-{}", "n".repeat(NAME_SIZE_MAX - 2));
        for name in ["X-a", "X-Service_1.0+b", "X--", &longest] {
            assert_eq!(check_names(&[name]), Ok(()));
        }
        let longer = format!("{longest}n");
        for name in
            ["", "X", "X-", "x-a", "Socket-Type", "Y-a", "X-a b", "X-a:b", "X-\u{e4}", "X-\0", &longer]
        {
            assert_eq!(check_names(&[name]), Err(PropertiesError::Name(name.to_owned())));
        }
    }

    #[test]
    fn names_of_the_librarys_own_properties_are_refused() {
        for name in ["X-Hairstreak-Settlement", "X-Hairstreak-Shm", "X-hairstreak-SHM"] {
            assert_eq!(check_names(&["X-a", name]), Err(PropertiesError::Taken(name.to_owned())));
        }
        assert_eq!(check_names(&["X-Hairstreak-Services"]), Ok(()));
    }

    #[test]
    fn no_two_names_differ_in_case_alone() {
        assert_eq!(check_names(&["X-a", "X-b"]), Ok(()));
        assert_eq!(check_names(&["X-a", "X-b", "X-A"]), Err(PropertiesError::Twice("X-A".to_owned())));
    }

    #[test]
    fn there_are_as_many_as_a_peer_takes() {
        let many = |count| (0..count).map(|n| (format!("X-{n}"), Vec::new())).collect::<Vec<_>>();
        assert_eq!(check(&many(PROPERTIES_COUNT_MAX)), Ok(()));
        assert_eq!(check(&many(PROPERTIES_COUNT_MAX + 1)), Err(PropertiesError::Count(61)));
        assert_eq!(PROPERTIES_COUNT_MAX + 4, PROPERTY_COUNT_MAX);
    }

    #[test]
    fn they_have_the_size_of_what_carries_them() {
        let one = |size| check(&[("X-a".to_owned(), vec![0; size])]);
        let most = PROPERTIES_SIZE_MAX - SIZES_SIZE - 3;
        assert_eq!(one(most), Ok(()));
        assert_eq!(one(most + 1), Err(PropertiesError::Size(PROPERTIES_SIZE_MAX + 1)));
    }
}
