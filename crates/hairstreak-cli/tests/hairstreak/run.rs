//! The report of a run.

use hairstreak_testkit::BoundedChild;

use crate::harness::Job;

#[test]
fn json_has_what_programs_look_for() {
    let report = Job::new(
        "[[stage]]\nname = 'wait'\ninstances = 2\nsleep = '20ms'\n[[stage]]\nname = 'pass'\nbuiltin = 'echo'\n\
         [input]\nmessages = 21",
    )
    .measure();
    assert_eq!((&report["topology"], &report["complete"]), (&"job.toml".into(), &true.into()));
    assert_eq!(report["messages"], 21);
    let elapsed = report["elapsed_s"].as_f64().unwrap();
    // The clock of the run may be read a little after the first message is sent.
    assert!(elapsed >= 0.200, "eleven sleeps of 20 ms follow each other in one of two instances: {elapsed}");
    let rate = report["throughput_per_s"].as_f64().unwrap();
    assert!((rate * elapsed - 21.0).abs() < 1e-9, "{rate} of 21 in {elapsed} s");
    assert!((report["predicted_per_s"].as_f64().unwrap() - 21.0 / 0.22).abs() < 1e-9);
    assert_eq!(report["steady_per_s"], 100.0);
    assert_eq!(report["slowest"], "wait");
    let stages = report["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 2);
    for (stage, name, instances) in [(&stages[0], "wait", 2), (&stages[1], "pass", 1)] {
        assert_eq!((&stage["name"], &stage["instances"]), (&name.into(), &instances.into()));
        assert_eq!(stage["processed"], 21);
        assert!(stage["rate_per_s"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(stages[0]["given"], serde_json::json!([11, 10]), "strictly in turn");
    assert_eq!((&stages[0]["planned_per_s"], &stages[1]["planned_per_s"]), (&100.0.into(), &().into()));
}

#[test]
fn a_table_ends_the_run() {
    let job = Job::new("[[stage]]\nname = 'wait'\nsleep = '1ms'\n[input]\nmessages = 5");
    let table = job.run(&[]).succeeded().stdout;
    for part in ["stage", "wait", "slowest", "5 messages in ", "predicted 1,000 messages/s"] {
        assert!(table.contains(part), "{part} is missing in\n{table}");
    }
}

#[test]
fn progress_is_shown_where_it_is_asked_for() {
    let job = Job::new("[[stage]]\nname = 'wait'\nsleep = '50ms'\n[input]\nmessages = 30");
    let always = job.run(&["--progress", "always"]);
    assert!(always.stderr.contains(" of 30 messages, "), "{always:?}");
    assert!(always.stderr.contains("predicted 20.000/s, slowest: wait"), "{always:?}");
    assert_eq!(job.run(&["--progress", "never"]).stderr, "");
}

#[test]
fn runs_at_the_same_time_do_not_meet() {
    let jobs: Vec<Job> = (0..6)
        .map(|number| {
            let topology = "[[stage]]\nname = 'a'\ninstances = 2\necho = true\n[[stage]]\nname = 'b'\necho = true\n\
                            [input]\nlines = 'in'\n[output]\nfile = 'out'";
            Job::new(topology).with("in", format!("of job {number}\n").repeat(1000))
        })
        .collect();
    let running: Vec<_> = jobs.iter().map(|job| job.start(&["--json"])).collect();
    for process in running {
        let outcome = crate::harness::Outcome::from(process.end_with_output()).succeeded();
        assert_eq!(outcome.json()["messages"], 1000);
    }
    for job in &jobs {
        assert_eq!(job.read("out"), job.read("in"));
    }
}
