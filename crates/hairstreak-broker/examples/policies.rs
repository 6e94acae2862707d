//! The time to set policies for many queues, half of which have another policy than before.
//!
//! ```text
//! cargo run --release -p hairstreak-broker --example policies
//! ```

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use hairstreak_broker::message::MessageView;
use hairstreak_broker::policy::{ApplyTo, Policy, PolicyChange, PolicyCursor, Scope};
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::vhost::{ConnectionId, HostOutbox, Limits, Recipient, Room, VirtualHost};
use hairstreak_wire::amqp::FieldTable;

const QUEUE_COUNT: usize = 10_000;
const POLICY_COUNT: i64 = 10;
const ROUND_COUNT: usize = 11;

struct Nowhere;

impl HostOutbox for Nowhere {
    fn deliver(&mut self, _: &Recipient, _: u64, _: bool, _: &MessageView<'_>) -> Room {
        Room::More
    }

    fn cancel(&mut self, _: &Recipient) {}
}

fn policy(name: &str, pattern: &str, priority: i64) -> Arc<Policy> {
    let definition = FieldTable::from_iter([("max-length", 1_000)]);
    // INVARIANT: the patterns of this program are valid.
    let policy = Policy::new(name, pattern, ApplyTo::All, priority, definition, Scope::User);
    Arc::new(policy.expect("a valid policy"))
}

fn main() -> io::Result<()> {
    let mut host = VirtualHost::new("/", Limits::default());
    for number in 0..QUEUE_COUNT {
        let name = format!("shop.orders.{number}").into_bytes().into();
        let declaration = QueueDeclaration { name, ..QueueDeclaration::default() };
        // INVARIANT: the names are new.
        host.declare_queue(ConnectionId(0), &declaration, 0).expect("a new queue");
    }
    for (name, last) in [("plain", "[13579]$"), ("with a look-ahead", "^(?!amq).*[13579]$")] {
        let mut times = Vec::new();
        for round in 0..ROUND_COUNT {
            let others = (1..POLICY_COUNT).map(|number| policy("other", &format!("^other{number}"), number));
            let policies = others.chain([policy("odd", last, -(round as i64))]).map(PolicyChange::Put);
            let start = Instant::now();
            host.change_policies(policies);
            let mut cursor = Some(PolicyCursor::default());
            while let Some(from) = cursor {
                let mut slice = host.policy_slice(from);
                slice.match_names();
                while !host.apply_policies(&mut slice, 0, &mut Nowhere) {}
                cursor = slice.next();
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (least, middle, most) = (times[0], times[ROUND_COUNT / 2], times[ROUND_COUNT - 1]);
        writeln!(
            io::stdout(),
            "{QUEUE_COUNT} queues, {POLICY_COUNT} policies, the last one {name}: {middle:.1} ms (n = {ROUND_COUNT}, {least:.1} to {most:.1})"
        )?;
    }
    Ok(())
}
