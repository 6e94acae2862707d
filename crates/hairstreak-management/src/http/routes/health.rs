//! Health checks: 200 when all is well, and 503 with a reason when it is not.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hairstreak_node::ends_before;
use hairstreak_node::node::Reason;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::http::call::{Answer, Call};
use crate::http::error::ApiError;
use crate::http::response::{Response, timestamp};

/// The units of a time for which certificates have to be valid, and their seconds, as in RabbitMQ.
const UNITS: [(&str, u64); 4] =
    [("days", 86_400), ("weeks", 7 * 86_400), ("months", 365 * 86_400 / 12), ("years", 365 * 86_400)];

fn ok(call: &Call<'_>) -> Answer {
    call.object(&json!({"status": "ok"}))
}

fn failed(reason: &str, more: Value) -> Answer {
    let mut body = json!({"status": "failed", "reason": reason});
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    Ok(Response::json_with(StatusCode::SERVICE_UNAVAILABLE, &body))
}

/// A check that a node that answers has passed.
pub(crate) async fn passed(call: &Call<'_>) -> Answer {
    ok(call)
}

/// Checks that the node could leave a cluster. The check always passes, because there is only this node.
pub(crate) async fn single_node(call: &Call<'_>) -> Answer {
    call.object(&json!({"status": "ok", "reason": "single node cluster"}))
}

/// The old check of a node by its name.
pub(crate) async fn node(call: &Call<'_>) -> Answer {
    match call.name("node") {
        Some(name) if name != call.state.about.node_name.as_bytes() => Err(ApiError::not_found()),
        _ => alarms(call).await,
    }
}

pub(crate) async fn alarms(call: &Call<'_>) -> Answer {
    let is_low = call.node().account.alarm.has(Reason::Memory);
    let is_on = [("memory", is_low), ("disk", call.state.about.is_disk_alarmed(call.node()))];
    let alarm = |resource: &str| json!({"node": &*call.state.about.node_name, "resource": resource});
    let mut alarms: Vec<Value> =
        is_on.into_iter().filter(|(_, is_on)| *is_on).map(|(resource, _)| alarm(resource)).collect();
    let mut add = |resource: &str, reason: String| {
        let mut alarm = alarm(resource);
        alarm["reason"] = reason.into();
        alarms.push(alarm);
    };
    if let Some(error) = call.node().journal.refusal() {
        add("definitions", error.to_string());
    }
    // RabbitMQ has no such alarms.
    if let Some(messages) = &call.node().messages {
        messages.faults().into_iter().for_each(|fault| add("messages", fault));
    }
    if alarms.is_empty() {
        return ok(call);
    }
    let path = call.request.path.as_ref();
    let is_local = path.and_then(|path| path.segments().last()).is_some_and(|last| last == b"local-alarms");
    let place = if is_local { "on the node" } else { "in the cluster" };
    failed(&format!("There are alarms in effect {place}"), json!({"alarms": alarms}))
}

/// Checks that no certificate of a listener ends within a time.
pub(crate) async fn certificates(call: &Call<'_>) -> Answer {
    let unit = call.text("unit")?.to_ascii_lowercase();
    let Some((_, seconds)) = UNITS.into_iter().find(|(name, _)| *name == unit) else {
        let text = "Time unit not recognised. Supported units: days, weeks, months, years.";
        return Err(ApiError::bad_request(text));
    };
    let wrong = || ApiError::bad_request("Invalid expiration value.");
    let within: u32 = call.text("within")?.parse().map_err(|_| wrong())?;
    let time = Duration::from_secs(u64::from(within) * seconds);
    let time = SystemTime::now().checked_add(time).ok_or_else(wrong)?;
    let about = &call.state.about;
    let mut expired = Vec::new();
    for listener in &about.listeners {
        let Some(files) = about.certificates(listener) else { continue };
        let ends = expiring(&files.certificate, time);
        let authority_ends =
            files.authority.as_deref().map_or_else(|| json!([]), |file| expiring(file, time));
        if ends == json!([]) && authority_ends == json!([]) {
            continue;
        }
        expired.push(json!({
            "node": &*about.node_name,
            "protocol": listener.protocol,
            "interface": listener.address.ip(),
            "port": listener.address.port(),
            "certfile": files.certificate,
            "cacertfile": files.authority,
            "certfile_expires_on": ends,
            "cacertfile_expires_on": authority_ends,
        }));
    }
    if expired.is_empty() {
        return ok(call);
    }
    failed("Certificates expiring", json!({"expired": expired}))
}

/// The times before `time` at which certificates of a file end; or why the file cannot be read, which fails the check, too.
fn expiring(file: &Path, time: SystemTime) -> Value {
    match ends_before(file, time) {
        Ok(ends) => ends.into_iter().map(|end| timestamp(end.as_millis() as u64)).collect(),
        Err(reason) => json!({"error": reason}),
    }
}

pub(crate) async fn port(call: &Call<'_>) -> Answer {
    let port: u16 = call.text("port")?.parse().map_err(|_| ApiError::bad_request("Invalid port"))?;
    let ports: BTreeSet<u16> =
        call.state.about.listeners.iter().map(|listener| listener.address.port()).collect();
    if ports.contains(&port) {
        return call.object(&json!({"status": "ok", "port": port}));
    }
    failed("No active listener", json!({"missing": port, "ports": ports}))
}

pub(crate) async fn protocol(call: &Call<'_>) -> Answer {
    let name = call.text("protocol")?;
    let protocols: BTreeSet<&str> =
        call.state.about.listeners.iter().map(|listener| listener.protocol).collect();
    if protocols.contains(known_as(name)) {
        return call.object(&json!({"status": "ok", "protocol": name}));
    }
    failed("No active listener", json!({"missing": name, "protocols": protocols}))
}

/// The name of a protocol among the listeners; some have several.
fn known_as(name: &str) -> &str {
    match name {
        "amqp091" | "amqp0.9.1" | "amqp0-9-1" => "amqp",
        "amqps" | "amqp/tls" => "amqp/ssl",
        "prometheus" => "http/prometheus",
        name => name,
    }
}

pub(crate) async fn connections(call: &Call<'_>) -> Answer {
    let (opened, closed) = call.node().connections.churn();
    let count = opened.saturating_sub(closed);
    let limit = call.node().settings.connections_max() as u64;
    if count < limit {
        return ok(call);
    }
    failed("connection limit is reached", json!({"connections": count, "limit": limit}))
}
