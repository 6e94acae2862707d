//! `Passes`: the connections that wait in the middle of a body or a transaction while the memory alarm is raised.
//!
//! Bodies and transactions that have begun may take all the memory. No consumer frees that memory, and the alarm would never end.
//! So one connection at a time has the pass. It may send the rest of them, even without room for bodies
//! ([`Parking`](super::parking::Parking)).
//!
//! The first connection that waits has the pass in any case: acknowledgements may stand behind its body. The next one has it when
//! the messages in queues are below the watermark. Above the watermark consumers make room. A connection that sends less than
//! [`USED_BYTES_MIN`] in [`IDLE_MS_MAX`] loses the pass, and waits again behind the others when it sends more.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use hairstreak_transport::event_loop::Address;
use parking_lot::Mutex;

use super::alarm::Alarm;

/// The time in milliseconds after which a connection loses a pass that it uses too little.
const IDLE_MS_MAX: u64 = 10_000;
/// Minimum number of bytes that a connection has to send in that time.
const USED_BYTES_MIN: usize = 64 * 1024;

/// The line of the connections that wait.
#[derive(Debug, Default)]
pub struct Passes {
    /// The bytes of all bodies that have not come whole, and of all open transactions.
    begun_bytes: AtomicUsize,
    /// The connections in the line, to be read without the lock.
    waiting_count: AtomicUsize,
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    last_number: u64,
    waiting: BTreeMap<u64, Address>,
    holder: Option<Holder>,
    /// A connection has had the pass since the alarm was raised.
    has_had: bool,
}

/// The connection that has the pass.
#[derive(Debug)]
struct Holder {
    number: u64,
    /// The bytes received since the last check.
    used_bytes: usize,
    /// The time of the next check, in the node's milliseconds.
    look_at: u64,
}

impl Passes {
    /// The bytes of a connection in incomplete bodies and in open transactions have changed.
    pub fn note_begun(&self, before: usize, now: usize) {
        self.begun_bytes.fetch_add(now.wrapping_sub(before), SeqCst);
    }

    /// The alarm is over.
    pub fn renew(&self) {
        self.line.lock().has_had = false;
    }

    /// Returns true if the pass can be given to a connection that waits.
    pub fn can_be_given(&self, alarm: &Alarm) -> bool {
        self.waiting_count.load(SeqCst) > 0 && self.line.lock().has_next(self.whole_bytes(alarm), alarm)
    }

    /// Gives the pass to the connection that has waited the longest, if possible. Returns its address, and the time of the next
    /// check. `now`: the node's milliseconds.
    pub fn give(&self, alarm: &Alarm, now: u64) -> (Option<Address>, Option<u64>) {
        let mut line = self.line.lock();
        line.look_at_holder(now);
        let mut given = None;
        if line.has_next(self.whole_bytes(alarm), alarm)
            && let Some((number, address)) = line.waiting.pop_first()
        {
            self.waiting_count.store(line.waiting.len(), SeqCst);
            line.holder = Some(Holder { number, used_bytes: 0, look_at: now + IDLE_MS_MAX });
            line.has_had = true;
            given = Some(address);
        }
        (given, line.holder.as_ref().map(|holder| holder.look_at))
    }

    /// Returns the memory of all but the incomplete bodies and the open transactions.
    fn whole_bytes(&self, alarm: &Alarm) -> usize {
        alarm.bytes().saturating_sub(self.begun_bytes.load(SeqCst))
    }

    /// A connection begins to wait. Returns its number.
    pub fn join(&self, address: Address) -> u64 {
        let mut line = self.line.lock();
        line.last_number += 1;
        let number = line.last_number;
        line.waiting.insert(number, address);
        self.waiting_count.store(line.waiting.len(), SeqCst);
        number
    }

    /// Returns true if a connection waits.
    pub fn is_waiting(&self, number: u64) -> bool {
        self.line.lock().waiting.contains_key(&number)
    }

    /// Returns true if a connection has the pass.
    pub fn is_held(&self, number: u64) -> bool {
        self.line.lock().holder.as_ref().is_some_and(|holder| holder.number == number)
    }

    /// Uses the pass for `size` bytes of a connection. Returns false if the connection does not have the pass.
    pub fn use_for(&self, number: u64, size: usize) -> bool {
        let mut line = self.line.lock();
        let holder = line.holder.as_mut().filter(|holder| holder.number == number);
        holder.map(|holder| holder.used_bytes += size).is_some()
    }

    /// Ends the wait of a connection, which gives the pass back if it has it.
    pub fn leave(&self, number: u64) {
        let mut line = self.line.lock();
        line.waiting.remove(&number);
        line.holder.take_if(|holder| holder.number == number);
        self.waiting_count.store(line.waiting.len(), SeqCst);
    }
}

impl Line {
    /// Returns true if the pass can be given to a connection that waits. `whole_bytes`: the memory of messages that have come
    /// whole.
    fn has_next(&self, whole_bytes: usize, alarm: &Alarm) -> bool {
        let may_have = !self.has_had || whole_bytes < alarm.watermark();
        self.holder.is_none() && !self.waiting.is_empty() && alarm.is_raised() && may_have
    }

    /// Takes the pass from a connection that has used it too little.
    fn look_at_holder(&mut self, now: u64) {
        let Some(holder) = self.holder.as_mut().filter(|holder| holder.look_at <= now) else { return };
        if std::mem::take(&mut holder.used_bytes) >= USED_BYTES_MIN {
            holder.look_at = now + IDLE_MS_MAX;
        } else {
            self.holder = None;
        }
    }
}
