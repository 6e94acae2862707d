//! Services from the command line: asking one, serving one by a command, and what a broker knows.
//!
//! - `arguments`: what may be typed
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
