//! A run whose output is its own input is refused before the file is touched.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use crate::harness::{Job, Outcome};

const ECHO: &str = "[[stage]]\nname = 'echo'\necho = true\n";

fn refused(job: &Job, outcome: &Outcome, reason: &str) {
    assert_eq!(outcome.refusal(2), format!("job.toml: {reason}"));
    assert_eq!(job.read("in/x"), "one\ntwo\n", "the input is as it was");
}

#[test]
fn a_file_of_lines_is_not_overwritten() {
    for output in ["in/x", "in/../in/x", "soft", "hard"] {
        let ends = format!("{ECHO}[input]\nlines = 'in/x'\n[output]\nfile = '{output}'");
        let job = Job::new(&ends).with("in/x", "one\ntwo\n");
        symlink("in/x", job.folder.join("soft")).unwrap();
        fs::hard_link(job.folder.join("in/x"), job.folder.join("hard")).unwrap();
        let reason = format!("cannot write ./{output}: it is ./in/x, which the input reads");
        refused(&job, &job.run(&[]), &reason);
    }
}

#[test]
fn a_file_of_a_folder_is_not_overwritten() {
    let job = Job::new(&format!("{ECHO}[input]\nfiles = 'in'\n[output]\nfile = 'soft'"));
    let job = job.with("in/x", "one\ntwo\n").with("in/y", "");
    symlink("in/x", job.folder.join("soft")).unwrap();
    refused(&job, &job.run(&[]), "cannot write ./soft: it is ./in/x, which the input reads");
}

#[test]
fn the_file_behind_a_standard_stream_is_not_overwritten() {
    let job = Job::new(&format!("{ECHO}[input]\nlines = '-'\n[output]\nfile = 'in/x'"));
    let job = job.with("in/x", "one\ntwo\n");
    let stdin = File::open(job.folder.join("in/x")).unwrap();
    let outcome = job.command("run", &[]).stdin(stdin).output().unwrap().into();
    refused(&job, &outcome, "cannot write ./in/x: it is standard input, which the input reads");

    let job = Job::new(&format!("{ECHO}[input]\nlines = 'in/x'\n[output]\nstdout = true"));
    let job = job.with("in/x", "one\ntwo\n");
    let stdout = File::options().append(true).open(job.folder.join("in/x")).unwrap();
    let outcome = job.command("run", &[]).stdout(stdout).output().unwrap().into();
    refused(&job, &outcome, "cannot write standard output: it is ./in/x, which the input reads");
}

#[test]
fn another_file_is_overwritten_as_ever() {
    let job = Job::new(&format!("{ECHO}[input]\nlines = 'in/x'\n[output]\nfile = 'in/y'"));
    let job = job.with("in/x", "one\n").with("in/y", "longer than what comes");
    job.run(&[]).succeeded();
    assert_eq!(job.read("in/y"), "one\n");
}
