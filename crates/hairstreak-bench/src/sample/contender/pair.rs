//! `Pair`: an end that sends and another that receives, as one end that does both.

use anyhow::Result;

use super::contract::{Echoing, End, Receiving, Sending};

/// Two ends. As a server, it answers each message with as many bytes as the message has.
pub struct Pair<S, R> {
    sender: S,
    receiver: R,
    body: Vec<u8>,
}

impl<S, R> Pair<S, R> {
    /// A pair for messages of `size` bytes.
    pub fn new(sender: S, receiver: R, size: usize) -> Self {
        Self { sender, receiver, body: vec![b'h'; size] }
    }
}

impl<S: Sending, R: Receiving> End for Pair<S, R> {
    fn wait_ready(&mut self) -> Result<()> {
        self.receiver.wait_ready()?;
        self.sender.wait_ready()
    }

    #[inline]
    fn flush(&mut self) -> Result<()> {
        self.sender.flush()
    }
}

impl<S: Sending, R: Receiving> Sending for Pair<S, R> {
    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<()> {
        self.sender.send(body)
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<()> {
        self.sender.send_batch(body, count)
    }
}

impl<S: Sending, R: Receiving> Receiving for Pair<S, R> {
    #[inline]
    fn receive(&mut self) -> Result<usize> {
        self.receiver.receive()
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        self.receiver.receive_batch(size, max)
    }
}

impl<S: Sending, R: Receiving> Echoing for Pair<S, R> {
    #[inline]
    fn echo(&mut self) -> Result<usize> {
        let size = self.receiver.receive()?;
        self.sender.send(&self.body[..size.min(self.body.len())])?;
        self.sender.flush()?;
        Ok(size)
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize> {
        let count = self.receiver.receive_batch(size, max)?;
        self.sender.send_batch(&self.body, count)?;
        self.sender.flush()?;
        Ok(count)
    }
}
