//! Periodic sweep: requests that are too old, workers that are silent or too slow, and clients that do not come back.

use std::time::Duration;

use hairstreak_wire::hsn1::Refusal;
use hairstreak_wire::mdp::{self, WorkerCommand};

use super::machine::Broker;
use super::requests::RequestState;
use super::workers::{Dialect, WorkerRef};
use crate::outbox::Outbox;

impl Broker {
    pub(super) fn look_round(&mut self, now: Duration, out: &mut impl Outbox) {
        self.expel_due(now, out);
        self.early.forget_old(now);
        self.requests.compact();
        self.look_at_permissions(now, out);
        self.look_at_requests(now, out);
        self.look_at_workers(now, out);
        self.look_at_clients(now, out);
        self.services.close_unused();
    }

    /// Removes workers that lost their permission after a change.
    fn look_at_permissions(&mut self, now: Duration, out: &mut impl Outbox) {
        if !self.permissions.take_change() {
            return;
        }
        let may_not = self.workers.all().filter(|(_, worker)| {
            let user = self.permissions.gate().user(&worker.routing_id);
            let service = self.services.get(worker.service);
            service.is_none_or(|service| !self.permissions.may_serve(user, &service.name))
        });
        let may_not: Vec<_> =
            may_not.map(|(_, worker)| (worker.routing_id.clone(), worker.dialect)).collect();
        for (peer, dialect) in may_not {
            self.refuse_worker(now, &peer, dialect, out);
        }
    }

    fn look_at_requests(&mut self, now: Duration, out: &mut impl Outbox) {
        for key in self.requests.look() {
            let Some(request) = self.requests.get(key) else { continue };
            let Some(service) = self.services.get(request.service) else { continue };
            let has_expired = request.expires.is_some_and(|expires| expires <= now);
            match request.state {
                RequestState::Dispatched { worker, since } => {
                    let began = self.workers.get(worker).map_or(since, |worker| worker.began(since));
                    if now >= began + milliseconds(service.limits.processing_max_ms) {
                        self.take_from_slow(now, key, worker, has_expired, out);
                    }
                }
                state => {
                    let is_old = now >= request.waits_since + milliseconds(service.limits.queue_age_max_ms);
                    if has_expired || is_old {
                        self.give_up(key, Refusal::Expired, "no worker took the request in time", out);
                    } else if matches!(state, RequestState::Suspect { .. }) {
                        let service = request.service;
                        self.dispatch(now, service, out);
                    }
                }
            }
        }
    }

    /// Handles a request that a worker has had for too long.
    fn take_from_slow(
        &mut self,
        now: Duration,
        key: usize,
        worker: WorkerRef,
        has_expired: bool,
        out: &mut impl Outbox,
    ) {
        let Some(service) = self.requests.get(key).map(|request| request.service) else { return };
        self.take_away(key, worker, out);
        if has_expired {
            self.give_up(key, Refusal::Expired, "the worker did not answer in time", out);
        } else {
            self.take_back(now, key, out);
        }
        self.dispatch(now, service, out);
    }

    /// Sends heartbeats to workers of plain MDP that got no other message lately. Idle silent ones are gone. The
    /// connections of HSN1 workers have their own heartbeats.
    fn look_at_workers(&mut self, now: Duration, out: &mut impl Outbox) {
        let interval = milliseconds(self.options.heartbeat_ms);
        let silence = interval.saturating_mul(self.options.silent_heartbeats_max);
        let mut silent = Vec::new();
        for worker in self.workers.all_mut() {
            let Dialect::Plain(version) = worker.dialect else { continue };
            if worker.outstanding == 0 && now >= worker.heard + silence {
                silent.push((worker.routing_id.clone(), worker.dialect));
            } else if now >= worker.told + interval {
                worker.told = now;
                let head = mdp::worker_command(version, WorkerCommand::Heartbeat);
                out.send(&worker.routing_id, head.frames(), &[]);
            }
        }
        for (peer, dialect) in silent {
            self.dismiss(now, &peer, dialect, "", out);
        }
    }

    fn look_at_clients(&mut self, now: Duration, out: &mut impl Outbox) {
        let absence = milliseconds(self.options.client_absence_max_ms);
        for client in self.clients.look() {
            let Some(found) = self.clients.get_mut(client) else { continue };
            found.attend(out);
            if found.gone_since.is_some_and(|since| now >= since + absence) {
                self.remove_client(client, out);
            }
        }
    }
}

fn milliseconds(count: u32) -> Duration {
    Duration::from_millis(count.into())
}
