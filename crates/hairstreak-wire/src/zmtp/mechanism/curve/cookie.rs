//! Cookies: a server's state between HELLO and INITIATE, kept by the client instead.
//!
//! ```text
//! cookie: nonce (16) | Box[C' (32), s' (32)](key that only this server has)
//! ```
//!
//! A key older than [`KEY_AGE_MAX`] is replaced at the next connection. The key before it is kept for the same time
//! again, so that no handshake is interrupted. After that no key opens an old cookie. An attacker who then takes the
//! server's secrets cannot decrypt traffic of the connections made with it.

use std::time::Duration;

use zeroize::Zeroizing;

use super::key::{PublicKey, SecretKey};
use super::sealed::{BoxKey, TAG_SIZE, salted};

/// Time during which one key seals cookies.
pub(super) const KEY_AGE_MAX: Duration = Duration::from_secs(60);

/// Size of a cookie, in bytes.
pub(super) const COOKIE_SIZE: usize = 16 + TAG_SIZE + 64;

const PREFIX: &[u8; 8] = b"COOKIE--";

/// The keys of a server's cookies.
#[derive(Debug, Default)]
pub(in crate::zmtp) struct CookieKeys {
    /// The current key, and the start of its use.
    current: Option<(BoxKey, Duration)>,
    previous: Option<BoxKey>,
}

impl CookieKeys {
    /// Switches to `fresh` if the current key is too old. `now` counts from any moment that stays the same.
    pub(in crate::zmtp) fn renew(&mut self, now: Duration, fresh: &[u8; 32]) {
        let age = self.current.as_ref().map(|(_, since)| now.saturating_sub(*since));
        if age.is_some_and(|age| age < KEY_AGE_MAX) {
            return;
        }
        let old = self.current.replace((BoxKey::secret(*fresh), now));
        self.previous = old.filter(|_| age.is_some_and(|age| age < 2 * KEY_AGE_MAX)).map(|(key, _)| key);
    }

    /// Returns a cookie of the client's transient key and our matching secret key. `None` before there is a key.
    pub(super) fn seal(&self, salt: &[u8; 16], client: &PublicKey, ours: &SecretKey) -> Option<Vec<u8>> {
        let (key, _) = self.current.as_ref()?;
        let sealed = key.seal(&salted(PREFIX, salt), &[client.as_bytes(), ours.as_bytes()]);
        Some([&salt[..], &sealed].concat())
    }

    /// Returns the keys in one of our cookies, unless it is too old.
    pub(super) fn open(&self, cookie: &[u8; COOKIE_SIZE]) -> Option<(PublicKey, SecretKey)> {
        let (salt, sealed) = cookie.split_first_chunk()?;
        let nonce = salted(PREFIX, salt);
        let current = self.current.as_ref().map(|(key, _)| key);
        let plain = current.into_iter().chain(&self.previous).find_map(|key| key.open(&nonce, sealed))?;
        let (client, rest) = plain.split_first_chunk()?;
        let ours = Zeroizing::new(*rest.first_chunk()?);
        Some((PublicKey::from_bytes(*client), SecretKey::from_bytes(*ours)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: &[u64]) -> CookieKeys {
        let mut keys = CookieKeys::default();
        for &second in seconds {
            keys.renew(Duration::from_secs(second), &[second as u8; 32]);
        }
        keys
    }

    fn cookie_of(keys: &CookieKeys) -> [u8; COOKIE_SIZE] {
        let (client, ours) = (PublicKey::from_bytes([1; 32]), SecretKey::from_bytes([2; 32]));
        keys.seal(&[3; 16], &client, &ours).expect("a key").try_into().expect("the size of a cookie")
    }

    #[test]
    fn a_cookie_gives_back_what_was_put_in() {
        let keys = after(&[5]);
        let (client, ours) = keys.open(&cookie_of(&keys)).expect("a cookie of ours");
        assert_eq!((client.as_bytes(), ours.as_bytes()), (&[1; 32], &[2; 32]));
    }

    #[test]
    fn a_key_is_used_for_a_minute_and_its_cookies_are_taken_for_one_more() {
        let cookie = cookie_of(&after(&[5]));
        for (seconds, taken) in [
            (&[5, 64][..], true),
            (&[5, 65], true),
            (&[5, 65, 124], true),
            (&[5, 65, 125], false),
            (&[5, 125], false),
            (&[6], false),
        ] {
            assert_eq!(after(seconds).open(&cookie).is_some(), taken, "{seconds:?}");
        }
        assert_eq!(cookie_of(&after(&[5, 64])), cookie, "still the first key");
        assert_ne!(cookie_of(&after(&[5, 65])), cookie);
    }

    #[test]
    fn a_cookie_that_was_changed_is_refused() {
        let keys = after(&[5]);
        for at in 0..COOKIE_SIZE {
            let mut cookie = cookie_of(&keys);
            cookie[at] ^= 0x80;
            assert!(keys.open(&cookie).is_none(), "changed at {at}");
        }
    }
}
