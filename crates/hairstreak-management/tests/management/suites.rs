//! `suite.py`: what an operator meets, checked against RabbitMQ.

use crate::our_node::our_node;
use crate::program::run;
use crate::setup::rabbitmq;
use crate::target::{Target, management_program};

/// Features of later versions that tools ask for and RabbitMQ 3.10.8 lacks.
pub const RABBITMQ_WITHOUT: &[&str] = &[
    // Health checks that ask for no credentials; routing keys in the headers CC and BCC against topic permissions.
    "4.0",
    // The policy keys consumer-timeout and stream-filter-size-bytes, and policies for one type of queues.
    "3.12",
    // 3.10.8 writes quotation marks in labels as they are, which no reader accepts.
    "escaped labels",
    // RabbitMQ exports definitions in the order of its tables.
    "sorted definitions",
    // 3.10.8 goes on counting them among rabbitmq_global_consumers.
    "consumers that end",
    // RabbitMQ answers some lists with 500 while an object of the list is deleted. The suite then sends the GET again.
    "lists of what goes",
];

#[test]
fn rabbitmq_is_well() {
    check_rabbitmq("health", &[]);
}

#[test]
fn rabbitmq_asks_for_the_permissions_of_the_table() {
    check_rabbitmq("permissions", &[]);
}

#[test]
fn rabbitmq_asks_for_permissions_of_topics() {
    check_rabbitmq("topics", &[]);
}

#[test]
fn rabbitmq_lets_in_who_may_come() {
    check_rabbitmq("logins", &[]);
}

#[test]
fn rabbitmq_has_rights_by_tags_over_http() {
    let rabbitmq = rabbitmq();
    // RabbitMQ answers 500 to an export of definitions while a virtual host goes, and to a list of users while a user goes.
    let _nobody = rabbitmq.alone();
    check(Target::of_rabbitmq(&rabbitmq), "rights", RABBITMQ_WITHOUT, &["--jobs", "1"]);
}

#[test]
fn rabbitmq_applies_policies_to_what_is_there() {
    check_rabbitmq("policies", &[]);
}

#[test]
fn rabbitmq_keeps_to_the_limits_of_virtual_hosts_and_users() {
    check_rabbitmq("limits", &[]);
}

#[test]
fn rabbitmq_has_the_forms_of_its_http_api() {
    check_rabbitmq("forms", &[]);
}

#[test]
fn rabbitmq_has_the_names_and_figures_that_tools_keep() {
    check_rabbitmq("likenesses", &[]);
}

#[test]
fn rabbitmq_answers_the_tools_that_watch_it() {
    check_rabbitmq("tools", &[]);
}

#[test]
fn rabbitmq_counts_messages() {
    let rabbitmq = rabbitmq();
    let _nobody = rabbitmq.alone();
    check(Target::of_rabbitmq(&rabbitmq), "counts", RABBITMQ_WITHOUT, &["--jobs", "1"]);
}

#[test]
fn rabbitmq_has_the_metrics_of_its_board_and_moves_them() {
    let rabbitmq = rabbitmq();
    let _nobody = rabbitmq.alone();
    check(Target::of_rabbitmq(&rabbitmq), "metrics", RABBITMQ_WITHOUT, &["--jobs", "1"]);
}

#[test]
fn rabbitmq_says_that_it_is_short_of_memory() {
    let rabbitmq = rabbitmq();
    let _nobody = rabbitmq.alone();
    let alarm = rabbitmq.alarm();
    let words = ["--only", "alarm", "--alarm", alarm.to_str().unwrap()];
    check(Target::of_rabbitmq(&rabbitmq), "health", RABBITMQ_WITHOUT, &words);
}

/// The needs of the checks that our node does not meet.
pub const OUR_NODE_WITHOUT: &[&str] = &[];

#[test]
fn our_node_is_well() {
    check_ours("health");
}

#[test]
fn our_node_asks_for_the_permissions_of_the_table() {
    check_ours("permissions");
}

#[test]
fn our_node_asks_for_permissions_of_topics() {
    check_ours("topics");
}

#[test]
fn our_node_lets_in_who_may_come() {
    check_ours("logins");
}

#[test]
fn our_node_has_rights_by_tags_over_http() {
    check_ours("rights");
}

#[test]
fn our_node_applies_policies_to_what_is_there() {
    check_ours("policies");
}

#[test]
fn our_node_keeps_to_the_limits_of_virtual_hosts_and_users() {
    check_ours("limits");
}

#[test]
fn our_node_has_the_forms_of_the_http_api() {
    check_ours("forms");
}

#[test]
fn our_node_has_the_names_and_figures_that_tools_keep() {
    check_ours("likenesses");
}

#[test]
fn our_node_answers_the_tools_that_watch_it() {
    check_ours("tools");
}

#[test]
fn our_node_has_the_metrics_of_the_board_and_moves_them() {
    let node = our_node();
    check(node.target, "metrics", OUR_NODE_WITHOUT, &["--jobs", "1"]);
}

#[test]
fn our_node_counts_messages() {
    check_ours("counts");
}

/// Runs the checks of a module against a node of our own.
fn check_ours(module: &str) {
    let node = our_node();
    check(node.target, module, OUR_NODE_WITHOUT, &[]);
}

/// Runs the checks of a module beside those of others.
fn check_rabbitmq(module: &str, words: &[&str]) {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    check(Target::of_rabbitmq(&rabbitmq), module, RABBITMQ_WITHOUT, words);
}

pub fn check(target: Target, module: &str, without: &[&str], words: &[&str]) {
    let mut suite = management_program("suite.py");
    suite.args([&target.to_string(), module]).args(words);
    suite.args(without.iter().flat_map(|need| ["--without", need]));
    println!("{}", run(&mut suite));
}
