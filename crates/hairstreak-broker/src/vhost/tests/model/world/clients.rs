//! Operations of clients: connections, channels and consumers come and go, and take more or less.

use super::super::consumers::{PlainChannel, PlainConsumer};
use super::*;

/// Maximum number of channels.
const CHANNEL_COUNT_MAX: usize = 6;

impl World {
    pub(super) fn open(&mut self) {
        if self.channels.len() >= CHANNEL_COUNT_MAX {
            return;
        }
        let connection = self.any(&CONNECTIONS);
        let id = self.bench.open(connection);
        self.next_channel += 1;
        self.note(|| format!("open channel {} of {connection:?}", self.next_channel));
        self.channels.insert(self.next_channel, id);
        self.plain.channels.insert(self.next_channel, PlainChannel::new(connection));
    }

    pub(super) fn close(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        self.note(|| format!("close channel {number}"));
        self.bench.close(id);
        self.channels.remove(&number);
        self.plain.close(number);
        self.after_return();
    }

    pub(super) fn disconnect_any(&mut self) {
        let connection = self.any(&CONNECTIONS);
        self.disconnect(connection);
    }

    pub(super) fn disconnect(&mut self, connection: ConnectionId) {
        self.note(|| format!("disconnect {connection:?}"));
        self.bench.disconnect(connection);
        self.bench.said.room.remove(&connection);
        self.plain.disconnect(connection);
        self.channels.retain(|number, _| self.plain.channels.contains_key(number));
        self.after_return();
    }

    pub(super) fn consume(&mut self) {
        let name = self.any_queue();
        let Some((number, id)) = self.any_channel() else { return };
        self.next_number += 1;
        // Quorum queues ignore the wish.
        let is_exclusive = self.rng.u8(0..6) == 0;
        let is_quorum = self.plain.queues.get(name).is_some_and(|queue| queue.rules.is_quorum());
        let consumer = PlainConsumer {
            tag: format!("c{}", self.next_number),
            channel: number,
            queue: name,
            no_ack: self.rng.u8(0..4) == 0,
            exclusive: is_exclusive && !is_quorum,
            prefetch: self.plain.channels[&number].consumer_prefetch,
            priority: self.rng.i32(0..6).max(4) - 4,
            turn: 0,
            unable_in: 0,
        };
        self.note(|| format!("{consumer:?}"));
        let declaration = ConsumerDeclaration {
            queue: name.as_bytes(),
            consumer_tag: consumer.tag.as_bytes(),
            no_ack: consumer.no_ack,
            is_exclusive,
            arguments: &arguments([("x-priority", consumer.priority.into())]),
        };
        let now = self.bench.now;
        let consumed = self.bench.host.consume(id, &declaration, now, &mut self.bench.said, |_, _| {});
        let permitted = self.plain.permits(&consumer);
        assert_eq!(consumed.map_err(|refusal| refusal.code), permitted);
        if permitted.is_ok() {
            self.plain.add_consumer(consumer);
            self.take_deliveries();
        }
    }

    pub(super) fn cancel(&mut self) {
        if self.plain.consumers.is_empty() {
            return;
        }
        let index = self.rng.usize(0..self.plain.consumers.len());
        let PlainConsumer { tag, channel, .. } = self.plain.consumers[index].clone();
        self.note(|| format!("cancel {tag}"));
        self.bench.cancel(self.channels[&channel], &tag);
        let unused = self.plain.remove_consumers(|consumer| consumer.tag == tag);
        unused.into_iter().for_each(|name| drop(self.plain.delete(name)));
        self.take_deliveries();
    }

    pub(super) fn prefetch(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        let (count, is_global) = (self.rng.u16(0..4), self.rng.bool());
        self.note(|| format!("prefetch {count} of channel {number}, global {is_global}"));
        let channel = self.plain.channels.get_mut(&number).unwrap();
        let limit = if count == 0 { usize::MAX } else { count.into() };
        if is_global {
            channel.prefetch = limit;
        } else {
            (channel.consumer_prefetch, channel.prefetch) = (limit, usize::MAX);
        }
        self.bench.prefetch(id, count, is_global);
        self.take_deliveries();
    }

    pub(super) fn flow(&mut self) {
        let Some((number, id)) = self.any_channel() else { return };
        let is_active = self.rng.u8(0..3) > 0;
        self.note(|| format!("flow of channel {number}: {is_active}"));
        self.plain.channels.get_mut(&number).unwrap().is_flowing = is_active;
        self.bench.host.set_flow(id, is_active, self.bench.now, &mut self.bench.said);
        self.take_deliveries();
    }

    /// A connection has room again, for some deliveries or for all.
    pub(super) fn room(&mut self) {
        let connection = self.any(&CONNECTIONS);
        let room = if self.rng.bool() { Some(self.rng.usize(1..5)) } else { None };
        self.note(|| format!("room of {connection:?}: {room:?}"));
        match room {
            Some(room) => {
                self.bench.said.room.insert(connection, room);
                self.plain.rooms.insert(connection, room);
            }
            None => {
                self.bench.said.room.remove(&connection);
                self.plain.rooms.remove(&connection);
            }
        }
        self.bench.host.handle_room(connection, self.bench.now, &mut self.bench.said);
        self.take_deliveries();
    }
}
