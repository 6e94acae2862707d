//! The chores of this checkout as a library, so that `cargo test` runs them too.

mod checkout;
pub mod mutations;
pub mod tidy;

pub use checkout::CHECKOUT;
