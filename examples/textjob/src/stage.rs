//! The process of one stage: takes messages from `HAIRSTREAK_IN`, gives results to `HAIRSTREAK_OUT`, until it is ended.

use std::env;
use std::error::Error;

use hairstreak_socket::{Context, Pull, Push};

use crate::failure::Failure;

/// Passes every message through `work`. Returns only with an error.
pub fn serve<E: Error + Send + Sync + 'static>(
    work: impl Fn(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<(), Failure> {
    let context = Context::new();
    let pull = Pull::new(&context)?;
    let push = Push::new(&context)?;
    pull.connect(&env::var("HAIRSTREAK_IN")?)?;
    push.connect(&env::var("HAIRSTREAK_OUT")?)?;
    loop {
        push.send(&work(pull.recv()?.body())?)?;
    }
}
