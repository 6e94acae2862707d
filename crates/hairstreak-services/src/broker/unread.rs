//! Clients that do not read: their replies wait up to a limit, and their requests wait too.

use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_wire::hsn1::{Header, Refusal, RequestId};

use super::clients::Unread;
use super::machine::Broker;
use super::requests::{RequestState, size_of_frames};
use super::window::Slot;
use crate::outbox::{Outbox, Sent};

/// Most clients in one round of retries.
const RETRY_COUNT_MAX: usize = 256;

impl Broker {
    /// Sends a reply to the client, or queues it behind unread ones. `answers` is the answered number and the state of
    /// its slot afterwards. Returns whether the reply was kept.
    pub(super) fn send_reply(
        &mut self,
        client: usize,
        answers: Option<(u64, Slot)>,
        head: &[&[u8]],
        body: &[Bytes],
        out: &mut impl Outbox,
    ) -> bool {
        let Some(found) = self.clients.get(client) else { return false };
        let uses_hsn1 = found.uses_hsn1();
        if let Some(routing_id) = &found.routing_id
            && !found.has_unread()
        {
            match out.send(routing_id, head, body) {
                Sent::Done => {
                    self.set_answered(client, answers);
                    return true;
                }
                Sent::Never => return self.refuse_too_large(client, answers, out),
                Sent::Full | Sent::Gone => {}
            }
        }
        let size =
            size_of_frames(body) + head.iter().map(|frame| size_of::<Bytes>() + frame.len()).sum::<usize>();
        let has_room = !found.has_missed_some
            && found.backlog_bytes.saturating_add(size) <= self.options.replies_bytes_max
            && self.has_room_for(size);
        // A disconnected client of plain MDP cannot come back.
        if has_room && (uses_hsn1 || found.routing_id.is_some()) {
            self.push_unread(client, answers, head, body);
            return true;
        }
        self.set_answered(client, answers);
        self.drops.unread += 1;
        if let Some(found) = self.clients.get_mut(client) {
            found.has_missed_some = uses_hsn1;
        }
        self.note_stalled(client);
        false
    }

    /// Tells a client that numbers its requests that it missed a part of a reply, so that there is no reply. The
    /// refusal comes before the missed messages. There is always room for it: each taken request has at most one
    /// refusal.
    pub(super) fn refuse_rest(&mut self, client: usize, request: RequestId, out: &mut impl Outbox) {
        let Some(found) = self.clients.get(client) else { return };
        if !found.uses_hsn1() {
            return self.drops.refused += 1;
        }
        let header = Header::Refused { request, refusal: Refusal::Full }.encode();
        let head = [header.as_ref(), b"the reply has no room"];
        let answers = Some((request.number, found.slot(request.number)));
        if !found.has_missed_some {
            self.send_reply(client, answers, &head, &[], out);
        } else if self.has_room_for(size_of::<Bytes>() * 4) {
            self.push_unread(client, answers, &head, &[]);
        }
    }

    /// Handles a reply that exceeds one message. Returns whether the client is told.
    fn refuse_too_large(
        &mut self,
        client: usize,
        answers: Option<(u64, Slot)>,
        out: &mut impl Outbox,
    ) -> bool {
        self.set_answered(client, answers);
        self.drops.unread += 1;
        match (self.clients.get(client), answers) {
            (Some(found), Some((number, _))) if found.uses_hsn1() => {
                let request = RequestId { client: found.id, number };
                let header = Header::Refused { request, refusal: Refusal::Failed }.encode();
                let reason = b"the reply has more frames or bytes than can go to its client";
                self.send_reply(client, answers, &[header.as_ref(), reason], &[], out)
            }
            _ => false,
        }
    }

    fn set_answered(&mut self, client: usize, answers: Option<(u64, Slot)>) {
        if let Some((number, slot)) = answers {
            self.clients.set(client, number, slot);
        }
    }

    /// Queues a reply for its client.
    fn push_unread(&mut self, client: usize, answers: Option<(u64, Slot)>, head: &[&[u8]], body: &[Bytes]) {
        let uses_hsn1 = self.clients.get(client).is_some_and(|client| client.uses_hsn1());
        let answers = match answers {
            Some((number, slot)) => {
                self.clients.set(client, number, if uses_hsn1 { Slot::Unread } else { slot });
                answers.filter(|_| uses_hsn1)
            }
            None => None,
        };
        let head = head.iter().map(|frame| Bytes::copy_of(frame));
        let message = head.chain(body.iter().map(Bytes::compacted)).collect();
        self.clients.push_unread(client, Unread { message, answers });
        self.note_stalled(client);
    }

    /// Returns whether there is room for `size` more bytes of all services.
    pub(super) fn has_room_for(&self, size: usize) -> bool {
        let taken = self.requests.bytes + self.clients.backlog_bytes;
        taken.saturating_add(size) <= self.options.bytes_max
    }

    /// Adds the client to the retry list, if it is connected and has unread replies.
    pub(super) fn note_stalled(&mut self, client: usize) {
        if let Some(found) = self.clients.get_mut(client)
            && !found.is_stalled
            && found.has_unread()
            && found.routing_id.is_some()
        {
            found.is_stalled = true;
            self.stalled.push_back(client);
        }
    }

    /// Retries the messages that some clients and workers had no room for.
    pub(super) fn retry(&mut self, now: Duration, out: &mut impl Outbox) {
        for _ in 0..self.stalled.len().min(RETRY_COUNT_MAX) {
            let Some(client) = self.stalled.pop_front() else { break };
            let Some(found) = self.clients.get_mut(client) else { continue };
            // Another client may have the index by now, with its own entry in the list.
            if std::mem::take(&mut found.is_stalled) {
                self.flush_unread(now, client, out);
                self.note_stalled(client);
            }
        }
        for _ in 0..self.full_workers.len().min(RETRY_COUNT_MAX) {
            let Some(worker) = self.full_workers.pop_front() else { break };
            self.change_worker(worker, |worker| worker.is_full = false);
            self.give_kept(now, worker, out);
            self.dispatch_to(now, worker, out);
        }
    }

    /// Sends a client its unread replies, as far as it has room.
    fn flush_unread(&mut self, now: Duration, client: usize, out: &mut impl Outbox) {
        while let Some(found) = self.clients.get(client) {
            let Some(routing_id) = &found.routing_id else { return };
            let Some(unread) = found.unread() else { break };
            let answers = unread.answers;
            match out.send(routing_id, &[], unread.message.as_frames()) {
                Sent::Done => self.clients.pop_unread(client),
                Sent::Never => {
                    self.clients.pop_unread(client);
                    self.refuse_too_large(client, answers, out);
                }
                Sent::Full | Sent::Gone => return,
            }
        }
        if self.welcome_again(client, out) {
            self.unpark(now, client, out);
        }
    }

    /// Asks a client that missed replies to resend its open requests. Returns whether no such message is pending.
    fn welcome_again(&mut self, client: usize, out: &mut impl Outbox) -> bool {
        let welcome = Header::Welcome { broker: self.id, heartbeat_ms: self.options.heartbeat_ms }.encode();
        let Some(found) = self.clients.get_mut(client) else { return false };
        if found.has_missed_some
            && let Some(routing_id) = &found.routing_id
        {
            found.has_missed_some = out.send(routing_id, &[welcome.as_ref()], &[]) != Sent::Done;
        }
        !found.has_missed_some
    }

    /// Parks a request, which is in no list, if its client does not read. Returns whether it is parked.
    pub(super) fn park_if_stalled(&mut self, key: usize) -> bool {
        let Some(reference) = self.requests.reference(key) else { return true };
        let Some(request) = self.requests.get_mut(key) else { return true };
        let Some(client) = self.clients.get_mut(request.client) else { return false };
        if !client.has_unread() || client.routing_id.is_none() {
            return false;
        }
        request.state = RequestState::Parked;
        client.parked.push_back(reference);
        true
    }

    /// Moves parked requests of the client back to the queue.
    fn unpark(&mut self, now: Duration, client: usize, out: &mut impl Outbox) {
        let Some(found) = self.clients.get_mut(client) else { return };
        let parked = std::mem::take(&mut found.parked);
        let mut services = Vec::new();
        let references: Vec<_> = parked.iter().collect();
        for reference in references.into_iter().rev() {
            if let Some(request) = self.requests.find(reference)
                && request.state == RequestState::Parked
            {
                services.push(request.service);
                self.enqueue(reference.key, true);
            }
        }
        services.sort_unstable();
        services.dedup();
        for service in services {
            self.dispatch(now, service, out);
        }
    }
}
