//! The keys of objects: the keys of RabbitMQ 3.10.8, and the keys that its readers ask for.

use serde_json::Value;

use super::node::TestNode;

/// Fails unless the object has these keys, which are words of the text.
#[track_caller]
fn has(object: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(object.get(key).is_some(), "no {key} in {object}");
    }
}

/// Fails if a number that strict readers ask for is null.
fn no_null_numbers(object: &Value, nullable: &[&str]) {
    for (key, value) in object.as_object().unwrap() {
        assert!(!value.is_null() || nullable.contains(&&**key), "{key} is null");
    }
}

#[test]
fn the_overview_has_the_keys_that_tools_read() {
    let node = TestNode::start();
    let overview = node.client().get("/api/overview");
    has(&overview, "management_version rates_mode sample_retention_policies exchange_types product_version product_name
        rabbitmq_version cluster_name erlang_version erlang_full_version release_series_support_status disable_stats
        enable_queue_totals message_stats churn_rates queue_totals object_totals statistics_db_event_queue node listeners
        contexts cluster_tags node_tags crypto_lib_version");
    has(&overview["churn_rates"], "channel_closed channel_closed_details channel_created channel_created_details
        connection_closed connection_closed_details connection_created connection_created_details queue_created
        queue_created_details queue_declared queue_declared_details queue_deleted queue_deleted_details");
    has(
        &overview["queue_totals"],
        "messages messages_details messages_ready messages_ready_details
        messages_unacknowledged messages_unacknowledged_details",
    );
    has(&overview["object_totals"], "channels connections consumers exchanges queues");
    has(&overview["listeners"][0], "node protocol ip_address port socket_opts");
    has(&overview["contexts"][0], "node description path port ip");
    no_null_numbers(&overview, &[]);
    let few = node.client().get("/api/overview?disable_stats=true");
    assert!(few.get("queue_totals").is_none() && few.get("object_totals").is_some());
}

#[test]
fn a_node_has_the_keys_that_tools_read() {
    let node = TestNode::start();
    let client = node.client();
    let row = client.get("/api/nodes")[0].clone();
    has(&row, "name type running os_pid uptime run_queue processors fd_used fd_total sockets_used sockets_total proc_used
        proc_total mem_used mem_used_details mem_limit mem_alarm disk_free disk_free_limit disk_free_alarm rates_mode
        net_ticktime partitions being_drained enabled_plugins applications exchange_types auth_mechanisms contexts
        log_files db_dir config_files mem_calculation_strategy cluster_links io_read_count io_read_bytes io_read_avg_time
        io_write_count io_write_bytes io_write_avg_time io_sync_count io_sync_avg_time queue_index_read_count
        queue_index_write_count msg_store_read_count msg_store_write_count connection_created queue_deleted
        connection_created_details fd_used_details metrics_gc_queue_length ra_open_file_metrics");
    assert!(row["os_pid"].is_string() && row["uptime"].is_u64() && row["mem_used"].as_u64() > Some(1 << 20));
    no_null_numbers(&row, &[]);
    assert_eq!(client.get("/api/nodes/hairstreak@localhost")["name"], "hairstreak@localhost");
    client.absent("GET", "/api/nodes/nope");
    let memory = client.get("/api/nodes/hairstreak@localhost/memory")["memory"].clone();
    has(&memory, "connection_readers connection_writers connection_channels connection_other queue_procs
        quorum_queue_procs stream_queue_procs stream_queue_replica_reader_procs stream_queue_coordinator_procs plugins
        metadata_store other_proc metrics mgmt_db mnesia quorum_ets metadata_store_ets other_ets binary msg_index code atom
        other_system allocated_unused reserved_unallocated strategy total");
    has(&memory["total"], "rss allocated erlang");
    assert_eq!(client.get("/api/nodes/hairstreak@localhost/memory/relative")["memory"]["total"], 100);
}

#[test]
fn a_queue_has_the_keys_that_tools_read() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/q", "{}");
    let keys = "name vhost type durable durability auto_delete exclusive arguments node state policy operator_policy
        effective_policy_definition messages messages_details messages_ready messages_ready_details
        messages_unacknowledged messages_unacknowledged_details messages_ram messages_persistent messages_paged_out
        message_bytes message_bytes_ready message_bytes_ram message_bytes_persistent message_bytes_paged_out memory
        consumers consumer_utilisation consumer_capacity exclusive_consumer_tag single_active_consumer_tag
        garbage_collection storage_version message_bytes_unacknowledged head_message_timestamp idle_since";
    let queue = client.get("/api/queues/%2F/q");
    has(&queue, keys);
    has(&queue, "consumer_details incoming deliveries");
    has(&client.get("/api/queues")[0], keys);
    let nullable = [
        "head_message_timestamp",
        "policy",
        "operator_policy",
        "exclusive_consumer_tag",
        "single_active_consumer_tag",
    ];
    no_null_numbers(&queue, &nullable);
}

#[test]
fn other_objects_have_the_keys_that_tools_read() {
    let node = TestNode::start();
    let client = node.client();
    has(&client.get("/api/vhosts")[0], "name description tags default_queue_type metadata tracing cluster_state
        protected_from_deletion messages messages_details messages_ready messages_unacknowledged recv_oct send_oct");
    has(&client.get("/api/exchanges")[0], "name vhost type durable auto_delete internal arguments");
    has(&client.get("/api/users")[0], "name password_hash hashing_algorithm tags limits");
    has(&client.get("/api/feature-flags")[0], "name desc doc_url state stability provided_by");
    has(&client.get("/api/auth"), "oauth_enabled");
    for name in [
        "deprecated-features",
        "deprecated-features/used",
        "shovels",
        "shovels/%2F",
        "federation-links",
        "extensions",
    ] {
        assert!(client.get(&format!("/api/{name}")).is_array(), "{name}");
    }
    client.check("PUT", "/api/feature-flags/all/enable", "{}", 204, "");
    client.check("PUT", "/api/feature-flags/quorum_queue/enable", "{}", 204, "");
    client.bad("PUT", "/api/feature-flags/nope/enable", "{}", r#""unsupported""#);
    client.check("POST", "/api/rebalance/queues", "{}", 204, "");
    client.check("DELETE", "/api/reset", "", 204, "");
}
