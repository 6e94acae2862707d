//! Bytes with a descriptor beside them, over a unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{self, RecvAncillaryMessage, SendAncillaryMessage};

/// Bytes read at once while a descriptor may come: only a handshake is read so.
const READ_SIZE: usize = 4096;

/// Writes once; the descriptor goes with the first byte.
pub(crate) fn send_with(socket: impl AsFd, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let descriptors = [descriptor];
    loop {
        let mut control = net::SendAncillaryBuffer::new(&mut space);
        // There is room for one, by the size of `space`.
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        match net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, net::SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

/// Writes once, and no descriptor.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match net::send(&socket, bytes, net::SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}

/// Reads once; of the descriptors that came along the last is put in `descriptor`, the others are closed.
pub(crate) fn receive<'a>(
    socket: impl AsFd,
    room: &'a mut [MaybeUninit<u8>],
    descriptor: &mut Option<OwnedFd>,
) -> io::Result<&'a mut [u8]> {
    let mut bytes = [0; READ_SIZE];
    let size = room.len().min(READ_SIZE);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = net::RecvAncillaryBuffer::new(&mut space);
    let count = loop {
        let mut slices = [IoSliceMut::new(&mut bytes[..size])];
        match net::recvmsg(&socket, &mut slices, &mut control, net::RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received.bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            *descriptor = descriptors.last().or(descriptor.take());
        }
    }
    Ok(room[..count].write_copy_of_slice(&bytes[..count]))
}
