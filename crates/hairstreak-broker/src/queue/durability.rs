//! `Durability`: how safe the messages of a queue are when they are confirmed, and the argument `x-durability`.

use hairstreak_wire::amqp::FieldValue;

/// The argument. A policy has the same setting without `x-`.
pub(crate) const DURABILITY: &str = "x-durability";

/// The state of a message at its confirm. A later value is stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The message is in the queue. The message log does not have it.
    Memory,
    /// The write of the message log has returned: the message survives the end of the process, and not a loss of power.
    Written,
    /// The message is on the medium.
    #[default]
    Synced,
}

impl Durability {
    /// All values.
    pub const ALL: [Durability; 3] = [Durability::Memory, Durability::Written, Durability::Synced];
    /// The names of the values.
    pub(crate) const NAMES: [&'static str; 3] = ["memory", "written", "synced"];

    /// Returns the durability that a value of an argument or a policy names.
    pub(crate) fn of(value: &FieldValue) -> Option<Durability> {
        let name = value.as_bytes()?;
        Durability::ALL.into_iter().find(|durability| durability.name().as_bytes() == name)
    }

    /// The name of the value.
    pub fn name(self) -> &'static str {
        Durability::NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_name_and_stricter_ones_are_larger() {
        for durability in Durability::ALL {
            assert_eq!(Durability::of(&FieldValue::from(durability.name())), Some(durability));
        }
        assert!(Durability::ALL.is_sorted());
        assert_eq!(Durability::default(), Durability::Synced);
        assert_eq!(Durability::of(&1.into()), None);
    }
}
