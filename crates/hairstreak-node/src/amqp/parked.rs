//! `Parked`: the frames of a connection that wait for the end of the memory alarm.

use std::sync::Arc;

use super::reading::Reading;
use crate::node::Account;

/// The parked frames of a connection.
pub(super) struct Parked {
    /// The frames as they came. The last may be incomplete.
    frames: Vec<u8>,
    /// The bytes of the frames, missing bytes of the last one included.
    size: usize,
    /// The channels that have frames here.
    channels: Vec<ParkedChannel>,
    /// An acknowledgement has gone ahead.
    pub is_overtaken: bool,
    /// The frames are being handled: frames that would be parked stay in the input.
    pub is_handled: bool,
    /// The connection ends: its frames are handled even while the alarm is raised.
    pub is_ending: bool,
    /// Bytes to come of the frame that the end of the connection has cut off.
    cut_bytes: usize,
    account: Arc<Account>,
}

/// A channel that has parked frames.
struct ParkedChannel {
    number: u16,
    /// Acknowledgements do not go ahead.
    is_barred: bool,
}

impl Parked {
    pub fn new(account: Arc<Account>) -> Parked {
        Parked {
            frames: Vec::new(),
            size: 0,
            channels: Vec::new(),
            is_overtaken: false,
            is_handled: false,
            is_ending: false,
            cut_bytes: 0,
            account,
        }
    }

    /// Returns true if new frames may have to go behind parked ones.
    pub fn is_in_the_way(&self) -> bool {
        self.size > 0 && !self.is_handled
    }

    /// Returns true if a channel has parked frames.
    pub fn has_channel(&self, channel: u16) -> bool {
        self.channels.iter().any(|parked| parked.number == channel)
    }

    /// Returns true if acknowledgements of a channel go ahead of its parked frames.
    pub fn lets_overtake(&self, channel: u16) -> bool {
        !self.channels.iter().any(|parked| parked.number == channel && parked.is_barred)
    }

    /// A frame of a channel is parked that changes the meaning of acknowledgements behind it.
    pub fn bar(&mut self, channel: u16) {
        self.channels
            .iter_mut()
            .filter(|parked| parked.number == channel)
            .for_each(|parked| parked.is_barred = true);
    }

    /// Takes the available bytes of a frame of which `missing` bytes are to come. Returns the number of bytes taken.
    pub fn take(&mut self, bytes: &[u8], missing: &mut usize) -> usize {
        let count = bytes.len().min(*missing);
        *missing -= count;
        self.frames.extend_from_slice(&bytes[..count]);
        count
    }

    /// The connection ends: its frames are handled even while the alarm is raised. The rest of the frame that it reads is
    /// skipped.
    pub fn begin_end(&mut self, reading: &mut Reading) {
        self.cut_bytes = reading.missing_bytes();
        (*reading, self.is_ending) = (Reading::Start, true);
    }

    /// Returns the number of bytes that are to come of the frame that the connection reads.
    pub fn missing_bytes(&self, reading: &Reading) -> usize {
        if self.is_ending { self.cut_bytes } else { reading.missing_bytes() }
    }

    /// Returns true if the parked frames are handled before the connection ends. Otherwise they are dropped.
    pub fn may_be_let_in(&self) -> bool {
        let Account { alarm, parking, .. } = &*self.account;
        !alarm.is_raised() || parking.let_in(self.size, alarm.watermark())
    }

    /// Lends the frames to be handled.
    pub fn lend(&mut self) -> Vec<u8> {
        self.is_handled = true;
        std::mem::take(&mut self.frames)
    }

    /// Takes the frames back, of which the first `used` bytes are handled.
    pub fn take_back(&mut self, frames: Vec<u8>, used: usize) {
        (self.frames, self.is_handled) = (frames, false);
        self.drop_handled(used);
    }

    /// Reserves room for a frame of a channel. Returns false if there is no room. `spare`: bytes above the bound.
    pub fn reserve(&mut self, channel: u16, size: usize, spare: usize) -> bool {
        let Account { alarm, parking, .. } = &*self.account;
        if !parking.park(self.size, size, spare, alarm.watermark()) {
            return false;
        }
        self.size += size;
        if !self.has_channel(channel) {
            self.channels.push(ParkedChannel { number: channel, is_barred: false });
        }
        true
    }

    /// Drops `size` handled bytes at the start.
    fn drop_handled(&mut self, size: usize) {
        self.frames.drain(..size);
        self.size -= size;
        self.account.parking.leave(size);
        if self.size == 0 {
            (self.frames, self.channels, self.is_overtaken) = (Vec::new(), Vec::new(), false);
        }
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        self.account.parking.leave(self.size);
    }
}
