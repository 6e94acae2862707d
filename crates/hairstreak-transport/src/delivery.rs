//! `Delivery`: the kernel's knowledge of the bytes on their way to the peer, and of the peer's reading.

use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The peer's progress with the written bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// A measure that grows when the peer reads and shrinks when this side writes. For tcp it is the window that the
    /// peer last announced. For a unix socket and for shared memory it is the largest number less the unread bytes.
    pub room: u64,
    /// Bytes wait in this host's kernel until the peer's window opens.
    pub is_held_back: bool,
    /// Time since the peer's host last acknowledged bytes, while bytes wait for an acknowledgement.
    pub unacknowledged_for: Duration,
}

/// `struct tcp_info` as far as it is of use here; the kernel has it so since 5.4.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct TcpInfo {
    before_probes: [u8; 3],
    probes: u8,
    before_unacked: [u32; 5],
    unacked: u32,
    before_last_ack: [u32; 7],
    last_ack_recv_ms: u32,
    before_notsent: [u32; 21],
    notsent_bytes: u32,
    before_window: [u32; 20],
    snd_wnd: u32,
}

const _: () = assert!(std::mem::offset_of!(TcpInfo, probes) == 3);
const _: () = assert!(std::mem::offset_of!(TcpInfo, unacked) == 24);
const _: () = assert!(std::mem::offset_of!(TcpInfo, last_ack_recv_ms) == 56);
const _: () = assert!(std::mem::offset_of!(TcpInfo, notsent_bytes) == 144);
const _: () = assert!(std::mem::offset_of!(TcpInfo, snd_wnd) == 228);

impl Delivery {
    /// Reads the progress from the kernel. This takes one or two system calls.
    pub(crate) fn of_socket(socket: BorrowedFd<'_>) -> Delivery {
        match tcp_info(socket) {
            Some(info) => Delivery {
                room: info.snd_wnd.into(),
                is_held_back: info.notsent_bytes > 0,
                // One probe of a closed window may be on its way; a living host answers before the next.
                unacknowledged_for: match (info.unacked, info.probes) {
                    (0, 0 | 1) => Duration::ZERO,
                    _ => Duration::from_millis(info.last_ack_recv_ms.into()),
                },
            },
            None => Delivery::of_unread(unread_by_peer(socket)),
        }
    }

    /// The progress of a peer on this host, which has not read this many bytes.
    pub(crate) fn of_unread(size: u64) -> Delivery {
        Delivery { room: u64::MAX - size, ..Delivery::default() }
    }
}

/// `None` for a unix socket.
fn tcp_info(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut size = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into `info`, which is made of integers, and the
    // size; both live through the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    (result == 0).then_some(info)
}

/// Returns the memory taken by the bytes that the peer of a unix socket has not read.
fn unread_by_peer(socket: BorrowedFd<'_>) -> u64 {
    let mut size: libc::c_int = 0;
    // SAFETY: SIOCOUTQ, which has TIOCOUTQ's number, writes one int, which lives through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut size) };
    if result == 0 { u64::try_from(size).unwrap_or(0) } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::io::{IoSlice, Read};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use rustix::net::sockopt;

    use super::*;
    use crate::stream::{Established, Stream};

    fn fill(stream: &mut Stream) {
        while stream.write(&[IoSlice::new(&[7; 65536])]).is_ok() {}
    }

    /// A peer with a fixed bound of its window. A kernel that widened the window would hide the effect of reading.
    fn tcp_pair() -> (Stream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        sockopt::set_socket_recv_buffer_size(&listener, 65536).unwrap();
        let mut stream = Stream::connect_tcp(listener.local_addr().unwrap()).unwrap();
        let peer = listener.accept().unwrap().0;
        assert_eq!(stream.establish().unwrap(), Established::Done);
        (stream, peer)
    }

    #[test]
    fn bytes_for_a_tcp_peer_that_does_not_read_are_held_back() {
        let (mut stream, _peer) = tcp_pair();
        assert!(!stream.delivery().is_held_back && !stream.has_unread());
        // Sent bytes make room again when they are acknowledged, so the first pass may not be the last.
        for _ in 0..1000 {
            fill(&mut stream);
        }
        assert!(stream.delivery().is_held_back);
    }

    #[test]
    fn a_tcp_peer_gives_room_by_reading() {
        const COUNT: usize = 60_000;
        let (mut stream, mut peer) = tcp_pair();
        assert_eq!(stream.write(&[IoSlice::new(&[7; COUNT])]).unwrap(), COUNT);
        while tcp_info(stream.socket()).is_some_and(|info| info.unacked > 0) {}
        let unread = stream.delivery();
        peer.read_exact(&mut [0; COUNT]).unwrap();
        // The host announces its window in an acknowledgement.
        assert_eq!(stream.write(&[IoSlice::new(&[7])]).unwrap(), 1);
        peer.read_exact(&mut [0]).unwrap();
        while tcp_info(stream.socket()).is_some_and(|info| info.unacked > 0) {}
        assert!(stream.delivery().room > unread.room);
    }

    #[test]
    fn a_unix_peer_gives_room_by_reading() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut stream = Stream::from_unix(near.into());
        let empty = stream.delivery();
        fill(&mut stream);
        let full = stream.delivery();
        assert!(full.room < empty.room);
        far.read_exact(&mut vec![0; 65536]).unwrap();
        assert!(stream.delivery().room > full.room);
    }
}
