//! `ControlLink`: the sink's end of the control link: greets the ventilator, says what is wanted, and notices when it is gone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::settlement::ControlMessage;
use hairstreak_socket::{Context, Dealer, Message, Outgoing};

use super::error::{PipelineError, SinkError};
use super::options::{Absence, PipelineOptions};

/// The sink's end.
#[derive(Debug)]
pub(super) struct ControlLink {
    socket: Dealer,
    lost_after: Duration,
    absence: Absence,
    /// The connection on which the ventilator has been greeted.
    greeted: Option<ConnectionId>,
    /// Whether a pause is wanted, or no more tasks: said again to a ventilator that comes back.
    pauses: AtomicBool,
    stops: AtomicBool,
}

impl ControlLink {
    /// To the ventilator that is there.
    pub fn connect(
        context: &Context,
        place: &str,
        options: &PipelineOptions,
    ) -> Result<ControlLink, PipelineError> {
        let socket = Dealer::with_options(context, options.control())?;
        socket.connect(place)?;
        Ok(ControlLink {
            socket,
            lost_after: options.lost_after,
            absence: Absence::default(),
            greeted: None,
            pauses: AtomicBool::new(false),
            stops: AtomicBool::new(false),
        })
    }

    /// What is readable when the ventilator says something.
    pub fn socket(&self) -> &Dealer {
        &self.socket
    }

    /// What it says, waiting for it.
    pub fn recv(&self, timeout: Duration) -> Option<Message> {
        self.socket.recv_timeout(timeout).ok()
    }

    /// Wants no more tasks.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
        self.say(ControlMessage::Stop);
    }

    /// Wants none for now.
    pub fn pause(&self) {
        self.pauses.store(true, Ordering::Relaxed);
        self.say(ControlMessage::Pause);
    }

    /// Wants tasks again.
    pub fn resume(&self) {
        self.pauses.store(false, Ordering::Relaxed);
        self.say(ControlMessage::Resume);
    }

    fn say(&self, message: ControlMessage<'_>) {
        let bytes = message.encode();
        // A ventilator that has not come yet is told when it is greeted; one that takes nothing has stopped anyway.
        let _ = self.socket.try_send(Outgoing::Body(&bytes));
        self.socket.flush();
    }

    /// Greets a ventilator that has come, or come again. Returns whether one is there.
    pub fn greet(&mut self) -> bool {
        let connection = self.socket.peers().first().map(|peer| peer.connection);
        if connection.is_some() && self.greeted != connection {
            self.say(ControlMessage::Hello);
            if self.pauses.load(Ordering::Relaxed) {
                self.say(ControlMessage::Pause);
            }
            if self.stops.load(Ordering::Relaxed) {
                self.say(ControlMessage::Stop);
            }
        }
        self.greeted = connection;
        connection.is_some()
    }

    /// Whether it was there when it was last greeted.
    pub fn is_greeted(&self) -> bool {
        self.greeted.is_some()
    }

    /// Greets it, and waits for one that has not come for as long as that. Returns whether it is there.
    pub fn greet_within(&mut self, patience: Duration) -> Result<bool, SinkError> {
        let is_there = self.socket.wait_for_peers(1, patience) && self.greet();
        self.look(is_there)?;
        Ok(is_there)
    }

    /// Greets it, or fails if it has been missed for too long.
    pub fn look_for(&mut self) -> Result<(), SinkError> {
        let is_there = self.greet();
        self.look(is_there)
    }

    /// Greets it while there are results: to miss it has time.
    pub fn greet_in_passing(&mut self) {
        if self.greet() {
            self.absence = Absence::default();
        }
    }

    fn look(&mut self, is_there: bool) -> Result<(), SinkError> {
        self.absence.look(is_there, self.lost_after).map_err(SinkError::VentilatorLost)
    }
}
