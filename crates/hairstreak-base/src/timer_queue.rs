//! `TimerQueue`: one timer for each key, and the earliest of them all.
//!
//! The queue is a heap with four children a node, with the place of each key in the heap. Setting, moving and
//! cancelling are exact and take O(log n); looking at the earliest timer takes O(1). Keys are small numbers that the
//! caller chooses, for example indexes into a table. The queue keeps four bytes for each key up to the largest that
//! was ever set, and a time and a key for each timer that is set. Once both have their size, no call allocates.
//!
//! The queue has no clock: a time is any ordered value, and the caller passes `now`. Due timers are popped one by
//! one. Timers that the caller sets while popping are popped in the same run if they are due.
//!
//! Invariants:
//! - no timer is earlier than its parent in the heap, which stands at a quarter of its place;
//! - `places[key]` is where the heap has that key, or `NOWHERE`;
//! - a key stands in the heap at most once.

#[cfg(all(test, not(loom)))]
mod tests;

/// Children of a node. A heap of a thousand timers is five deep, and the children share one or two cache lines.
const CHILD_COUNT: usize = 4;
/// Place of a key without a timer.
const NOWHERE: u32 = u32::MAX;

/// Timers by key, at most one for each; see the module's description.
#[derive(Clone, Debug)]
pub struct TimerQueue<T> {
    heap: Vec<Entry<T>>,
    places: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: T,
    key: u32,
}

impl<T> Default for TimerQueue<T> {
    fn default() -> Self {
        TimerQueue::new()
    }
}

impl<T> TimerQueue<T> {
    /// Creates a queue without timers, and without memory.
    pub const fn new() -> Self {
        TimerQueue { heap: Vec::new(), places: Vec::new() }
    }

    /// Returns the number of timers.
    pub fn count(&self) -> usize {
        self.heap.len()
    }
}

impl<T: Copy + Ord> TimerQueue<T> {
    /// Returns the time of the earliest timer.
    #[inline]
    pub fn next(&self) -> Option<T> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Returns the time of this key's timer, if there is one.
    pub fn time_of(&self, key: u32) -> Option<T> {
        self.place_of(key).map(|place| self.heap[place].at)
    }

    /// Sets the timer of this key, or moves an existing one.
    pub fn set(&mut self, key: u32, at: T) {
        match self.place_of(key) {
            Some(place) => self.replace(place, Entry { at, key }),
            None => self.push(Entry { at, key }),
        }
    }

    /// Sets the timer of this key, unless it has one that is due at the same time or sooner. Returns whether it did.
    pub fn set_earlier(&mut self, key: u32, at: T) -> bool {
        let place = self.place_of(key);
        match place {
            Some(place) if self.heap[place].at <= at => return false,
            Some(place) => self.rise(place, Entry { at, key }),
            None => self.push(Entry { at, key }),
        }
        true
    }

    /// Cancels the timer of this key. Returns whether there was one.
    pub fn cancel(&mut self, key: u32) -> bool {
        let place = self.place_of(key);
        if let Some(place) = place {
            self.remove(place);
        }
        place.is_some()
    }

    /// Takes the earliest timer, if it is due by `now`, and returns its key. The order of timers with the same time
    /// is not defined.
    pub fn pop_due(&mut self, now: T) -> Option<u32> {
        let first = *self.heap.first().filter(|first| first.at <= now)?;
        self.remove(0);
        Some(first.key)
    }

    fn place_of(&self, key: u32) -> Option<usize> {
        self.places.get(key as usize).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    fn push(&mut self, entry: Entry<T>) {
        let key_count = entry.key as usize + 1;
        if self.places.len() < key_count {
            self.places.resize(key_count, NOWHERE);
        }
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }

    fn remove(&mut self, place: usize) {
        self.places[self.heap[place].key as usize] = NOWHERE;
        // INVARIANT: `place` is a place in the heap, so the heap has a last entry.
        let last = self.heap.pop().expect("a heap that has this place");
        if place < self.heap.len() {
            self.replace(place, last);
        }
    }

    /// Puts the entry at this free place, then moves it up or down to its order.
    fn replace(&mut self, place: usize, entry: Entry<T>) {
        if place > 0 && entry.at < self.heap[parent_of(place)].at {
            self.rise(place, entry);
        } else {
            self.sink(place, entry);
        }
    }

    fn rise(&mut self, mut place: usize, entry: Entry<T>) {
        while place > 0 {
            let parent = parent_of(place);
            if self.heap[parent].at <= entry.at {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize, entry: Entry<T>) {
        while let Some(child) = self.earliest_child(place).filter(|child| self.heap[*child].at < entry.at) {
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn earliest_child(&self, place: usize) -> Option<usize> {
        let first = place * CHILD_COUNT + 1;
        let children = first..self.heap.len().min(first + CHILD_COUNT);
        children.min_by_key(|child| self.heap[*child].at)
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry<T>) {
        self.places[entry.key as usize] = place as u32;
        self.heap[place] = entry;
    }
}

const fn parent_of(place: usize) -> usize {
    (place - 1) / CHILD_COUNT
}
