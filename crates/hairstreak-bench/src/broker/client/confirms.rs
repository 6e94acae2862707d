//! Publishes with a window: so many messages may be without their confirm.

use std::time::{Duration, Instant};

use super::super::amqp::{AmqpError, BASIC_ACK, BASIC_NACK, Link, Visitor, Walk};
use super::super::task::Flow;
use super::block::Block;
use super::error::ClientError;

/// Publishes for as long as the flow says, and waits for every confirm. Returns how many messages that were.
pub fn publish(link: &mut Link, block: &Block, flow: &Flow, window: u32) -> Result<u64, ClientError> {
    let (start, duration) = (Instant::now(), Duration::from_secs_f64(flow.duration_s));
    let mut confirms = Confirms::new(window);
    let (mut walk, mut count) = (Walk::new(u64::from(flow.body_size)), 0);
    while count < flow.message_count_max && start.elapsed() < duration {
        let room = u64::from(window) - confirms.waiting_count();
        let mut left = room.min(flow.message_count_max - count);
        while left > 0 {
            let written = block.write(&mut link.stream, left)?;
            left -= written;
            count += written;
        }
        confirms.published = count;
        wait(link, &mut walk, &mut confirms)?;
    }
    while confirms.waiting_count() > 0 {
        wait(link, &mut walk, &mut confirms)?;
    }
    Ok(count)
}

/// Reads once.
fn wait(link: &mut Link, walk: &mut Walk, confirms: &mut Confirms) -> Result<(), ClientError> {
    link.input.fill(&mut link.stream)?;
    let consumed = walk.frames(link.input.unread(), confirms)?;
    link.input.consume(consumed);
    match (confirms.is_refused, confirms.stray) {
        (true, _) => Err(ClientError::Nack),
        (false, Some(tag)) => Err(ClientError::Confirm { tag, published: confirms.published }),
        (false, None) => Ok(()),
    }
}

/// The confirmed publishes: all up to a number, and some beyond that number.
#[derive(Debug)]
struct Confirms {
    published: u64,
    /// All up to this one are confirmed.
    base: u64,
    /// Those behind it, by their number modulo the window.
    beyond: Vec<bool>,
    beyond_count: u64,
    is_refused: bool,
    /// A confirm of something that was not published, or was confirmed.
    stray: Option<u64>,
}

impl Confirms {
    fn new(window: u32) -> Self {
        let beyond = vec![false; window as usize];
        Self { published: 0, base: 0, beyond, beyond_count: 0, is_refused: false, stray: None }
    }

    fn waiting_count(&self) -> u64 {
        self.published - self.base - self.beyond_count
    }

    fn confirm(&mut self, tag: u64, is_multiple: bool) {
        if tag <= self.base || tag > self.published {
            self.stray = Some(tag);
            return;
        }
        if !is_multiple && tag != self.base + 1 {
            let place = self.place(tag);
            self.beyond_count += u64::from(!self.beyond[place]);
            self.beyond[place] = true;
            return;
        }
        // Also those that follow without a gap.
        while self.base < tag || (self.base < self.published && self.beyond[self.place(self.base + 1)]) {
            self.base += 1;
            let place = self.place(self.base);
            self.beyond_count -= u64::from(self.beyond[place]);
            self.beyond[place] = false;
        }
    }

    fn place(&self, tag: u64) -> usize {
        (tag % self.beyond.len() as u64) as usize
    }
}

impl Visitor for Confirms {
    fn message(&mut self, _: &[u8]) {}

    fn method(&mut self, id: u32, arguments: &[u8]) -> Result<(), AmqpError> {
        match (id, arguments) {
            (BASIC_ACK, [tag @ .., multiple]) => {
                let tag = tag.first_chunk().map(|tag| u64::from_be_bytes(*tag));
                self.confirm(
                    tag.ok_or(AmqpError::Malformed("a confirm without its tag"))?,
                    *multiple & 1 == 1,
                );
            }
            (BASIC_NACK, _) => self.is_refused = true,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Confirms;

    fn check(confirms: &[(u64, bool)], waiting: u64, base: u64) {
        let mut state = Confirms::new(10);
        state.published = 10;
        confirms.iter().for_each(|&(tag, is_multiple)| state.confirm(tag, is_multiple));
        assert_eq!((state.waiting_count(), state.base, state.stray), (waiting, base, None), "{confirms:?}");
    }

    #[test]
    fn confirms_come_one_by_one_or_together_in_any_order() {
        check(&[], 10, 0);
        check(&[(1, false), (2, false)], 8, 2);
        check(&[(7, true)], 3, 7);
        check(&[(3, false), (2, false)], 8, 0);
        check(&[(3, false), (2, false), (1, false)], 7, 3);
        check(&[(9, false), (5, true)], 4, 5);
        check(&[(6, false), (5, true), (10, true)], 0, 10);
    }

    #[test]
    fn a_confirm_of_nothing_is_noticed() {
        for tag in [0, 3, 11] {
            let mut state = Confirms::new(10);
            state.published = 10;
            state.confirm(3, true);
            state.confirm(tag, false);
            assert_eq!(state.stray, Some(tag));
        }
    }
}
