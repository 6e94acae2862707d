//! Compares a password with a hash, so that the time tells nothing about the user.
//!
//! A wrong password costs one hash of each kind that any user has: the user's own, and one that nobody looks at for every other
//! kind. A user whom nobody knows, one without a password and one with a fast old hash so take as long as one with Argon2id.

use super::hash::PasswordHash;
use super::work::HashWork;

/// Whether `hash` is of that password. `works` are the kinds of all users, `hash`'s included; `done` hears of each hash.
///
/// A right password answers at once: that it was right is what the answer says anyway.
pub(in crate::access) fn check(
    hash: Option<&PasswordHash>,
    works: &[HashWork],
    password: &[u8],
    mut done: impl FnMut(HashWork),
) -> bool {
    let own = hash.and_then(|hash| Some((hash, hash.work()?)));
    if let Some((hash, work)) = own {
        done(work);
        if hash.is_of(password) {
            return true;
        }
    }
    for &work in works.iter().filter(|&&work| own.is_none_or(|(_, own)| own != work)) {
        done(work);
        work.waste(password);
    }
    false
}
