//! The study of simulated networks as its users see it: short runs of the real program.

use std::path::PathBuf;
use std::process::{Command, Output};

use hairstreak_testkit::BoundedCommand;
use serde_json::Value;

use crate::BINARY;

fn study(words: &[&str]) -> Output {
    let quick: &[&str] = if words.contains(&"--scale") { &[] } else { &["--scale", "0.001"] };
    Command::new(BINARY).arg("fabric").args(quick).args(words).run_to_end()
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fabric-{}-{name}", std::process::id()))
}

#[test]
fn a_study_is_the_same_on_any_number_of_threads_and_another_by_another_seed() {
    let [one, many, other] = [&["--threads", "1"][..], &["--threads", "5"], &["--seed", "2"]].map(|words| {
        let output = study(&[&["--json"], words].concat());
        assert!(output.status.success(), "{output:?}");
        output.stdout
    });
    assert!(one == many && one != other);
    let [json, other]: [Value; 2] = [one, other].map(|text| serde_json::from_slice(&text).unwrap());
    for (part, rows) in [
        ("saturation", 49),
        ("one_angle", 15),
        ("scaling", 15),
        ("loads", 25),
        ("patterns", 15),
        ("lanes", 5),
    ] {
        assert_eq!(json[part].as_array().unwrap().len(), rows, "{part}");
        assert_ne!(json[part], other[part], "{part}");
    }
}

#[test]
fn a_study_prints_its_tables_and_draws_its_charts() {
    let folder = folder("charts");
    let output = study(&["--charts", folder.join("new/charts").to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.lines().all(|line| line.starts_with("fabric ")), "{errors}");
    assert!(errors.contains("fabric 49/49: saturation\n"), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("vortex 1024x4") && text.contains("2/9 = 0.2222"), "{text}");
    let drawn = text.lines().filter_map(|line| line.strip_prefix("chart: "));
    let count =
        drawn.map(|file| assert!(std::fs::read_to_string(file).unwrap().ends_with("</svg>\n"))).count();
    assert_eq!(count, 3);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_simulated() {
    let file = folder("file");
    std::fs::write(&file, "").unwrap();
    let file_text = file.to_str().unwrap();
    for (words, status, reason) in [
        (&["--threads", "0"][..], 2, "error: invalid value '0' for '--threads <N>'"),
        (&["--scale", "0"], 2, "error: invalid value '0' for '--scale <PART>': a number from 0.001 to 1000"),
        (&["--seed", "-1"], 2, "error: unexpected argument '-1'"),
        (&["--charts", file_text], 1, "hairstreak-bench: cannot make"),
    ] {
        let output = study(words);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{errors}");
        assert!(errors.starts_with(reason) && !errors.contains("saturation"), "{errors}");
    }
    std::fs::remove_file(file).unwrap();
}
