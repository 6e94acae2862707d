//! `ServeOptions`: what a node listens on and with which limits.

use std::fmt;

use hairstreak_broker::directory::{Change, Options};

/// The port of the directory.
pub const DEFAULT_PORT: u16 = 5682;

/// What a node listens on and with which limits.
pub struct ServeOptions {
    /// Endpoints of the directory.
    pub bind: Vec<String>,
    /// Limits of the directory.
    pub directory: Options,
    /// Called, in the server's thread, with everything that happens to a name.
    pub on_change: Box<dyn FnMut(&Change) + Send>,
    /// Called when the directory ends though nobody stopped it, as by a panic of `on_change`. Nothing is served then.
    pub on_end: Box<dyn FnOnce() + Send>,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            bind: vec![format!("tcp://*:{DEFAULT_PORT}")],
            directory: Options::default(),
            on_change: Box::new(|_| {}),
            on_end: Box::new(|| {}),
        }
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("bind", &self.bind)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}
