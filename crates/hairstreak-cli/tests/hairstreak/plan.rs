//! `hairstreak plan` prints the tutorial's numbers for the tutorial's examples.

use crate::harness::Job;

/// The tutorial's application in two steps, with these numbers of instances.
fn divided(first: u32, second: u32) -> Job {
    Job::new(&format!(
        "[[stage]]\nname = 'component1'\ninstances = {first}\nreceive = '4us'\nprocess = '6us'\nsend = '2us'\n\
         [[stage]]\nname = 'component2'\ninstances = {second}\nreceive = '2us'\nprocess = '2us'\nsend = '4us'\n"
    ))
}

fn check(job: &Job, options: &[&str], numbers: &[&str]) {
    let text = job.plan(options).succeeded().stdout;
    for number in numbers {
        assert!(text.contains(number), "{number} is missing in\n{text}");
    }
}

#[test]
fn one_application_and_three_copies_of_it() {
    let monolith = "[[stage]]\nname = 'all'\nreceive = '4us'\nprocess = '8us'\nsend = '4us'\n";
    check(&Job::new(monolith), &[], &["62,500", "keep the order"]);
    check(&Job::new(&format!("{monolith}instances = 3")), &[], &["62,500", "187,500", "may overtake"]);
}

#[test]
fn two_steps() {
    check(
        &divided(1, 1),
        &[],
        &["min(83,333, 125,000) = 83,333 messages/s, set by component1", "62,500", "+33%"],
    );
    check(
        &divided(2, 1),
        &[],
        &["min(166,666, 125,000) = 125,000 messages/s, set by component2", "187,500", "20 us"],
    );
}

#[test]
fn a_second_of_work_in_two_steps() {
    let job = Job::new(
        "[[stage]]\nname = 'component1'\nreceive = '4us'\nprocess = '500ms'\nsend = '4us'\n\
         [[stage]]\nname = 'component2'\nreceive = '4us'\nprocess = '500ms'\nsend = '4us'\n\
         [plan]\nmonolith = '1s'",
    );
    check(&job, &[], &["+99.997%"]);
}

#[test]
fn a_target_and_a_shared_resource() {
    check(
        &divided(1, 1),
        &["--target", "500000"],
        &["component1: instances = 6", "component2: instances = 4"],
    );
    let shared =
        "[[stage]]\nname = 'all'\ninstances = 64\nprocess = '16us'\nserial = '2us'\n[plan]\ncores = 4\n";
    let job = Job::new(shared);
    check(
        &job,
        &["--target", "600000"],
        &["out of reach, its shared resource allows 500,000", "cores kept busy: 10"],
    );
    check(&job, &[], &["250,000 messages/s, all that the cores can do"]);
}

#[test]
fn targets_at_both_ends_of_the_range() {
    let job = Job::new("[[stage]]\nname = 'a'\nsleep = '500ms'\n[input]\nmessages = 1");
    check(&job, &[], &["A run of 1 message: 2.000 messages/s"]);
    check(&job, &["--target", "0.000001"], &["For 0.00000100 messages/s:\n  a: instances = 1\n"]);
    let many = "a: 500,000,000,000 instances, more than the 1,024 a stage may have";
    check(&job, &["--target", "1e12"], &["For 1,000,000,000,000 messages/s:", many]);
    let planned = job.plan(&["--json", "--target", "1e12"]).succeeded().json();
    assert_eq!(planned["target"]["reachable"], false);
}

#[test]
fn a_plan_for_programs() {
    let job = Job::new("[[stage]]\nname = 'a'\nsleep = '500ms'\ninstances = 3\n[input]\nmessages = 100");
    let plan = job.plan(&["--json"]).succeeded().json();
    assert_eq!(plan["topology"], "job.toml");
    assert_eq!(plan["messages"], 100);
    assert_eq!(plan["makespan_s"], 17.0);
    assert_eq!(plan["predicted_per_s"], 100.0 / 17.0);
    assert_eq!(plan["steady_per_s"], 6.0);
    assert_eq!(plan["stages"][0]["name"], "a");
    assert_eq!(plan["stages"][0]["rate_per_s"], 6.0);
    assert_eq!(plan["bottleneck"], "a");
    assert_eq!(plan["limited_by"], "instances");
    assert_eq!(plan["order_kept"], false);
    assert_eq!(plan["monolith"]["per_s"], 2.0);
    assert_eq!(plan["target"], serde_json::Value::Null);
    let planned = job.plan(&["--json", "--messages", "3", "--target", "8"]).succeeded().json();
    assert_eq!(planned["makespan_s"], 0.5);
    assert_eq!(planned["stages"][0]["instances_needed"], 4);
}
