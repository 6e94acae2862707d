//! Password hashes: RabbitMQ's salted ones, and Argon2id for new passwords.
//!
//! Reading order: [`HashingAlgorithm`], `salted` and `argon2id`, [`PasswordHash`]; `check` compares a password with a hash in the
//! same time for every user.

mod algorithm;
mod argon2id;
mod check;
mod error;
mod hash;
mod limits;
mod salted;
mod work;

pub use algorithm::HashingAlgorithm;
pub use argon2id::Argon2idParameters;
pub(super) use check::check;
pub use error::PasswordHashError;
pub use hash::PasswordHash;
pub use limits::PASSWORD_SIZE_MAX;
pub(super) use work::HashWork;
