//! Ten thousand connections need as many descriptors, here and in a broker that this process starts.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::error::{ServerError, failed};

/// Allows this process, and those that it starts, as many descriptors as the system lets it.
pub fn raise_descriptor_limit() -> Result<(), ServerError> {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    raised.map_err(|error| failed("the limit of descriptors")(io::Error::from(error)))
}
