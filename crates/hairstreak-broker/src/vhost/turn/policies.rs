//! Policies change: queues behave otherwise at once.

use super::context::Turn;
use crate::policy::{Applied, Policies};
use crate::queue::{QueueId, Settings};
use crate::vhost::HostOutbox;
use crate::vhost::parts::Parts;

impl<O: HostOutbox> Turn<'_, O> {
    pub(in crate::vhost) fn set_policies(&mut self, policies: Policies) {
        let changed: Vec<(QueueId, Applied, Settings)> = self
            .parts
            .queues
            .iter_live()
            .filter_map(|(id, queue)| {
                let applied = policies.for_queue(&queue.declaration.name, queue.kind);
                let settings = (!applied.is_same(&queue.policies)).then(|| queue.settings_with(&applied))?;
                Some((id, applied, settings))
            })
            .collect();
        let sends_elsewhere = |(id, _, settings): &(QueueId, Applied, Settings)| {
            self.parts.queues.get(*id).settings.dead_letter != settings.dead_letter
        };
        if changed.iter().any(sends_elsewhere) {
            // Messages that are dead already go where they had to go when they died.
            self.budget = usize::MAX;
            self.write_letters();
            self.budget = self.parts.limits.slice_max;
        }
        self.parts.exchanges.set_policies(policies);
        for (id, applied, settings) in changed {
            change_settings(self.parts, id, applied, settings, self.now);
        }
        self.finish();
    }
}

/// Other policies apply to a queue.
fn change_settings(parts: &mut Parts, id: QueueId, applied: Applied, settings: Settings, now: u64) {
    let queue = parts.queues.get_mut(id);
    let has_other_expiry = queue.settings.expires_ms != settings.expires_ms;
    queue.set_policies(applied, settings);
    if queue.is_limited && queue.is_too_long() {
        parts.touch(id);
    }
    if has_other_expiry {
        parts.timers.cancel_queue_expiry(id);
        parts.note_use(id, now);
    }
}
