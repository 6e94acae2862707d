//! `hairstreak services`: the services of a broker.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak::service::{REPORT_SERVICE, Report};

use super::arguments::ServicesArguments;
use super::call::open;
use crate::failure::Failure;
use crate::numbers::{grouped, rate};
use crate::output::print;
use crate::output::{row, table};

/// The time over which rates are measured when the table is shown once.
const RATE_TIME: Duration = Duration::from_millis(500);

pub fn services(arguments: &ServicesArguments) -> Result<(), Failure> {
    let credentials = arguments.credentials.credentials()?;
    let client = open(&arguments.brokers.list(), credentials, arguments.timeout)?;
    let ask = || -> Result<(String, Report), Failure> {
        let reply = client
            .call(REPORT_SERVICE, "")
            .map_err(|error| Failure::failed(format!("no report from {}: {error}", client.broker())))?;
        let text = String::from_utf8_lossy(reply.body()).into_owned();
        let report = serde_json::from_str(&text)
            .map_err(|_| Failure::failed(format!("{} is no Hairstreak broker", client.broker())))?;
        Ok((text, report))
    };
    let interval = arguments.every.unwrap_or(RATE_TIME);
    let (mut text, mut before) = ask()?;
    if arguments.json && arguments.every.is_none() {
        return print(&format!("{text}\n"));
    }
    let mut since = Instant::now();
    loop {
        thread::sleep(interval);
        let report;
        (text, report) = ask()?;
        let shown = match arguments.json {
            true => format!("{text}\n"),
            false => shown(&before, &report, since.elapsed()),
        };
        print(&shown)?;
        if arguments.every.is_none() {
            return Ok(());
        }
        (before, since) = (report, Instant::now());
    }
}

fn shown(before: &Report, report: &Report, time: Duration) -> String {
    let replied: HashMap<&str, u64> =
        before.services.iter().map(|service| (service.name.as_str(), service.replies)).collect();
    let head = [
        "service",
        "workers",
        "capacity",
        "at work",
        "waiting",
        "for",
        "requests",
        "replies",
        "per second",
        "refused",
        "redone",
    ];
    let mut rows = vec![row(head)];
    for service in &report.services {
        let new =
            service.replies - replied.get(service.name.as_str()).copied().unwrap_or(0).min(service.replies);
        rows.push(vec![
            service.name.escape_debug().to_string(),
            grouped(service.workers as u64),
            grouped(service.capacity),
            grouped(service.outstanding),
            grouped(service.queued as u64),
            format!("{:.1}s", service.oldest_ms as f64 / 1000.0),
            grouped(service.requests),
            grouped(service.replies),
            rate(Some(new as f64 / time.as_secs_f64())),
            grouped(service.refusals),
            grouped(service.redeliveries),
        ]);
    }
    let rest = format!(
        "{} clients, {} requests open ({} bytes), {} bytes of replies not read; dropped: {} malformed, {} late, {} unread, {} refused\n",
        report.clients,
        grouped(report.open as u64),
        grouped(report.open_bytes as u64),
        grouped(report.unread_bytes as u64),
        report.drops.malformed,
        report.drops.late,
        report.drops.unread,
        report.drops.refused,
    );
    table(&rows) + &rest
}
