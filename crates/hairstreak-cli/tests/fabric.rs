//! `hairstreak fabric`, as it is typed.

use std::path::PathBuf;
use std::process::{Command, Output};

fn study(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
    let quick: &[&str] = if words.contains(&"--scale") { &[] } else { &["--scale", "0.001"] };
    command.args(["fabric", "study"]).args(quick).args(words).output().unwrap()
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
    let json: serde_json::Value = serde_json::from_slice(&one).unwrap();
    for (part, rows) in [
        ("saturation", 49),
        ("one_angle", 15),
        ("scaling", 15),
        ("loads", 25),
        ("patterns", 15),
        ("lanes", 5),
    ] {
        assert_eq!(json[part].as_array().unwrap().len(), rows, "{part}");
    }
}

#[test]
fn a_study_prints_its_tables_and_draws_its_charts() {
    let folder = folder("charts");
    let output = study(&["--charts", folder.join("new/charts").to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("vortex 1024x4") && text.contains("2/9 = 0.2222"), "{text}");
    let drawn = text.lines().filter_map(|line| line.strip_prefix("drawn: "));
    let count =
        drawn.map(|file| assert!(std::fs::read_to_string(file).unwrap().ends_with("</svg>\n"))).count();
    assert_eq!(count, 3);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_makes_no_sense_is_one_line() {
    let file = folder("file");
    std::fs::write(&file, "").unwrap();
    let file_text = file.to_str().unwrap();
    for (words, status, reason) in [
        (&["--threads", "0"][..], 2, "hairstreak: invalid value '0' for '--threads <N>'"),
        (&["--scale", "0"], 2, "hairstreak: invalid value '0' for '--scale <PART>'"),
        (&["--seed", "-1"], 2, "hairstreak: unexpected argument '-1'"),
        (&["--charts", file_text], 1, "hairstreak: cannot make"),
    ] {
        let output = study(words);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), errors.lines().count()), (Some(status), 1), "{errors}");
        assert!(errors.starts_with(reason), "{errors}");
    }
    std::fs::remove_file(file).unwrap();
}
