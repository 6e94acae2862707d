//! `Scope`: who can find a name.

use std::fmt;

/// Who can find the name of an exchange or a queue. Names are looked up in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// The component that opened it.
    #[default]
    Local,
    /// Every component of the process.
    Process,
    /// Every component that uses the same directory. It listens for connections.
    Global,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Local => "local",
            Scope::Process => "process",
            Scope::Global => "global",
        })
    }
}
