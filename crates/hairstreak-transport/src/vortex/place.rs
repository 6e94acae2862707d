//! The place of a fabric: the unix socket where its process is found.

use std::io;
use std::os::fd::OwnedFd;

use super::address::VortexAddress;
use super::error::VortexError;
use crate::endpoint::IpcAddress;
use crate::stream::connect_unix;

/// Bytes of a ring between a process and its card, in each direction.
pub(crate) const RING_SIZE: usize = 128 * 1024;

/// The socket of a fabric, within the host's abstract namespace.
pub(super) fn meeting_place(fabric: &str) -> IpcAddress {
    IpcAddress::Abstract(format!("hairstreak-fabric-{fabric}"))
}

/// Begins a connection to `address`. Returns the socket and whether it is connected already.
pub(crate) fn connect(address: &VortexAddress) -> io::Result<(OwnedFd, bool)> {
    if !address.is_complete() {
        return Err(VortexError::Wildcard(address.clone()).into());
    }
    reach(&address.fabric)
}

/// A socket to the fabric of a name.
pub(super) fn reach(fabric: &str) -> io::Result<(OwnedFd, bool)> {
    connect_unix(&meeting_place(fabric)).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => VortexError::NoFabric(fabric.to_owned()).into(),
        // Others have waited so long that there is no room for one more.
        io::ErrorKind::WouldBlock => VortexError::NoAnswer(fabric.to_owned()).into(),
        _ => error,
    })
}
