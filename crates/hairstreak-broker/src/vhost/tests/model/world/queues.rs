//! Operations on queues and bindings, and the passing of time.

use std::sync::Arc;

use super::super::plain::{EXCHANGES, KEYS, PATTERNS};
use super::super::policies::{PlainPolicies, PlainPolicy};
use super::super::rules::declaration_of;
use super::*;
use crate::policy::{ApplyTo, Policy, Scope};

impl World {
    /// Declares a queue: a missing queue if one is missing.
    pub(super) fn declare_any(&mut self) {
        let names = self.names.iter().copied();
        let missing: Vec<&str> = names.filter(|name| !self.plain.queues.contains_key(name)).collect();
        let name = if missing.is_empty() { self.any_queue() } else { self.any(&missing) };
        self.declare(name);
    }

    pub(super) fn declare(&mut self, name: &'static str) {
        let connection = self.any(&CONNECTIONS);
        self.note(|| format!("declare {name} by {connection:?}"));
        let mut declaration = declaration_of(name);
        declaration.is_durable |= self.has_disk;
        let declared = self.bench.host.declare_queue(connection, &declaration, self.bench.now);
        let declared = declared.map_err(|refusal| refusal.code);
        match self.plain.access(name, connection) {
            Err(ReplyCode::NotFound) => {
                self.plain.declare(name, connection);
                assert_eq!(declared.map(|status| (status.message_count, status.consumer_count)), Ok((0, 0)));
            }
            Err(code) => assert_eq!(declared, Err(code)),
            Ok(()) => {
                let queue = self.plain.queues.get_mut(name).unwrap();
                queue.used_at = self.plain.now;
                let consumers = self.plain.consumers.iter().filter(|consumer| consumer.queue == name);
                let expected = (queue.ready.len(), consumers.count());
                let status = declared.unwrap();
                assert_eq!((status.message_count as usize, status.consumer_count as usize), expected);
            }
        }
    }

    pub(super) fn delete(&mut self) {
        let (name, connection) = (self.any_queue(), self.any(&CONNECTIONS));
        let (if_unused, if_empty) = (self.rng.u8(0..4) == 0, self.rng.u8(0..4) == 0);
        self.note(|| format!("delete {name} by {connection:?}, if unused {if_unused}, if empty {if_empty}"));
        let is_used = self.plain.consumers.iter().any(|consumer| consumer.queue == name);
        let count = self.plain.queues.get(name).map_or(0, |queue| queue.ready.len());
        let expected = match self.plain.access(name, connection) {
            Err(ReplyCode::ResourceLocked) => Err(ReplyCode::ResourceLocked),
            _ if if_unused && is_used || if_empty && count > 0 => Err(ReplyCode::PreconditionFailed),
            _ => Ok(count as u32),
        };
        let Bench { host, now, said } = &mut self.bench;
        let deleted = host.delete_queue(connection, name.as_bytes(), if_unused, if_empty, *now, said);
        assert_eq!(deleted.map_err(|refusal| refusal.code), expected);
        if expected.is_ok() {
            assert_eq!(std::mem::take(&mut self.bench.said.cancelled), self.plain.delete(name));
        }
    }

    pub(super) fn purge(&mut self) {
        let (name, connection) = (self.any_queue(), self.any(&CONNECTIONS));
        self.note(|| format!("purge {name} by {connection:?}"));
        let access = self.plain.access(name, connection);
        let expected = access.map(|()| {
            let queue = self.plain.queues.get_mut(name).unwrap();
            std::mem::take(&mut queue.ready).len() as u32
        });
        let purged = self.bench.host.purge_queue(connection, name.as_bytes());
        assert_eq!(purged.map_err(|refusal| refusal.code), expected);
    }

    pub(super) fn bind(&mut self) {
        let (name, connection) = (self.any_queue(), self.any(&CONNECTIONS));
        let exchange = self.any(&EXCHANGES);
        let key = if exchange == "amq.direct" { self.any(&KEYS) } else { self.any(&PATTERNS) };
        self.note(|| format!("bind {name} to {exchange} by {connection:?}, {key}"));
        let none = FieldTable::new();
        let (queue, source) = (name.as_bytes(), exchange.as_bytes());
        let bound = self.bench.host.bind_queue(connection, queue, source, key.as_bytes(), &none);
        assert_eq!(bound.map_err(|refusal| refusal.code), self.plain.access(name, connection));
        let binding = (exchange, key, name);
        if self.plain.access(name, connection).is_ok() && !self.plain.bindings.contains(&binding) {
            self.plain.bindings.push(binding);
        }
    }

    pub(super) fn unbind(&mut self) {
        let connection = self.any(&CONNECTIONS);
        if self.plain.bindings.is_empty() {
            return;
        }
        let index = self.rng.usize(0..self.plain.bindings.len());
        let (exchange, key, name) = self.plain.bindings[index];
        self.note(|| format!("unbind {name} from {exchange} by {connection:?}, {key}"));
        let none = FieldTable::new();
        let (queue, source) = (name.as_bytes(), exchange.as_bytes());
        let unbound = self.bench.host.unbind_queue(connection, queue, source, key.as_bytes(), &none);
        assert_eq!(unbound.map_err(|refusal| refusal.code), self.plain.access(name, connection));
        if self.plain.access(name, connection).is_ok() {
            self.plain.bindings.remove(index);
        }
    }

    /// Has messages to come be more or less durable.
    pub(super) fn turn_dial(&mut self) {
        let durability = self.any(&Durability::ALL);
        self.note(|| format!("messages are {durability:?}"));
        let definition = arguments([("durability", durability.name().into())]);
        let policy = Policy::new("p", "", ApplyTo::All, 0, definition, Scope::User).unwrap();
        self.bench.set_both(vec![Arc::new(policy)], Vec::new());
        self.after_return();
    }

    pub(super) fn set_policies(&mut self) {
        let mut some = |max| -> Vec<PlainPolicy> {
            let count = self.rng.usize(0..max);
            (0..count).map(|_| PlainPolicy::any(&mut self.rng)).collect()
        };
        let policies = PlainPolicies { user: some(3), operator: some(2) };
        self.note(|| format!("set policies {policies:?}"));
        let list = |all: &[PlainPolicy], scope| {
            all.iter().enumerate().map(|(number, policy)| policy.policy(number, scope)).collect()
        };
        let (user, operator) = (list(&policies.user, Scope::User), list(&policies.operator, Scope::Operator));
        self.bench.set_both(user, operator);
        self.plain.set_policies(policies);
        self.after_return();
    }

    pub(super) fn pass(&mut self) {
        let ms = self.rng.u64(0..15);
        self.note(|| format!("pass {ms} ms"));
        for _ in 0..ms {
            self.bench.pass(1);
            self.plain.now = self.bench.now;
            self.expire();
            self.plain.expire_queues();
            self.take_rest();
        }
    }
}
