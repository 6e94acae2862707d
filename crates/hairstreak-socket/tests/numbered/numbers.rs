//! `Numbers`: which numbered messages of which sender have arrived. None twice, none lost.

use std::sync::Mutex;

use hairstreak_socket::Message;

/// A message: its sender and its number.
pub fn numbered(sender: u64, number: u64) -> [u8; 16] {
    let mut body = [0; 16];
    body[..8].copy_from_slice(&sender.to_be_bytes());
    body[8..].copy_from_slice(&number.to_be_bytes());
    body
}

/// The sender and number of a message.
pub fn parse(message: &Message) -> (u64, u64) {
    let (sender, number) = message.body().split_at(8);
    (u64::from_be_bytes(sender.try_into().unwrap()), u64::from_be_bytes(number.try_into().unwrap()))
}

/// What has arrived, noted from any thread.
pub struct Numbers {
    seen: Mutex<Vec<Vec<bool>>>,
}

impl Numbers {
    /// Nothing yet of `senders`, who send `count` each.
    pub fn new(senders: u64, count: u64) -> Numbers {
        Numbers { seen: Mutex::new(vec![vec![false; count as usize]; senders as usize]) }
    }

    pub fn note(&self, message: &Message) {
        let (sender, number) = parse(message);
        let mut seen = self.seen.lock().unwrap();
        let seen = &mut seen[sender as usize][number as usize];
        assert!(!std::mem::replace(seen, true), "number {number} of sender {sender} came twice");
    }

    pub fn check_complete(&self, what: &str) {
        for (sender, seen) in self.seen.lock().unwrap().iter().enumerate() {
            let lost = seen.iter().filter(|seen| !**seen).count();
            assert_eq!(lost, 0, "{what}: {lost} messages of sender {sender} are lost");
        }
    }
}

/// Checks that the numbers of each sender rise, for one receiver.
#[derive(Default)]
pub struct Order {
    last: std::collections::HashMap<u64, u64>,
}

impl Order {
    pub fn check(&mut self, message: &Message) {
        let (sender, number) = parse(message);
        let last = self.last.insert(sender, number);
        assert!(last.is_none_or(|last| last < number), "sender {sender}: {number} after {last:?}");
    }
}
