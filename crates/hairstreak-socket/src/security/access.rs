//! `AccessTable`: clients that are let in, written down beforehand.

use std::collections::HashMap;
use std::fmt;

use hairstreak_wire::zmtp::curve::PublicKey;
use hairstreak_wire::zmtp::{Credentials, Verdict};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Logins and keys. Whoever is not in the table is refused.
#[derive(Clone, Default)]
pub struct AccessTable {
    null: bool,
    any_key: bool,
    logins: HashMap<Vec<u8>, Zeroizing<Vec<u8>>>,
    keys: HashMap<PublicKey, String>,
}

impl AccessTable {
    /// A table that lets nobody in.
    pub fn new() -> AccessTable {
        AccessTable::default()
    }

    /// Lets in clients without security, if the server accepts NULL.
    pub fn allow_null(mut self) -> AccessTable {
        self.null = true;
        self
    }

    /// Lets in a user with a password, as the user of that name.
    pub fn allow_login(mut self, username: &str, password: &str) -> AccessTable {
        self.logins.insert(username.into(), Zeroizing::new(password.into()));
        self
    }

    /// Lets in whoever has the secret key of this one, as the user of that id.
    pub fn allow_key(mut self, key: PublicKey, user_id: &str) -> AccessTable {
        self.keys.insert(key, user_id.to_owned());
        self
    }

    /// Lets in whoever has any key; a key without a user id is its own. What is encrypted stays encrypted.
    pub fn allow_any_key(mut self) -> AccessTable {
        self.any_key = true;
        self
    }

    pub(crate) fn judge(&self, credentials: &Credentials) -> Verdict {
        match credentials {
            Credentials::Null if self.null => Verdict::Accept { user_id: None },
            Credentials::Null => Verdict::Refuse,
            Credentials::Plain { username, password } => {
                // A name that is unknown takes as long as a wrong password.
                let known = self.logins.get(username);
                let right = known.unwrap_or(password).ct_eq(password);
                match bool::from(right) && known.is_some() {
                    true => Verdict::Accept { user_id: Some(String::from_utf8_lossy(username).into_owned()) },
                    false => Verdict::Refuse,
                }
            }
            Credentials::Curve { public_key } => match self.keys.get(public_key) {
                Some(user_id) => Verdict::Accept { user_id: Some(user_id.clone()) },
                None if self.any_key => Verdict::Accept { user_id: Some(public_key.to_string()) },
                None => Verdict::Refuse,
            },
        }
    }
}

impl fmt::Debug for AccessTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessTable({} logins, {} keys)", self.logins.len(), self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(username: &[u8], password: &[u8]) -> Credentials {
        Credentials::Plain { username: username.to_vec(), password: Zeroizing::new(password.to_vec()) }
    }

    fn curve(byte: u8) -> Credentials {
        Credentials::Curve { public_key: PublicKey::from_bytes([byte; 32]) }
    }

    fn user(table: &AccessTable, credentials: &Credentials) -> Option<Option<String>> {
        match table.judge(credentials) {
            Verdict::Accept { user_id } => Some(user_id),
            _ => None,
        }
    }

    #[test]
    fn an_empty_table_lets_nobody_in() {
        let table = AccessTable::new();
        for credentials in [Credentials::Null, plain(b"", b""), curve(0)] {
            assert_eq!(table.judge(&credentials), Verdict::Refuse);
        }
    }

    #[test]
    fn only_the_right_password_of_a_known_name_is_let_in() {
        let table = AccessTable::new().allow_login("ann", "secret");
        assert_eq!(user(&table, &plain(b"ann", b"secret")), Some(Some("ann".to_owned())));
        for (username, password) in
            [("ann", "Secret"), ("ann", "secret "), ("ann", ""), ("bob", "secret"), ("", "")]
        {
            assert_eq!(user(&table, &plain(username.as_bytes(), password.as_bytes())), None);
        }
    }

    #[test]
    fn keys_are_let_in_by_name_or_all() {
        let table = AccessTable::new().allow_key(PublicKey::from_bytes([1; 32]), "one");
        assert_eq!(user(&table, &curve(1)), Some(Some("one".to_owned())));
        assert_eq!(user(&table, &curve(2)), None);
        let key = PublicKey::from_bytes([2; 32]).to_string();
        assert_eq!(user(&table.allow_any_key(), &curve(2)), Some(Some(key)));
    }

    #[test]
    fn debug_shows_no_password() {
        let table = AccessTable::new().allow_login("ann", "s3cret");
        assert!(!format!("{table:?}").contains("s3cret"));
    }
}
