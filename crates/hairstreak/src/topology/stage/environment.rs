//! The environment variables of a stage instance. The first two are what foreign programs rely on.

use std::ffi::OsString;

use hairstreak_socket::{Context, Pull, Push};

use super::ending::Ending;
use crate::topology::settling::settled;

/// Where to connect a PULL socket for messages.
pub(in crate::topology) const IN: &str = "HAIRSTREAK_IN";
/// Where to connect a PUSH socket for results.
pub(in crate::topology) const OUT: &str = "HAIRSTREAK_OUT";
/// The stage's name.
pub(in crate::topology) const STAGE: &str = "HAIRSTREAK_STAGE";
/// Which instance of it this is, from 1.
pub(in crate::topology) const INSTANCE: &str = "HAIRSTREAK_INSTANCE";
/// The process id of the runner.
pub(in crate::topology) const RUNNER: &str = "HAIRSTREAK_RUNNER";

/// Both sockets of this instance, connected. A message is settled when its result is. They do not linger: an instance
/// stays until all results have arrived, or ends because they are not wanted.
pub(super) fn sockets() -> Result<(Pull, Push), Ending> {
    let context = Context::new();
    let pull = Pull::with_options(&context, settled()).map_err(Ending::fault)?;
    let push = Push::with_options(&context, settled()).map_err(Ending::fault)?;
    push.settle_upstream(&pull);
    pull.settle_lazily(true);
    push.connect(&endpoint(OUT)?).map_err(Ending::fault)?;
    pull.connect(&endpoint(IN)?).map_err(Ending::fault)?;
    Ok((pull, push))
}

fn endpoint(variable: &str) -> Result<String, Ending> {
    let value: Option<OsString> = std::env::var_os(variable);
    let missing = || Ending::Fault(format!("{variable} is not set; a stage is started by `hairstreak run`"));
    value.and_then(|value| value.into_string().ok()).ok_or_else(missing)
}
