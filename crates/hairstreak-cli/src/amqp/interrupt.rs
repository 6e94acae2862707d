//! `Interrupt`: the first signal asks a command to end, and wakes it; the second one ends it at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::{flag, low_level::pipe};

use crate::signals;

pub struct Interrupt {
    /// Can be read once a signal has come.
    pipe: UnixStream,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// From now on signals are noticed here.
    pub fn start() -> io::Result<Interrupt> {
        let (pipe, woken) = UnixStream::pair()?;
        let (signal, has_come) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in signals::ending() {
            flag::register_conditional_shutdown(number, 128 + number, has_come.clone())?;
            flag::register(number, has_come.clone())?;
            flag::register_usize(number, signal.clone(), number as usize)?;
            pipe::register(number, woken.try_clone()?)?;
        }
        Ok(Interrupt { pipe, signal })
    }

    /// The signal that has come.
    pub fn signal(&self) -> Option<u8> {
        Some(self.signal.load(Ordering::SeqCst) as u8).filter(|&signal| signal != 0)
    }

    /// The descriptor to wait for.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.pipe.as_fd())
    }
}
