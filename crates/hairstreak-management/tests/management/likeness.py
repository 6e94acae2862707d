"""Comparison of two answers: one of RabbitMQ, the other of a node that is to answer as RabbitMQ does.

Definitions and counts have to be equal. What is measured, or is named after the machine, has to be of the same type. An answer may
say more than RabbitMQ's, because later versions of RabbitMQ do; it may not say less, but for what no tool reads."""

import re

# Numbers, texts and lists that differ from node to node and from run to run: only their types are compared.
MEASURED = set(
    """
    avg avg_rate channel_pid cluster_id cluster_name connected_at connection_pid context_switches contexts cookie_hash
    crypto_lib_version data_rates_age db_dir disk_free disk_free_limit enabled_plugins hashing_algorithm erlang_full_version erlang_version
    exchange_types fd_total fd_used gc_bytes_reclaimed gc_num garbage_collection hash host idle_since ip_address
    listeners log_files management_version mem_limit mem_used memory net_ticktime node node_tags object_totals os_pid
    owner_pid_details password_hash peer_host peer_port pid port proc_total proc_used processors product_name product_version queue_totals rabbit_version
    rabbitmq_version rate rates_mode recv_cnt recv_oct reductions release_series_support_status run_queue sample_retention_policies
    send_cnt send_oct send_pend sockets_total sockets_used statistics_db_event_queue timestamp uptime
    applications auth_mechanisms client_properties config_files metrics_gc_queue_length node_name node_type ra_open_file_metrics
    churn_rates message_stats socket_opts cluster_state auto_delete_pid internal_cluster_id vhost_state
    connection_details channel_details consumer_utilisation consumer_capacity recovery_time start_time
    """.split()
)

# Counters of a whole node, which other tests move, too.
COUNTERS = re.compile("(io|mnesia|msg_store|queue_index)_.*|(connection|channel|queue)_(created|closed|declared|deleted)")

# Keys that an answer may lack: no tool is known to read them, and only an Erlang machine has most of them. A channel of RabbitMQ has
# idle_since only while the channel is idle, a channel of our node never.
OPTIONAL = set(
    """
    user_who_performed_action head_message_timestamp io_seek_count io_seek_count_details io_seek_avg_time io_seek_avg_time_details
    io_reopen_count io_reopen_count_details
    reductions reductions_details garbage_collection backing_queue_status context_switches context_switches_details gc_num
    gc_num_details gc_bytes_reclaimed gc_bytes_reclaimed_details cluster_links metrics_gc_queue_length ra_open_file_metrics
    slave_nodes synchronised_slave_nodes recoverable_slaves idle_since
    """.split()
)


def differences(first, second, at=""):
    """A line for each place at which the second is not as the first."""
    name = at.rsplit(".", 1)[-1].split("[")[0]
    if name in OPTIONAL and isinstance(first, dict):
        return [] if isinstance(second, dict) else [f"{at}: {second!r} is not of the type of {first!r}"]
    if name in MEASURED or COUNTERS.fullmatch(name) or name.endswith("_details"):
        same = kind(first) == kind(second) or None in (first, second)
        return [] if same else [f"{at}: {second!r} is not of the type of {first!r}"]
    if kind(first) != kind(second):
        return [f"{at}: {second!r} instead of {first!r}"]
    if isinstance(first, dict):
        return differences_of_objects(first, second, at)
    if isinstance(first, list):
        return differences_of_lists(first, second, at)
    return [] if plain(first) == plain(second) else [f"{at}: {second!r} instead of {first!r}"]


def plain(value):
    """A text without ports, and as RabbitMQ had it before 3.12, which names the permission that is missing."""
    if isinstance(value, str):
        value = re.sub(r"\b(configure|write|read) access to ", "access to ", value)
        value = re.sub(r"\d+\.\d+\.\d+\.\d+:\d+", "HOST:PORT", value)
    return value


def differences_of_objects(first, second, at):
    found = []
    for name, value in first.items():
        if name in second:
            found += differences(value, second[name], f"{at}.{name}")
        elif name not in OPTIONAL and not name.startswith("mnesia_"):
            found.append(f"{at}.{name}: missing, which is {value!r}")
    return found


def differences_of_lists(first, second, at):
    if len(first) != len(second):
        return [f"{at}: {len(second)} items instead of {len(first)}: {second!r} instead of {first!r}"]
    return [line for index, pair in enumerate(zip(first, second)) for line in differences(*pair, f"{at}[{index}]")]


def kind(value):
    """The type that JSON gives a value."""
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)
