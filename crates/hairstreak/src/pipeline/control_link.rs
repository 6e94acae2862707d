//! `ControlLink`: the sink's end of the control link. It greets the ventilator, passes on the sink's wishes, and
//! notices when the ventilator is gone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::settlement::ControlMessage;
use hairstreak_socket::{Context, Dealer, Message, Outgoing};

use super::error::{PipelineError, SinkError};
use super::options::{Absence, PipelineOptions};

/// The sink's end of the control link.
#[derive(Debug)]
pub(super) struct ControlLink {
    socket: Dealer,
    lost_after: Duration,
    absence: Absence,
    /// The connection on which the ventilator has been greeted.
    greeted: Option<ConnectionId>,
    /// The sink wants a pause, or no more tasks. Repeated to a ventilator that comes back.
    pauses: AtomicBool,
    stops: AtomicBool,
}

impl ControlLink {
    /// Connects to the ventilator at `place`.
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

    /// Returns the socket, which is readable when the ventilator says something.
    pub fn socket(&self) -> &Dealer {
        &self.socket
    }

    /// Waits at most `timeout` for a message of the ventilator.
    pub fn recv(&self, timeout: Duration) -> Option<Message> {
        self.socket.recv_timeout(timeout).ok()
    }

    /// Asks for no more tasks.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
        self.say(ControlMessage::Stop);
    }

    /// Asks for a pause.
    pub fn pause(&self) {
        self.pauses.store(true, Ordering::Relaxed);
        self.say(ControlMessage::Pause);
    }

    /// Asks for tasks again.
    pub fn resume(&self) {
        self.pauses.store(false, Ordering::Relaxed);
        self.say(ControlMessage::Resume);
    }

    fn say(&self, message: ControlMessage<'_>) {
        let bytes = message.encode();
        // A ventilator that has not come yet is told when it is greeted. A ventilator that takes nothing has stopped
        // anyway.
        let _ = self.socket.try_send(Outgoing::Body(&bytes));
        self.socket.flush();
    }

    /// Greets the ventilator on each new connection. Returns whether the ventilator is connected.
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

    /// Returns whether the ventilator was connected at the last greeting.
    pub fn is_greeted(&self) -> bool {
        self.greeted.is_some()
    }

    /// Greets the ventilator, and waits at most `patience` for its connection. Returns whether it is connected.
    pub fn greet_within(&mut self, patience: Duration) -> Result<bool, SinkError> {
        let is_there = self.socket.wait_for_peers(1, patience) && self.greet();
        self.look(is_there)?;
        Ok(is_there)
    }

    /// Greets the ventilator, or fails if it has been missing for too long.
    pub fn look_for(&mut self) -> Result<(), SinkError> {
        let is_there = self.greet();
        self.look(is_there)
    }

    /// Greets the ventilator while there are results. Its absence does not count yet.
    pub fn greet_in_passing(&mut self) {
        if self.greet() {
            self.absence = Absence::default();
        }
    }

    fn look(&mut self, is_there: bool) -> Result<(), SinkError> {
        self.absence.look(is_there, self.lost_after).map_err(SinkError::VentilatorLost)
    }
}
