//! `Batch`: the messages of one call, in a list whose places are used again.

use hairstreak_base::Message;

/// Bytes after which a batch is handed over, [`FRAME_WEIGHT`] for each frame among them.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// The bytes that a frame counts as, whatever is in it: so many are copied while one is decoded. The frame itself takes 64.
const FRAME_WEIGHT: usize = 256;

/// What a message counts as where bytes are bounded so that others have their turn, in bytes.
#[inline]
pub(crate) fn weight(message: &Message) -> usize {
    message.size() + FRAME_WEIGHT * message.frame_count()
}

/// A list that is filled from its front. What it held before stays in its places until they are needed: a message of
/// several frames is received into the list of frames that is there. Dropped, it leaves what was received.
pub(crate) struct Batch<'a> {
    messages: &'a mut Vec<Message>,
    count: usize,
    count_max: usize,
    weight: usize,
}

impl<'a> Batch<'a> {
    pub fn new(messages: &'a mut Vec<Message>, count_max: usize) -> Batch<'a> {
        Batch { messages, count: 0, count_max, weight: 0 }
    }

    /// Messages received so far.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.count >= self.count_max || self.weight >= BATCH_BYTES_MAX
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
        self.weight += weight(&self.messages[self.count]);
        self.count += 1;
    }

    /// Has `append` put messages of one frame behind those that are there, at most so many and until there are so many bytes,
    /// and return their bytes. Returns how many they are.
    #[inline]
    pub fn append(&mut self, append: impl FnOnce(&mut Vec<Message>, usize, usize) -> usize) -> usize {
        let before = self.count;
        self.messages.truncate(before);
        let weight_left = BATCH_BYTES_MAX.saturating_sub(self.weight);
        let count_left = (self.count_max - before).min(weight_left.div_ceil(FRAME_WEIGHT));
        let bytes = append(self.messages, count_left, weight_left);
        self.count = self.messages.len();
        let count = self.count - before;
        self.weight += bytes + FRAME_WEIGHT * count;
        count
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.messages.truncate(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES_MAX: usize = BATCH_BYTES_MAX / FRAME_WEIGHT;

    /// How many messages of so many empty frames are a batch.
    fn count_of(frame_count: usize) -> usize {
        let (mut messages, message) = (Vec::new(), Message::from_frames(vec![b""; frame_count]));
        let mut batch = Batch::new(&mut messages, usize::MAX);
        while !batch.is_full() && batch.count() < 10_000 {
            *batch.place() = message.clone();
            batch.keep();
        }
        batch.count()
    }

    #[test]
    fn a_batch_ends_with_its_last_frame_however_small_frames_are() {
        assert_eq!(FRAMES_MAX, 4096);
        for frame_count in [1, 2, 10, 1000, FRAMES_MAX - 1] {
            assert_eq!(count_of(frame_count), FRAMES_MAX.div_ceil(frame_count), "{frame_count}");
        }
        assert_eq!((count_of(FRAMES_MAX), count_of(10 * FRAMES_MAX)), (1, 1));
    }

    #[test]
    fn messages_that_are_appended_count_as_those_that_are_kept() {
        let mut messages = Vec::new();
        let mut batch = Batch::new(&mut messages, usize::MAX);
        *batch.place() = Message::from_frames(vec![b""; FRAMES_MAX - 100]);
        batch.keep();
        let appended = batch.append(|into, count, _| {
            into.resize(into.len() + count, Message::new());
            0
        });
        assert_eq!((appended, batch.is_full()), (100, true));
        assert_eq!(batch.append(|_, count, _| count), 0);
    }
}
