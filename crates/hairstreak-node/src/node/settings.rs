//! `Settings`: the settings of AMQP that a reload of the configuration changes, as connections read them.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use crate::config::AmqpConfig;
use crate::process;

/// Share of the descriptors that clients leave for operators: one of eight, within a minimum and a maximum.
const OPERATORS_PART: u64 = 8;
const OPERATORS_DESCRIPTORS: (u64, u64) = (32, 512);

/// The settings that a reload changes.
pub struct Settings {
    allows_anonymous: AtomicBool,
    message_size_max: AtomicU64,
    connections_max: AtomicUsize,
    /// The number of AMQP connections that leaves descriptors for operators.
    descriptors_max: usize,
}

impl Settings {
    pub(super) fn new(config: &AmqpConfig) -> Settings {
        let settings = Settings {
            allows_anonymous: AtomicBool::default(),
            message_size_max: AtomicU64::default(),
            connections_max: AtomicUsize::default(),
            descriptors_max: spare_descriptors(),
        };
        settings.set(config);
        settings
    }

    pub(super) fn set(&self, config: &AmqpConfig) {
        self.allows_anonymous.store(config.anonymous_user.is_some(), Relaxed);
        self.message_size_max.store(config.message_size_max, Relaxed);
        self.connections_max.store(config.connections_max.min(self.descriptors_max), Relaxed);
    }

    /// Returns whether clients may log in without credentials.
    pub fn allows_anonymous(&self) -> bool {
        self.allows_anonymous.load(Relaxed)
    }

    /// Returns the bound of AMQP connections, which leaves descriptors for operators.
    pub fn connections_max(&self) -> usize {
        self.connections_max.load(Relaxed)
    }

    /// Returns the bound of a message's body, in bytes.
    pub fn message_size_max(&self) -> u64 {
        self.message_size_max.load(Relaxed)
    }
}

/// The descriptors that a start leaves for clients' connections: the others are for operators, files and the loops.
fn spare_descriptors() -> usize {
    let limit = process::descriptor_limit();
    let kept = (limit / OPERATORS_PART).clamp(OPERATORS_DESCRIPTORS.0, OPERATORS_DESCRIPTORS.1);
    usize::try_from(limit.saturating_sub(process::descriptor_count() + kept)).unwrap_or(usize::MAX).max(1)
}
