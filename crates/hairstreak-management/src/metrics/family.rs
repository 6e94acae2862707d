//! `Family`: the samples of one name, as Prometheus groups them. `Group`: the families that are asked for together, with their values.

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    /// RabbitMQ's type of alarms and of facts, whose value is 0 or 1.
    Untyped,
}

/// A family of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// The name without its prefix.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
}

/// A family of objects of the type `T`, and its value for one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<T> {
    pub(super) family: Family,
    pub(super) value: fn(&T) -> f64,
}

/// Families of objects of the type `T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<T: 'static> {
    /// RabbitMQ's name of the group, as the parameter `family` of `/metrics/detailed` has it; empty: cannot be asked for there.
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column<T>],
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Untyped => "untyped",
        }
    }
}

/// A number that only grows.
pub(super) const fn counter<T>(name: &'static str, help: &'static str, value: fn(&T) -> f64) -> Column<T> {
    Column { family: Family { name, kind: Kind::Counter, help }, value }
}

/// A number that grows and falls.
pub(super) const fn gauge<T>(name: &'static str, help: &'static str, value: fn(&T) -> f64) -> Column<T> {
    Column { family: Family { name, kind: Kind::Gauge, help }, value }
}

/// A yes or no, or facts whose value is always 1.
pub(super) const fn untyped<T>(name: &'static str, help: &'static str, value: fn(&T) -> f64) -> Column<T> {
    Column { family: Family { name, kind: Kind::Untyped, help }, value }
}
