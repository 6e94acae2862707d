//! Hairstreak's PUSH and PULL, as an application uses them: default options, a context per thread, plain calls.

use std::time::Duration;

use hairstreak_socket::{Context, Message, Options, Pull, Push};

use super::contract::{
    Component, Contender, ContenderError, Opening, Receiving, Sending, abstract_name, wrong_size,
};
use crate::sockets::plan::Transport;
use crate::sockets::task::Calls;

/// How long who waits looks before it sleeps, where that is asked for.
const SPIN_US: u64 = 100;
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// Nothing but the transport: there is no state that the threads of a process would have to share.
pub struct Ours {
    transport: Transport,
    options: Options,
}

impl Contender for Ours {
    type Component = OurComponent;

    fn open(opening: Opening<'_>) -> Result<Self, ContenderError> {
        let spin_us = if opening.calls == Calls::Spin { SPIN_US } else { 0 };
        Ok(Self { transport: opening.transport, options: Options { spin_us, ..Options::default() } })
    }

    fn component(&self) -> Result<OurComponent, ContenderError> {
        Ok(OurComponent { context: Context::new(), transport: self.transport, options: self.options.clone() })
    }
}

/// The context of one thread.
pub struct OurComponent {
    context: Context,
    transport: Transport,
    options: Options,
}

impl OurComponent {
    fn endpoint(&self, number: usize) -> String {
        match self.transport {
            Transport::Tcp => "tcp://127.0.0.1:*".to_owned(),
            Transport::Ipc => format!("ipc://@{}", abstract_name(number)),
            Transport::Shm => format!("shm://{}", abstract_name(number)),
            Transport::Inproc => format!("inproc://{}", abstract_name(number)),
        }
    }
}

impl Component for OurComponent {
    type Sender = OurSender;
    type Receiver = OurReceiver;

    fn bind_receiver(&self, number: usize) -> Result<(OurReceiver, String), ContenderError> {
        let pull = Pull::with_options(&self.context, self.options.clone())
            .map_err(|error| ContenderError::call("Pull::with_options", error))?;
        let endpoint =
            pull.bind(&self.endpoint(number)).map_err(|error| ContenderError::call("Pull::bind", error))?;
        Ok((OurReceiver { pull, message: Message::new(), messages: Vec::new() }, endpoint.to_string()))
    }

    fn bind_sender(&self, number: usize) -> Result<(OurSender, String), ContenderError> {
        let push = Push::with_options(&self.context, self.options.clone())
            .map_err(|error| ContenderError::call("Push::with_options", error))?;
        let endpoint =
            push.bind(&self.endpoint(number)).map_err(|error| ContenderError::call("Push::bind", error))?;
        Ok((OurSender { push }, endpoint.to_string()))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<OurReceiver, ContenderError> {
        let pull = Pull::with_options(&self.context, self.options.clone())
            .map_err(|error| ContenderError::call("Pull::with_options", error))?;
        pull.connect(endpoint).map_err(|error| ContenderError::call("Pull::connect", error))?;
        Ok(OurReceiver { pull, message: Message::new(), messages: Vec::new() })
    }

    fn connect_sender(&self, endpoint: &str) -> Result<OurSender, ContenderError> {
        let push = Push::with_options(&self.context, self.options.clone())
            .map_err(|error| ContenderError::call("Push::with_options", error))?;
        push.connect(endpoint).map_err(|error| ContenderError::call("Push::connect", error))?;
        Ok(OurSender { push })
    }
}

/// A PUSH socket.
pub struct OurSender {
    push: Push,
}

impl Sending for OurSender {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        match self.push.wait_for_peers(1, READY_TIMEOUT) {
            true => Ok(()),
            false => Err(ContenderError::call("Push::wait_for_peers", "no peer in time")),
        }
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        self.push.send(body).map_err(|error| ContenderError::call("Push::send", error))
    }

    fn send_handles(&mut self, body: &[u8], count: u64) -> Result<(), ContenderError> {
        let message = Message::from(body);
        (0..count)
            .try_for_each(|_| self.push.send(&message))
            .map_err(|error| ContenderError::call("Push::send", error))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<(), ContenderError> {
        let sent = self
            .push
            .send_all(std::iter::repeat_n(body, count))
            .map_err(|error| ContenderError::call("Push::send_all", error))?;
        match sent == count {
            true => Ok(()),
            false => Err(ContenderError::call("Push::send_all", format!("{sent} of {count} messages sent"))),
        }
    }

    /// Nothing to do: a socket flushes before its thread sleeps, and within microseconds anyway.
    fn flush(&mut self) -> Result<(), ContenderError> {
        Ok(())
    }
}

/// A PULL socket and the places its messages go to.
pub struct OurReceiver {
    pull: Pull,
    message: Message,
    messages: Vec<Message>,
}

impl Receiving for OurReceiver {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        match self.pull.wait_for_peers(1, READY_TIMEOUT) {
            true => Ok(()),
            false => Err(ContenderError::call("Pull::wait_for_peers", "no peer in time")),
        }
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        match self.pull.recv_into(&mut self.message) {
            Ok(()) => Ok(self.message.size()),
            Err(error) => Err(ContenderError::call("Pull::recv_into", error)),
        }
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        self.messages.clear();
        let count = self
            .pull
            .recv_many(&mut self.messages, max)
            .map_err(|error| ContenderError::call("Pull::recv_many", error))?;
        match self.messages.iter().find(|message| message.size() != size) {
            None => Ok(count),
            Some(message) => Err(wrong_size(message.size(), size)),
        }
    }
}
