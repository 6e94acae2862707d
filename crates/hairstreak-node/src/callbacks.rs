//! `Callbacks`: functions of a program that a node calls while it runs.

use std::fmt;

use hairstreak_services::names::Change;
use hairstreak_socket::Endpoint;

/// Functions that a node calls. By default they do nothing.
///
/// ```no_run
/// use hairstreak_node::{Callbacks, NodeConfig, Server};
///
/// let config = NodeConfig { directory_bind: vec!["tcp://127.0.0.1:5682".into()], ..NodeConfig::default() };
/// let on_end = Box::new(|| eprintln!("a part of the node has ended"));
/// let server = Server::start_with(config, Callbacks { on_end, ..Callbacks::default() })?;
/// # Ok::<(), hairstreak_node::StartError>(())
/// ```
pub struct Callbacks {
    /// Called, in the server's thread, with everything that happens to a name.
    pub on_change: Box<dyn FnMut(&Change) + Send>,
    /// Called when a thread of the node ends before a stop, for example by a panic of `on_change`. Its service has ended then.
    pub on_end: Box<dyn Fn() + Send + Sync>,
    /// Called with the reason whenever an endpoint cannot accept connections: descriptors are short, or the fabric has failed.
    /// The node retries by itself.
    pub on_accept_failure: Box<TellFailure>,
}

/// Callback for an endpoint and the reason for which it cannot accept connections.
pub type TellFailure = dyn Fn(&Endpoint, &str) + Send + Sync;

impl Default for Callbacks {
    fn default() -> Callbacks {
        Callbacks {
            on_change: Box::new(|_| {}),
            on_end: Box::new(|| {}),
            on_accept_failure: Box::new(|_, _| {}),
        }
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks").finish_non_exhaustive()
    }
}
