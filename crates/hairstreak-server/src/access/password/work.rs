//! `HashWork`: what comparing a password with a hash costs.

use super::argon2id::{self, Argon2idParameters};
use super::salted::{self, SaltedDigest};

/// A kind of work: hashes of one kind take the same time for every user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::access) enum HashWork {
    Salted(SaltedDigest),
    Argon2id(Argon2idParameters),
}

impl HashWork {
    /// Does the work for no user.
    pub(super) fn waste(self, password: &[u8]) {
        use std::hint::black_box;
        match self {
            HashWork::Salted(digest) => {
                black_box(digest.hash([0; salted::SALT_SIZE], password));
            }
            HashWork::Argon2id(parameters) => {
                let _ = black_box(parameters.hash([0; argon2id::SALT_SIZE], password));
            }
        }
    }
}
