//! Which of the three a process is, and what they have in common.

use std::sync::mpsc;
use std::time::Duration;

use super::{broker, client, worker};
use crate::sample::LibzmqContext;
use crate::services::part::{PartError, entry};
use crate::services::task::{Role, Task};

/// How often broker and worker say that they are there.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(2500);
/// Who says nothing for so many intervals is dead.
pub(super) const HEARTBEAT_LIVENESS: u32 = 3;
/// What all workers do.
pub(super) const SERVICE: &[u8] = b"echo";

/// The process that `task` is for.
pub fn take_part(task: Task, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
    let context = LibzmqContext::new(&task.libzmq)?;
    match task.role {
        Role::Broker => entry::serve(orders, move || broker::run(&context)),
        Role::Worker(number) => entry::serve(orders, move || worker::run(context, &task.endpoint, number)),
        Role::Client => client::run(context, &task, orders),
        Role::All => Err(PartError::NoPart { scheme: task.scheme.text(), role: task.role.text() }),
    }
}
