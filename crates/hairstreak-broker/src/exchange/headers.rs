//! The type `headers`: a message goes where its headers match a binding's arguments. Routing keys do not count.
//!
//! | `x-match` | a binding matches if |
//! |---|---|
//! | `all`, or no `x-match` | each argument is a header; arguments that begin with `x-` do not count |
//! | `any` | one argument is a header; arguments that begin with `x-` do not count |
//! | `all-with-x` | each argument is a header |
//! | `any-with-x` | one argument is a header |
//!
//! `x-match` itself never counts. An argument without a value (void) is a header of any value. Numbers are equal
//! whatever their types. Each binding costs each message a look.

use std::collections::BTreeMap;

use hairstreak_wire::amqp::{FieldTable, FieldValue, ReplyCode};

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::exchange_type::{ExchangeType, Load, Way};
use super::routing::{Cacheable, Routing};
use crate::erlang;
use crate::refusal::Refusal;
use crate::steps::Steps;

const X_MATCH: &str = "x-match";

/// Up to this many headers are searched one after the other. More are sorted first.
const UNSORTED_COUNT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Headers {
    patterns: BTreeMap<BindingId, (Pattern, Destination)>,
}

impl ExchangeType for Headers {
    fn check(&self, _: &[u8], arguments: &FieldTable) -> Result<(), Refusal> {
        match arguments.get(X_MATCH) {
            None => Ok(()),
            Some(FieldValue::LongString(name)) if Match::from_name(name).is_some() => Ok(()),
            Some(FieldValue::LongString(name)) => Err(Refusal::new(
                ReplyCode::PreconditionFailed,
                format!(
                    "Invalid x-match field value {}; expected all, any, all-with-x, or any-with-x",
                    erlang::print_binary(name)
                ),
            )),
            Some(value) => Err(Refusal::new(
                ReplyCode::PreconditionFailed,
                format!(
                    "Invalid x-match field type {} (value {}); expected longstr",
                    value.type_name(),
                    erlang::print(value)
                ),
            )),
        }
    }

    fn bind(&mut self, id: BindingId, binding: &Binding, arguments: &FieldTable) {
        self.patterns.insert(id, (Pattern::new(arguments), binding.destination));
    }

    fn unbind(&mut self, id: BindingId, _: &Binding) {
        self.patterns.remove(&id);
    }

    fn route(
        &mut self,
        message: &Routing<'_>,
        _: Load<'_>,
        way: &mut Way,
        steps: &mut Steps,
        found: &mut Vec<Destination>,
    ) -> bool {
        const NO_HEADERS: &FieldTable = &FieldTable::new();
        let headers = Lookup::new(message.headers.unwrap_or(NO_HEADERS));
        for (id, (pattern, destination)) in self.patterns.range(way.binding..) {
            if steps.are_spent() {
                way.binding = *id;
                return false;
            }
            steps.charge(1 + pattern.fields.len());
            if pattern.matches(&headers) {
                found.push(*destination);
            }
        }
        true
    }

    fn cacheable(&self) -> Cacheable {
        Cacheable::No
    }
}

/// How many arguments must be headers, and whether those with `x-` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    All,
    Any,
    AllWithX,
    AnyWithX,
}

impl Match {
    fn from_name(name: &[u8]) -> Option<Match> {
        match name {
            b"all" => Some(Match::All),
            b"any" => Some(Match::Any),
            b"all-with-x" => Some(Match::AllWithX),
            b"any-with-x" => Some(Match::AnyWithX),
            _ => None,
        }
    }

    fn counts(self, name: &[u8]) -> bool {
        match self {
            Match::All | Match::Any => !name.starts_with(b"x-"),
            Match::AllWithX | Match::AnyWithX => name != X_MATCH.as_bytes(),
        }
    }
}

/// The arguments of a binding that count.
#[derive(Debug)]
struct Pattern {
    x_match: Match,
    fields: Box<[(Box<[u8]>, FieldValue)]>,
}

impl Pattern {
    fn new(arguments: &FieldTable) -> Pattern {
        let name = arguments.get(X_MATCH).and_then(FieldValue::as_bytes);
        let x_match = name.and_then(Match::from_name).unwrap_or(Match::All);
        let counted = arguments.iter().filter(|(name, _)| x_match.counts(name));
        Pattern { x_match, fields: counted.map(|(name, value)| (name.into(), value.clone())).collect() }
    }

    fn matches(&self, headers: &Lookup<'_>) -> bool {
        let is_header = |(name, value): &(Box<[u8]>, FieldValue)| match (value, headers.get(name)) {
            (_, None) => false,
            (FieldValue::Void, Some(_)) => true,
            (value, Some(header)) => erlang::is_equal(value, header),
        };
        match self.x_match {
            Match::All | Match::AllWithX => self.fields.iter().all(is_header),
            Match::Any | Match::AnyWithX => self.fields.iter().any(is_header),
        }
    }
}

/// Headers by name: of two with the same name the first counts.
enum Lookup<'a> {
    Unsorted(&'a FieldTable),
    Sorted(Vec<(&'a [u8], &'a FieldValue)>),
}

impl<'a> Lookup<'a> {
    fn new(headers: &'a FieldTable) -> Lookup<'a> {
        if headers.len() <= UNSORTED_COUNT {
            return Lookup::Unsorted(headers);
        }
        let mut sorted: Vec<_> = headers.iter().collect();
        sorted.sort_by_key(|(name, _)| *name);
        sorted.dedup_by_key(|(name, _)| *name);
        Lookup::Sorted(sorted)
    }

    fn get(&self, name: &[u8]) -> Option<&'a FieldValue> {
        match self {
            Lookup::Unsorted(headers) => headers.get(name),
            Lookup::Sorted(sorted) => {
                let index = sorted.binary_search_by_key(&name, |(name, _)| *name).ok()?;
                Some(sorted[index].1)
            }
        }
    }
}
