//! The type `headers`: a message is routed by its headers and the bindings' arguments. Routing keys do not count.
//!
//! | `x-match` | a binding matches if |
//! |---|---|
//! | `all`, or no `x-match` | each argument is a header; arguments that begin with `x-` do not count |
//! | `any` | one argument is a header; arguments that begin with `x-` do not count |
//! | `all-with-x` | each argument is a header |
//! | `any-with-x` | one argument is a header |
//!
//! `x-match` itself never counts. An argument without a value (void) is a header of any value. Numbers of different types can be
//! equal. The cost of a message grows with the number of bindings: each binding is tried.

use std::collections::BTreeMap;

use hairstreak_wire::amqp::{EncodedTable, Field, FieldTable, FieldValue, Fields, ReplyCode, Values};

use super::binding::{Binding, BindingId};
use super::destination::Destination;
use super::exchange_type::{ExchangeType, Visit};
use super::routing::Cacheable;
use crate::erlang;
use crate::refusal::Refusal;

const X_MATCH: &str = "x-match";

/// The letter of a value that is void.
const VOID: u8 = b'V';

/// The bytes of arguments that are compared in one step, beside a step for each argument.
const BYTES_PER_STEP: usize = 64;

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

    fn bind(&mut self, id: BindingId, binding: &Binding) {
        self.patterns.insert(id, (Pattern::new(&binding.arguments), binding.destination));
    }

    fn unbind(&mut self, id: BindingId, _: &Binding) {
        self.patterns.remove(&id);
    }

    fn route(&mut self, Visit { message, way, steps, found, .. }: Visit<'_>) -> bool {
        const NO_HEADERS: &FieldTable = &FieldTable::new();
        let headers = Lookup::new(message.headers.unwrap_or(NO_HEADERS));
        for (id, (pattern, destination)) in self.patterns.range(way.binding..) {
            if steps.are_spent() {
                way.binding = *id;
                return false;
            }
            steps.charge(pattern.steps);
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

/// Value of `x-match`: all arguments must be headers, or any, with or without arguments that begin with `x-`.
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

/// The arguments of a binding, and how they are compared with headers.
#[derive(Debug)]
struct Pattern {
    x_match: Match,
    arguments: EncodedTable,
    /// The steps of a comparison.
    steps: usize,
}

impl Pattern {
    fn new(arguments: &EncodedTable) -> Pattern {
        let name = arguments.get(X_MATCH);
        let x_match = name.as_ref().and_then(FieldValue::as_bytes).and_then(Match::from_name);
        let steps = 1 + arguments.fields().count() + arguments.size() / BYTES_PER_STEP;
        Pattern { x_match: x_match.unwrap_or(Match::All), arguments: arguments.clone(), steps }
    }

    fn matches(&self, headers: &Lookup<'_>) -> bool {
        let mut counted = self.arguments.fields().filter(|field| self.x_match.counts(field.name));
        let is_header = |field: Field<'_>| {
            headers.get(field.name).is_some_and(|header| field.letter == VOID || is_equal(field, header))
        };
        match self.x_match {
            Match::All | Match::AllWithX => counted.all(is_header),
            Match::Any | Match::AnyWithX => counted.any(is_header),
        }
    }
}

/// Returns true if a header has the value of an argument, by [`erlang::is_equal`]. Only numbers are decoded.
fn is_equal(argument: Field<'_>, header: &FieldValue) -> bool {
    match (argument.letter, header) {
        (b'F', FieldValue::Table(table)) => {
            let mut values = table.iter();
            let is_next = |field: Field<'_>| {
                values.next().is_some_and(|(name, value)| name == field.name && is_equal_typed(field, value))
            };
            Fields::new(argument.value).map_while(Result::ok).all(is_next) && values.next().is_none()
        }
        (b'A', FieldValue::Array(values)) => {
            let mut values = values.iter();
            let is_next = |field| values.next().is_some_and(|value| is_equal_typed(field, value));
            Values::new(argument.value).map_while(Result::ok).all(is_next) && values.next().is_none()
        }
        (b'F' | b'A', _) | (_, FieldValue::Table(_) | FieldValue::Array(_)) => false,
        _ => match (argument.as_bytes(), header.as_bytes()) {
            (Some(argument), Some(header)) => argument == header,
            (None, None) => {
                FieldValue::decode(argument).is_ok_and(|argument| erlang::is_equal(&argument, header))
            }
            _ => false,
        },
    }
}

fn is_equal_typed(argument: Field<'_>, header: &FieldValue) -> bool {
    let letter = if argument.letter == b'L' { b'l' } else { argument.letter };
    letter == header.letter() && is_equal(argument, header)
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
