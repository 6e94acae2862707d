//! `Poller`: epoll for one engine, with an eventfd that wakes its waiting thread; and `Timer`, a timerfd.
//!
//! Streams are watched edge-triggered for both directions once and for all; listeners and other
//! pollers level-triggered for reading.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// Events taken by one wait.
const EVENTS_MAX: usize = 64;
/// The token of the poller's own eventfd.
const WAKE: u64 = u64::MAX;

/// The events to watch a descriptor for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Readable or writable, reported once per change.
    Edges,
    /// Readable, reported as long as it is.
    Readable,
    /// Writable, reported as long as it is.
    Writable,
    /// Readable or writable, reported as long as either holds.
    Either,
}

/// The events of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// The key given to [`Poller::add`].
    pub token: u64,
    /// There is something to read: bytes, the end of the stream, or an error.
    pub readable: bool,
    /// There is room to write, or an error.
    pub writable: bool,
    /// The peer has ended its side; not reported again.
    pub ended: bool,
}

/// An epoll descriptor and a way to wake it.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
}

impl Poller {
    /// An empty poller.
    pub fn new() -> io::Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edge-triggered: every write is a new edge, so the counter need not be read back.
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        Ok(Poller { epoll, wake })
    }

    /// Watches `source`; its events carry `token` (not `u64::MAX`).
    pub fn add(&self, source: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Edges => EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET,
            Interest::Readable => EventFlags::IN,
            Interest::Writable => EventFlags::OUT,
            Interest::Either => EventFlags::IN | EventFlags::OUT,
        };
        Ok(epoll::add(&self.epoll, source, EventData::new_u64(token), flags)?)
    }

    /// Stops watching `source`.
    pub fn remove(&self, source: impl AsFd) {
        // Unknown already: nothing to do.
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Waits for events, at most `timeout` (for ever without), and hands each to `handle`. Returns
    /// early, possibly without an event, when woken or interrupted. Returns whether there was an event or it was woken.
    pub fn wait(&self, timeout: Option<Duration>, mut handle: impl FnMut(Readiness)) -> io::Result<bool> {
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS_MAX];
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX).min(1 << 20),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let events = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        for event in events.iter() {
            let (token, flags) = (event.data.u64(), event.flags);
            if token == WAKE {
                continue;
            }
            let over = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            handle(Readiness {
                token,
                readable: over || flags.intersects(EventFlags::IN | EventFlags::RDHUP),
                writable: over || flags.intersects(EventFlags::OUT),
                ended: over || flags.intersects(EventFlags::RDHUP),
            });
        }
        Ok(!events.is_empty())
    }

    /// Makes the present or the next [`Poller::wait`] return.
    pub fn wake(&self) {
        // Full after 2^64 - 1 wakes without a read: an edge is still made.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// A descriptor that becomes readable at a time.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not armed.
    pub fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Timer(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Arms the timer to fire once, `after` from now. Replaces the previous setting.
    pub fn arm(&self, after: Duration) {
        // A time of zero would disarm the timer.
        let after = after.max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(after.as_secs()).unwrap_or(i64::MAX).min(1 << 20),
            tv_nsec: after.subsec_nanos().into(),
        };
        let interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: interval, it_value: value };
        // INVARIANT: the value is within range, and the descriptor is a timer.
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &spec).expect("timerfd_settime");
    }

    /// Takes note that it fired.
    pub fn acknowledge(&self) {
        // Empty when it was armed again in the meantime: fine.
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
