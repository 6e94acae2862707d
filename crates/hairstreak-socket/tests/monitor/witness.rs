//! `Witness`: a monitor that is read until something is told, and says what was told instead.

use hairstreak_socket::monitor::{Event, EventKind, Monitor};
use hairstreak_socket::{Pattern, Socket};

use crate::LONG;

/// Events that a test waits for at most, whatever they are.
const EVENTS_MAX: usize = 10_000;

pub struct Witness {
    monitor: Monitor,
    /// What was told so far.
    pub told: Vec<Event>,
}

impl Witness {
    pub fn of<P: Pattern>(socket: &Socket<P>) -> Witness {
        Witness { monitor: socket.monitor().unwrap(), told: Vec::new() }
    }

    /// The next event.
    pub fn next(&mut self) -> Event {
        let event = self.monitor.recv_timeout(LONG).unwrap_or_else(|e| panic!("{e} after {:#?}", self.told));
        assert_eq!(event.lost_count, 0);
        self.told.push(event.clone());
        event
    }

    /// Reads what has been told until now.
    pub fn catch_up(&mut self) {
        while let Ok(event) = self.monitor.try_recv() {
            self.told.push(event);
        }
    }

    /// Reads until the socket is closed and all is told.
    pub fn read_to_the_end(&mut self) {
        while let Ok(event) = self.monitor.recv_timeout(LONG) {
            self.told.push(event);
        }
    }

    /// The next event of such a kind; others are passed over.
    pub fn wait_for(&mut self, wanted: impl Fn(&EventKind) -> bool) -> Event {
        for _ in 0..EVENTS_MAX {
            let event = self.next();
            if wanted(&event.kind) {
                return event;
            }
        }
        panic!("not told after {:#?}", self.told);
    }

    /// The next event, which must be of that kind.
    pub fn expect(&mut self, kind: EventKind) -> Event {
        let event = self.next();
        assert_eq!(event.kind, kind, "after {:#?}", self.told);
        event
    }
}
