//! Password hashes: RabbitMQ's salted ones, and Argon2id for new passwords.
//!
//! Reading order: [`HashingAlgorithm`], `salted` and `argon2id`, [`PasswordHash`]; `hash` compares a password with a hash in the
//! same time for every user.

mod algorithm;
mod argon2id;
mod error;
mod hash;
mod salted;

pub use algorithm::HashingAlgorithm;
pub use argon2id::Argon2idParameters;
pub use error::{PASSWORD_SIZE_MAX, PasswordHashError};
pub use hash::PasswordHash;
pub(super) use hash::{HashWork, check};
