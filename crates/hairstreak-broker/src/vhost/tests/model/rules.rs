//! The queues of the model by name, and how each behaves.

use super::super::*;

pub(super) const QUEUES: [&str; 12] = [
    "plain",
    "ttl",
    "short",
    "full",
    "refused",
    "sorted",
    "limited",
    "single",
    "auto",
    "exclusive",
    "temporary",
    "expiring",
];

/// The rules of a queue of the model.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) ttl: Option<u64>,
    pub(super) length_max: Option<usize>,
    pub(super) bytes_max: Option<usize>,
    /// Messages without room are refused; the first ones go otherwise.
    pub(super) rejects: bool,
    pub(super) priority_max: u8,
    pub(super) delivery_limit: Option<u64>,
    pub(super) single_active: bool,
    pub(super) auto_delete: bool,
    pub(super) exclusive: bool,
    /// Time without use after which the queue is deleted.
    pub(super) expires: Option<u64>,
    /// The queue for dead letters.
    pub(super) dead: Option<&'static str>,
}

impl Rules {
    pub(super) fn is_quorum(&self) -> bool {
        self.delivery_limit.is_some()
    }

    pub(super) fn of(name: &str) -> Rules {
        let none = Rules::default();
        match name {
            "ttl" => Rules { ttl: Some(10), dead: Some("dead-ttl"), ..none },
            "dead-ttl" => Rules { dead: Some("ttl"), ..none },
            "short" => Rules { length_max: Some(3), bytes_max: Some(20), dead: Some("dead-short"), ..none },
            "full" => Rules { length_max: Some(3), bytes_max: Some(20), rejects: true, ..none },
            "refused" => Rules { length_max: Some(2), rejects: true, dead: Some("dead-refused"), ..none },
            "sorted" => Rules { priority_max: 3, dead: Some("dead-sorted"), ..none },
            "dead-sorted" => Rules { priority_max: 2, dead: Some("sorted"), ..none },
            "limited" => Rules { delivery_limit: Some(2), dead: Some("dead-limited"), ..none },
            "dead-limited" => Rules { dead: Some("limited"), ..none },
            "single" => Rules { single_active: true, ..none },
            "auto" => Rules { auto_delete: true, ..none },
            "exclusive" => Rules { exclusive: true, ..none },
            "temporary" => Rules { exclusive: true, auto_delete: true, single_active: true, ..none },
            "expiring" => Rules { expires: Some(12), priority_max: 1, ..none },
            _ => none,
        }
    }

    /// Returns true if messages are too many, or too long.
    pub(super) fn is_over(&self, count: usize, bytes: usize) -> bool {
        self.length_max.is_some_and(|max| count > max) || self.bytes_max.is_some_and(|max| bytes > max)
    }
}

/// The declaration of a queue of the model.
pub(super) fn declaration_of(name: &str) -> QueueDeclaration {
    let rules = Rules::of(name);
    let mut arguments = FieldTable::new();
    let numbers = [
        ("x-message-ttl", rules.ttl),
        ("x-max-length", rules.length_max.map(|max| max as u64)),
        ("x-max-length-bytes", rules.bytes_max.map(|max| max as u64)),
        ("x-max-priority", (rules.priority_max > 0).then_some(rules.priority_max.into())),
        ("x-delivery-limit", rules.delivery_limit),
        ("x-expires", rules.expires),
    ];
    for (argument, number) in numbers {
        if let Some(number) = number {
            arguments.insert(argument, number as i64);
        }
    }
    if rules.rejects {
        let has_dead = rules.dead.is_some();
        arguments.insert("x-overflow", if has_dead { "reject-publish-dlx" } else { "reject-publish" });
    }
    if rules.single_active {
        arguments.insert("x-single-active-consumer", true);
    }
    if let Some(dead) = rules.dead {
        arguments.insert("x-dead-letter-exchange", "");
        arguments.insert("x-dead-letter-routing-key", dead);
    }
    let declaration = if rules.is_quorum() { quorum(name, arguments) } else { queue(name, arguments) };
    QueueDeclaration { is_auto_delete: rules.auto_delete, is_exclusive: rules.exclusive, ..declaration }
}
