//! `Implementation`: who is on the other side, and its processes, each of which serves many cells.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::LONG;
use crate::script::Script;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Implementation {
    Pyzmq,
    JeroMq,
}

/// Processes that have nothing to do. They end with the tests, when their input does.
static IDLE: Mutex<Vec<(Implementation, Script)>> = Mutex::new(Vec::new());

impl Implementation {
    pub fn transports(self) -> &'static [&'static str] {
        match self {
            Implementation::Pyzmq => &["tcp", "ipc"],
            Implementation::JeroMq => &["tcp"],
        }
    }

    /// How long to wait for a connection. One in a hundred that JeroMQ makes, to libzmq as well, stays without an
    /// answer of its side, and some of those for good: both sides then begin anew.
    pub fn patience(self) -> Duration {
        match self {
            Implementation::Pyzmq => LONG,
            Implementation::JeroMq => LONG / 30,
        }
    }

    /// How often to begin anew.
    pub fn attempts(self) -> usize {
        match self {
            Implementation::Pyzmq => 1,
            Implementation::JeroMq => 30,
        }
    }

    /// A process of its own for as long as the caller has it.
    pub fn take(self) -> Script {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = idle.iter().position(|(whose, _)| *whose == self) {
            return idle.swap_remove(at).1;
        }
        drop(idle);
        match self {
            Implementation::Pyzmq => Script::python("cells.py", [""; 0]),
            Implementation::JeroMq => Script::java(),
        }
    }

    /// The process has done what it was told, all of it.
    pub fn give_back(self, script: Script) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push((self, script));
    }
}
