//! Rights of users at services and in the directory, by user, over real sockets: with our own clients and with pyzmq's.

mod floods;
mod foreign;
mod logins;
mod node;
mod table;

use std::time::Duration;

/// Longer than anything here takes: who waits this long waits in vain.
const PATIENCE: Duration = Duration::from_secs(60);
