//! `Batch`: the messages of one call, in a list whose places are used again.

use hairstreak_base::Message;

/// Bytes after which a batch is handed over.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A list that is filled from its front. What it held before stays in its places until they are needed: a message of
/// several frames is received into the list of frames that is there. Dropped, it leaves what was received.
pub(crate) struct Batch<'a> {
    messages: &'a mut Vec<Message>,
    count: usize,
    count_max: usize,
    bytes: usize,
}

impl<'a> Batch<'a> {
    pub fn new(messages: &'a mut Vec<Message>, count_max: usize) -> Batch<'a> {
        Batch { messages, count: 0, count_max, bytes: 0 }
    }

    /// Messages received so far.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.count >= self.count_max || self.bytes >= BATCH_BYTES_MAX
    }

    /// Where the next message goes.
    #[inline]
    pub fn place(&mut self) -> &mut Message {
        if self.count == self.messages.len() {
            self.messages.push(Message::new());
        }
        &mut self.messages[self.count]
    }

    /// The next message is in its place.
    #[inline]
    pub fn keep(&mut self) {
        self.bytes += self.messages[self.count].size();
        self.count += 1;
    }

    /// Has `append` put messages behind those that are there, at most so many and until there are so many bytes, and
    /// return their bytes. Returns how many they are.
    #[inline]
    pub fn append(&mut self, append: impl FnOnce(&mut Vec<Message>, usize, usize) -> usize) -> usize {
        let before = self.count;
        self.messages.truncate(before);
        let (count_left, bytes_left) = (self.count_max - before, BATCH_BYTES_MAX.saturating_sub(self.bytes));
        self.bytes += append(self.messages, count_left, bytes_left);
        self.count = self.messages.len();
        self.count - before
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.messages.truncate(self.count);
    }
}
