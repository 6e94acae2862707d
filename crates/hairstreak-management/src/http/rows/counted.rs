//! `Counted`: a number with its rate beside it, as `x` and `x_details`.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::http::rates::Detail;

/// The keys of a counter.
pub(crate) type Keys = (&'static str, &'static str);

/// A value and its rate.
#[derive(Clone, Debug, Default)]
pub(super) struct CountedValue {
    value: u64,
    detail: Detail,
}

/// An object of counters: each with its keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted(Vec<(Keys, CountedValue)>);

impl Counted {
    pub(crate) fn add(&mut self, keys: Keys, value: u64, detail: Detail) {
        self.0.push((keys, CountedValue { value, detail }));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends the counters to an object.
    pub(crate) fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.iter().try_for_each(|((name, details), counted)| {
            map.serialize_entry(name, &counted.value)?;
            map.serialize_entry(details, &counted.detail)
        })
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2 * self.0.len()))?;
        self.put(&mut map)?;
        map.end()
    }
}
