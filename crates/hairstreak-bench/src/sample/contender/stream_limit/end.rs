//! `StreamEnd`: one end, whether it sends, receives or does both over one stream, and its lock.

use std::sync::atomic::{AtomicBool, Ordering};

use super::input::Input;
use super::limit::StreamLimit;
use super::link::Link;
use super::output::Output;
use crate::sample::contender::contract::wrong_size;
use crate::sample::contender::{ContenderError, Echoing, Receiving, Sending};

/// What a handle that may be shared needs: one atomic exchange to take it, one store to give it back.
struct Lock(AtomicBool);

impl Lock {
    #[inline]
    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.0.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = work();
        self.0.store(false, Ordering::Release);
        result
    }
}

/// What it sends goes to each of its links; what it receives comes by the first. What has gathered is written before
/// it waits.
pub struct StreamEnd {
    lock: Lock,
    input: Input,
    output: Output,
}

impl StreamEnd {
    pub(super) fn new(links: Vec<Link>, settings: StreamLimit) -> StreamEnd {
        let (input, output) = (Input::new(settings), Output::new(links, settings));
        StreamEnd { lock: Lock(AtomicBool::new(false)), input, output }
    }

    fn open_output(&mut self) -> Result<(), ContenderError> {
        self.output.links.iter_mut().try_for_each(Link::open)
    }

    fn open_input(&mut self) -> Result<(), ContenderError> {
        self.open_output()?;
        match self.output.links.first_mut() {
            Some(link) if !self.input.is_open() => self.input.open(link.share()?),
            _ => Ok(()),
        }
    }
}

impl Sending for StreamEnd {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.open_output()
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        self.lock.with(|| self.output.append(body))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<(), ContenderError> {
        self.lock.with(|| (0..count).try_for_each(|_| self.output.append(body)))
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        self.lock.with(|| self.output.flush())
    }
}

impl Receiving for StreamEnd {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.open_input()
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        self.lock.with(|| {
            if !self.input.has_message() {
                self.output.flush()?;
            }
            self.input.receive()
        })
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        self.lock.with(|| {
            if !self.input.has_message() {
                self.output.flush()?;
            }
            self.input.receive_batch(size, max)
        })
    }
}

impl Echoing for StreamEnd {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.open_input()
    }

    #[inline]
    fn echo(&mut self) -> Result<usize, ContenderError> {
        let size = Receiving::receive(self)?;
        self.lock.with(|| self.output.append(self.input.last_body(size)))?;
        Ok(size)
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        let Self { lock, input, output } = self;
        lock.with(|| {
            if !input.has_message() {
                output.flush()?;
            }
            let mut count = 0;
            while count == 0 || (count < max && input.has_message()) {
                match input.receive()? {
                    received if received == size => output.append(input.last_body(size))?,
                    received => return Err(wrong_size(received, size)),
                }
                count += 1;
            }
            Ok(count)
        })
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        self.lock.with(|| self.output.flush())
    }
}
