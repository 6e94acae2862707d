//! Feature flags: all that RabbitMQ has, each enabled. Operators and upgrade scripts ask for nothing more.

use serde_json::{Value, json};

use crate::http::call::{Answer, Call, nothing};
use crate::http::error::ApiError;
use crate::http::list::Held;

/// The flags and what they are for.
const FLAGS: [(&str, &str); 16] = [
    ("classic_mirrored_queue_version", "Support setting version for classic mirrored queues"),
    ("classic_queue_type_delivery_support", "Bug fix for classic queue deliveries using mixed versions"),
    ("detailed_queues_endpoint", "Add a detailed queues HTTP API endpoint"),
    ("direct_exchange_routing_v2", "v2 direct exchange routing implementation"),
    ("drop_unroutable_metric", "Count unroutable publishes to be dropped in stats"),
    ("empty_basic_get_metric", "Count AMQP `basic.get` on empty queues in stats"),
    ("feature_flags_v2", "Feature flags subsystem V2"),
    (
        "implicit_default_bindings",
        "Default bindings are now implicit, instead of being stored in the database",
    ),
    ("listener_records_in_ets", "Store listener records in ETS instead of Mnesia"),
    ("maintenance_mode_status", "Maintenance mode status"),
    ("quorum_queue", "Support queues of type `quorum`"),
    ("restart_streams", "Support for restarting streams with optional preferred next leader argument"),
    ("stream_queue", "Support queues of type `stream`"),
    (
        "stream_sac_coordinator_unblock_group",
        "Bug fix to unblock a group of consumers in a super stream partition",
    ),
    ("tracking_records_in_ets", "Store tracking records in ETS instead of Mnesia"),
    ("user_limits", "Configure connection and channel limits for a user"),
];

pub(crate) async fn list(call: &Call<'_>) -> Answer {
    let row = |(name, description): (&str, &str)| {
        json!({"name": name, "desc": description, "doc_url": "", "state": "enabled", "stability": "required",
            "provided_by": "rabbit"})
    };
    call.list(Held::values(FLAGS.into_iter().map(row).collect())).await
}

pub(crate) fn enable(call: &Call<'_>) -> Answer {
    let name = call.text("name")?;
    if name == "all" || FLAGS.iter().any(|(flag, _)| *flag == name) {
        return nothing();
    }
    Err(ApiError::bad_request("unsupported"))
}

/// Deprecated features: none is in use.
pub(crate) async fn list_deprecated(call: &Call<'_>) -> Answer {
    call.list(Held::<Value>::default()).await
}
