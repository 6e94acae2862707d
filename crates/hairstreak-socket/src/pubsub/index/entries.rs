//! `Entries`: the subscribers of one prefix, by number; a single one costs no allocation.

/// One subscriber's subscription to one prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub subscriber: u32,
    /// How often it subscribed.
    pub count: u32,
    /// Where the prefix stands in the subscriber's own list.
    pub place: u32,
}

#[derive(Debug, Default)]
pub(super) enum Entries {
    #[default]
    None,
    One(Entry),
    /// Sorted by subscriber; behind a pointer of one word.
    #[expect(clippy::box_collection, reason = "a node is to be one cache line")]
    Many(Box<Vec<Entry>>),
}

const _: () = assert!(size_of::<Entries>() == 16);

impl Entries {
    #[inline]
    pub fn as_slice(&self) -> &[Entry] {
        match self {
            Entries::None => &[],
            Entries::One(entry) => std::slice::from_ref(entry),
            Entries::Many(entries) => entries,
        }
    }

    pub fn find_mut(&mut self, subscriber: u32) -> Option<&mut Entry> {
        let entries = match self {
            Entries::None => return None,
            Entries::One(entry) => std::slice::from_mut(entry),
            Entries::Many(entries) => entries.as_mut_slice(),
        };
        let at = entries.binary_search_by_key(&subscriber, |entry| entry.subscriber).ok()?;
        Some(&mut entries[at])
    }

    /// Adds an entry of a subscriber that has none.
    pub fn insert(&mut self, entry: Entry) {
        match self {
            Entries::None => *self = Entries::One(entry),
            Entries::One(first) => {
                let mut both = vec![*first, entry];
                both.sort_by_key(|entry| entry.subscriber);
                *self = Entries::Many(Box::new(both));
            }
            Entries::Many(entries) => {
                let at = entries.partition_point(|other| other.subscriber < entry.subscriber);
                entries.insert(at, entry);
            }
        }
    }

    pub fn remove(&mut self, subscriber: u32) {
        match self {
            Entries::Many(entries) if entries.len() > 2 => {
                if let Ok(at) = entries.binary_search_by_key(&subscriber, |entry| entry.subscriber) {
                    entries.remove(at);
                }
            }
            _ => {
                let left = self.as_slice().iter().find(|entry| entry.subscriber != subscriber).copied();
                *self = left.map_or(Entries::None, Entries::One);
            }
        }
    }
}
