//! Services of the broker itself: MMI (ZeroMQ RFC 8), and the report behind `hairstreak services`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_base::Bytes;
use hairstreak_wire::hsn1::{Header, Refusal, RequestId, with_body};
use hairstreak_wire::management::{REPORT_SERVICE, Report, ServiceReport};
use hairstreak_wire::mdp;

use super::machine::Broker;
use super::services::Service;
use super::window::Slot;
use super::workers::Dialect;
use crate::outbox::Outbox;

/// Interval in which a repeated query gets the same report: a report of many services takes a while to make.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// Most reports kept for this interval, one for each user.
const REPORTS_MAX: usize = 16;

/// Last report made for a user, as it was sent.
#[derive(Debug)]
pub(super) struct LastReport {
    user: Option<Arc<str>>,
    made: Duration,
    body: Bytes,
}

impl Broker {
    /// Returns the answer to a request for [`REPORT_SERVICE`] from a peer that sees all services.
    pub fn report(&self, now: Duration) -> Report {
        self.report_for(None, now)
    }

    /// Returns the report for a user, with the services that the user may see.
    fn report_for(&self, user: Option<&str>, now: Duration) -> Report {
        let mut shares: HashMap<usize, (u64, u64)> = HashMap::new();
        for (_, worker) in self.workers.all() {
            let (capacity, outstanding) = shares.entry(worker.service).or_default();
            *capacity += u64::from(worker.capacity);
            *outstanding += u64::from(worker.outstanding);
        }
        let report = |(index, service): (usize, &Service)| {
            let (capacity, outstanding) = shares.get(&index).copied().unwrap_or_default();
            ServiceReport {
                name: String::from_utf8_lossy(&service.name).into_owned(),
                workers: service.worker_count,
                capacity,
                outstanding,
                queued: service.queued_count(),
                oldest_ms: service
                    .oldest(&self.requests)
                    .map_or(0, |arrived| now.saturating_sub(arrived).as_millis() as u64),
                requests: service.counts.requests,
                replies: service.counts.replies,
                refusals: service.counts.refusals,
                redeliveries: service.counts.redeliveries,
            }
        };
        let mut services: Vec<ServiceReport> = {
            let seen = self.services.all().filter(|(_, service)| self.permissions.shows(user, &service.name));
            seen.map(report).collect()
        };
        services.sort_by(|one, other| one.name.cmp(&other.name));
        Report {
            clients: self.clients.len(),
            open: self.requests.len(),
            open_bytes: self.requests.bytes,
            unread_bytes: self.clients.backlog_bytes,
            drops: self.drops,
            services,
        }
    }

    /// Returns the report in JSON, at most [`REPORT_INTERVAL`] old. Its readers share the bytes.
    fn recent_report(&mut self, user: Option<Arc<str>>, now: Duration) -> Bytes {
        self.last_reports.retain(|last| now < last.made + REPORT_INTERVAL);
        if let Some(last) = self.last_reports.iter().find(|last| last.user == user) {
            return last.body.clone();
        }
        // INVARIANT: the report has only numbers and names, which JSON can represent.
        let json = serde_json::to_vec(&self.report_for(user.as_deref(), now)).expect("a report is JSON");
        let body = Bytes::from_vec(json);
        if self.last_reports.len() == REPORTS_MAX {
            self.last_reports.remove(0);
        }
        self.last_reports.push(LastReport { user, made: now, body: body.clone() });
        body
    }

    /// Replies to a request for one of the broker's own services.
    pub(super) fn answer(
        &mut self,
        now: Duration,
        client: usize,
        id: RequestId,
        service: &[u8],
        body: &[Bytes],
        out: &mut impl Outbox,
    ) {
        let asked = body.first().map(Bytes::as_bytes).unwrap_or_default();
        let dialect = self.clients.get(client).map(|client| client.dialect);
        let user = self.clients.get(client).and_then(|client| client.caller.user().cloned());
        let reply = match service {
            b"mmi.service" => {
                let found =
                    self.services.find(asked).filter(|_| self.permissions.shows(user.as_deref(), asked));
                let has_workers = found.is_some_and(|service| service.worker_count > 0);
                Bytes::copy_of(if has_workers { b"200" } else { b"404" })
            }
            name if name == REPORT_SERVICE.as_bytes() => self.recent_report(user, now),
            name if dialect == Some(Dialect::Hsn1) && !name.starts_with(b"mmi.") => {
                let reason = "the broker has no such service";
                return self.refuse(client, id, Refusal::NotImplemented, reason, out);
            }
            _ => Bytes::copy_of(b"501"),
        };
        let (answers, body) = (Some((id.number, Slot::Unknown)), [reply]);
        match dialect {
            Some(Dialect::Hsn1) => {
                with_body(
                    Header::Final { request: id, index: 0, run: None },
                    None,
                    &body,
                    |first, behind| self.send_reply(client, answers, &[first], behind, out),
                );
            }
            Some(Dialect::Plain(version)) => {
                let head = mdp::client_reply(version, service, true);
                self.send_reply(client, answers, head.frames(), &body, out);
            }
            None => {}
        }
    }
}
