//! Operations on messages: they are published, taken and settled.

use super::super::plain::{EXCHANGES, KEYS, Post};
use super::*;

impl World {
    /// Somewhere to publish to: an exchange and a key.
    fn any_address(&mut self) -> (&'static str, &'static str) {
        match self.rng.u8(0..3) {
            0 => (self.any(&EXCHANGES), self.any(&KEYS)),
            _ => ("", self.any_queue()),
        }
    }

    pub(super) fn publish(&mut self) {
        let (exchange, key) = self.any_address();
        self.next_number += 1;
        let number = self.next_number;
        let body = format!("{number}{}", ".".repeat(self.rng.usize(0..10)));
        let priority = self.rng.u8(0..5);
        let ttl = self.rng.bool().then(|| self.rng.u64(0..40)).filter(|_| self.rng.u8(0..4) == 0);
        self.note(|| format!("publish {body} to {exchange:?} {key}, priority {priority}, ttl {ttl:?}"));
        let expiration = ttl.map(|ttl| ttl.to_string());
        let properties = Properties {
            priority: Some(priority),
            delivery_mode: self.rng.bool().then_some(2),
            expiration: expiration.as_deref().map(str::as_bytes),
            ..Properties::default()
        };
        let route = self.routes.entry((exchange, key)).or_default();
        let published = self.bench.publish_along(route, exchange, key, &body, &properties);
        let targets = self.plain.route(exchange, key);
        let refuses = |name: &&str| self.plain.queues[*name].refuses(&body);
        let expected = match targets[..] {
            [] => Published::Unroutable,
            _ if targets.iter().any(refuses) => Published::Refused,
            _ => Published::Routed,
        };
        assert_eq!(
            if published.durability() > Durability::Memory { Published::Routed } else { published },
            expected
        );
        targets.iter().for_each(|name| self.plain.count(name, None, |stats| stats.publish += 1));
        self.plain.publish(&targets, &Post { body, exchange, key, priority, ttl, deaths: Vec::new() });
        // A consumer takes a message before the queue may be too long, and before the message expires.
        let mut deliveries = self.bench.take_deliveries();
        let is_letter =
            |delivery: &Delivery| (&*delivery.exchange, &*delivery.routing_key) != (exchange, key);
        let letters = deliveries.iter().position(is_letter).unwrap_or(deliveries.len());
        let letters = deliveries.split_off(letters);
        self.give(deliveries, true);
        targets.into_iter().for_each(|name| self.plain.shorten(name));
        self.expire();
        self.give(letters, false);
    }

    pub(super) fn get(&mut self) {
        let (name, no_ack) = (self.any_queue(), self.rng.bool());
        let Some((number, channel)) = self.any_channel() else { return };
        self.note(|| format!("get from {name} by channel {number}"));
        let access = self.plain.access(name, self.plain.channels[&number].connection);
        let got = self.bench.try_get(channel, name, no_ack);
        assert_eq!(got.as_ref().map(drop).map_err(|refusal| refusal.code), access);
        let Ok(got) = got else { return };
        self.plain.queues.get_mut(name).unwrap().used_at = self.plain.now;
        self.plain.expire(name);
        match got {
            Some((delivery, count)) => {
                self.take_first(name, number, None, no_ack, &delivery);
                self.plain.expire(name);
                let left_count = self.plain.queues[name].ready.len();
                // Messages on disk count until they are read, expired or not.
                assert!(count as usize == left_count || self.has_disk && count as usize > left_count);
            }
            None => {
                assert!(self.plain.queues[name].ready.is_empty());
                self.plain.count(name, None, |stats| stats.get_empty += 1);
                self.plain.channels.get_mut(&number).unwrap().stats.get_empty += 1;
            }
        }
        self.take_deliveries();
    }

    /// A delivery that is not settled: its channel, and its tag.
    fn any_delivery(&mut self) -> Option<(usize, ChannelId, u64)> {
        let (number, channel) = self.any_channel()?;
        let tags: Vec<u64> = self.plain.channels[&number].unacked.keys().copied().collect();
        (!tags.is_empty()).then(|| (number, channel, self.any(&tags)))
    }

    /// A transaction takes a delivery, or all up to one.
    pub(super) fn hold(&mut self) {
        let Some((number, channel, tag)) = self.any_delivery() else { return };
        let multiple = self.rng.bool();
        self.note(|| format!("hold {tag} of channel {number}, multiple {multiple}"));
        let plain = self.plain.channels.get_mut(&number).unwrap();
        let held = plain.take(tag, multiple);
        assert_eq!(self.bench.host.hold(channel, tag, multiple), Ok(held.len()));
        plain.held.extend(held);
    }

    /// Settles some deliveries of a transaction, by commit or rollback, and makes the rest unsettled again.
    pub(super) fn end_transaction(&mut self) {
        let Some((number, channel)) = self.any_channel() else { return };
        let plain = self.plain.channels.get_mut(&number).unwrap();
        let count = self.rng.usize(0..plain.held.len() + 1);
        let (requeue, settlement) = match self.rng.u8(0..3) {
            0 => (None, Settlement::Ack),
            1 => (Some(false), Settlement::Reject { requeue: false }),
            _ => (Some(true), Settlement::Reject { requeue: true }),
        };
        let settled: Vec<_> = plain.held.drain(..count).collect();
        plain.unacked.extend(plain.held.drain(..));
        plain.count_settled(count, requeue);
        self.note(|| format!("end the transaction of channel {number}, {settlement:?} of {count}"));
        self.bench.host.settle_held(channel, count, settlement, self.bench.now, &mut self.bench.said);
        self.bench.host.release_held(channel);
        settled.into_iter().for_each(|(_, delivered)| self.plain.settle(delivered, requeue));
        self.after_return();
    }

    /// Settles a delivery, or all up to one; `requeue` is `None` for an acknowledgement.
    pub(super) fn settle(&mut self, requeue: Option<bool>) {
        let Some((number, channel, tag)) = self.any_delivery() else { return };
        let multiple = self.rng.bool();
        self.note(|| format!("settle {tag} of channel {number}, multiple {multiple}, requeue {requeue:?}"));
        let result = match requeue {
            None => self.bench.ack(channel, tag, multiple),
            Some(requeue) => self.bench.reject(channel, tag, multiple, requeue),
        };
        assert_eq!(result, Ok(()));
        let plain = self.plain.channels.get_mut(&number).unwrap();
        let settled = plain.take(tag, multiple);
        plain.count_settled(settled.len(), requeue);
        settled.into_iter().for_each(|(_, delivered)| self.plain.settle(delivered, requeue));
        self.after_return();
        let again = self.bench.ack(channel, tag, multiple);
        assert_eq!(again.map_err(|refusal| refusal.code), Err(ReplyCode::PreconditionFailed));
    }

    pub(super) fn recover(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        self.note(|| format!("recover channel {number}"));
        self.bench.host.recover(id, true, self.bench.now, &mut self.bench.said).unwrap();
        let unacked = std::mem::take(&mut self.plain.channels.get_mut(&number).unwrap().unacked);
        unacked.into_values().for_each(|delivered| self.plain.settle(delivered, Some(true)));
        self.after_return();
    }

    /// Handles returned messages: queues may be too long, and consumers take waiting messages.
    pub(super) fn after_return(&mut self) {
        self.names.iter().for_each(|name| self.plain.shorten(name));
        self.take_deliveries();
    }
}
