//! Services from the command line: calls, workers that run a command, and the services of a broker.
//!
//! - `arguments`: the arguments
//! - `limits`: limits of services, behind `serve`
//! - `call`: `hairstreak call`
//! - `command`: a command that answers requests
//! - `worker`: `hairstreak worker`
//! - `services`: `hairstreak services`

mod arguments;
mod call;
mod limits;
mod services;
mod worker;

pub use arguments::{CallArguments, ServicesArguments, WorkerArguments};
pub use call::call;
pub use limits::{Limit, service_options};
pub use services::services;
pub use worker::worker;
