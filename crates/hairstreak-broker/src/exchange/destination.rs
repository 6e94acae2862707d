//! `ExchangeId` and `Destination`: the two ends of a binding.
//!
//! - `Destinations`: the destinations of all bindings with one condition.

use foldhash::{HashMap, HashMapExt};

use crate::queue::QueueId;
use crate::steps::Steps;

/// The number of an exchange: the index into the table of exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExchangeId(pub(super) u32);

impl ExchangeId {
    /// The default exchange, which is in no table.
    pub(crate) const DEFAULT: ExchangeId = ExchangeId(u32::MAX);
}

impl Default for ExchangeId {
    fn default() -> ExchangeId {
        ExchangeId::DEFAULT
    }
}

/// The destination of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Destination {
    Queue(QueueId),
    Exchange(ExchangeId),
}

#[derive(Debug, Default)]
pub(super) enum Destinations {
    #[default]
    None,
    One {
        destination: Destination,
        binding_count: u32,
    },
    /// At least two.
    Many(Box<Many>),
}

#[derive(Debug)]
pub(super) struct Many {
    list: Vec<Destination>,
    places: HashMap<Destination, Place>,
}

#[derive(Debug)]
struct Place {
    /// The index of the destination in the list.
    index: usize,
    binding_count: u32,
}

impl Destinations {
    pub(super) fn as_slice(&self) -> &[Destination] {
        match self {
            Destinations::None => &[],
            Destinations::One { destination, .. } => std::slice::from_ref(destination),
            Destinations::Many(many) => &many.list,
        }
    }

    /// Appends the destinations, from the end of the list if the steps are not enough for all. `left`: the number that is not
    /// appended yet; `None`: the list is not begun. Returns true if all are appended. A destination that takes the place of a
    /// removed destination is not skipped.
    pub(super) fn append_to(
        &self,
        found: &mut Vec<Destination>,
        left: &mut Option<usize>,
        steps: &mut Steps,
    ) -> bool {
        let list = self.as_slice();
        let end = left.map_or(list.len(), |left| left.min(list.len()));
        let begin = end - end.min(steps.left());
        found.extend_from_slice(&list[begin..end]);
        steps.charge(end - begin);
        *left = (begin > 0).then_some(begin);
        begin == 0
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Destinations::None)
    }

    /// A further binding leads to the destination.
    pub(super) fn add(&mut self, added: Destination) {
        match self {
            Destinations::None => *self = Destinations::One { destination: added, binding_count: 1 },
            Destinations::One { destination, binding_count } if *destination == added => *binding_count += 1,
            Destinations::One { destination, binding_count } => {
                let mut many = Many { list: Vec::new(), places: HashMap::new() };
                many.add(*destination, *binding_count);
                many.add(added, 1);
                *self = Destinations::Many(Box::new(many));
            }
            Destinations::Many(many) => many.add(added, 1),
        }
    }

    /// Removes one binding to the destination.
    pub(super) fn remove(&mut self, removed: Destination) {
        match self {
            Destinations::One { destination, binding_count } if *destination == removed => {
                *binding_count -= 1;
                if *binding_count == 0 {
                    *self = Destinations::None;
                }
            }
            Destinations::Many(many) => {
                many.remove(removed);
                if let [destination] = many.list[..] {
                    let binding_count = many.places[&destination].binding_count;
                    *self = Destinations::One { destination, binding_count };
                }
            }
            Destinations::None | Destinations::One { .. } => {}
        }
    }
}

impl Many {
    fn add(&mut self, added: Destination, binding_count: u32) {
        let index = self.list.len();
        let place = self.places.entry(added).or_insert(Place { index, binding_count: 0 });
        place.binding_count += binding_count;
        if place.index == index {
            self.list.push(added);
        }
    }

    fn remove(&mut self, removed: Destination) {
        let Some(place) = self.places.get_mut(&removed) else { return };
        place.binding_count -= 1;
        if place.binding_count > 0 {
            return;
        }
        let index = place.index;
        self.places.remove(&removed);
        self.list.swap_remove(index);
        if let Some(moved) = self.list.get(index).and_then(|moved| self.places.get_mut(moved)) {
            moved.index = index;
        }
    }
}
