//! `Kept`: the changes of failed commits, the latest for each key.

use std::collections::BTreeMap;

use super::entry::{Kind, Write};

/// Changes, at most one for each key.
#[derive(Debug, Default)]
pub(super) struct Kept {
    writes: BTreeMap<(Kind, Vec<u8>), Option<Vec<u8>>>,
    bytes: usize,
}

impl Kept {
    /// Adds changes that are later than all kept changes.
    pub fn extend(&mut self, writes: impl IntoIterator<Item = Write>) {
        for write in writes {
            self.bytes += write.cost();
            let Write { kind, key, value } = write;
            let key_size = key.len();
            if let Some(former) = self.writes.insert((kind, key), value) {
                self.bytes -= size_of::<Write>() + key_size + former.map_or(0, |value| value.len());
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Returns the approximate memory of the changes, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn clear(&mut self) {
        *self = Kept::default();
    }

    /// Returns the changes: kind, key, and the value, or `None` for a removal.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &[u8], Option<&[u8]>)> {
        self.writes.iter().map(|((kind, key), value)| (*kind, &**key, value.as_deref()))
    }

    /// Drops the removals of keys for which `is_stored` is false: these keys are absent already.
    pub fn forget_removals(&mut self, is_stored: impl Fn(Kind, &[u8]) -> bool) {
        let bytes = &mut self.bytes;
        self.writes.retain(|(kind, key), value| {
            let is_needed = value.is_some() || is_stored(*kind, key);
            if !is_needed {
                *bytes -= size_of::<Write>() + key.len();
            }
            is_needed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(key: &str, value: Option<&str>) -> Write {
        Write { kind: Kind::new(1), key: key.into(), value: value.map(Into::into) }
    }

    #[test]
    fn the_latest_change_of_a_key_is_kept_and_the_cost_is_that_of_what_is_kept() {
        let mut kept = Kept::default();
        kept.extend([
            write("a", Some("1")),
            write("b", Some("22")),
            write("a", Some("333")),
            write("b", None),
        ]);
        let changes: Vec<_> = kept.iter().map(|(_, key, value)| (key, value)).collect();
        assert_eq!(changes, [(&b"a"[..], Some(&b"333"[..])), (b"b", None)]);
        assert_eq!(kept.bytes(), write("a", Some("333")).cost() + write("b", None).cost());
        kept.forget_removals(|_, _| false);
        assert_eq!(kept.bytes(), write("a", Some("333")).cost());
        kept.extend([write("a", None)]);
        kept.forget_removals(|_, key| key == b"a");
        assert_eq!((kept.is_empty(), kept.bytes()), (false, write("a", None).cost()));
        kept.forget_removals(|_, _| false);
        assert_eq!((kept.is_empty(), kept.bytes()), (true, 0));
    }
}
