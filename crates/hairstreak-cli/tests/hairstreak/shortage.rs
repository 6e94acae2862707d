//! A machine that refuses further threads or processes: one line reports it, and no process is left. A map continues with fewer commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::harness::{HAIRSTREAK, Outcome};

/// Ordinary users, for whom limits apply, and who have no processes of their own.
const USER: u32 = 54_321;
const OTHER_USER: u32 = 54_322;

/// A folder that every user can read, and the program in it. Other users may not be able to read the checkout.
fn public_program(name: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("hs-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.join("hairstreak");
    fs::copy(HAIRSTREAK, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, program)
}

#[test]
fn a_map_goes_on_with_as_many_commands_as_there_are_processes_for() {
    let (folder, program) = public_program("few-processes");
    let records = folder.join("records");
    fs::write(&records, "\n".repeat(100)).unwrap();
    let mut command = Command::new("prlimit");
    command.arg("--nproc=20").arg(&program).args(["map", "-j", "40", "--each", "--", "sleep", "0.02"]);
    command.stdin(fs::File::open(&records).unwrap()).uid(OTHER_USER).gid(OTHER_USER);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{said}");
    assert!(said.starts_with("hairstreak: cannot start sleep: Resource temporarily unavailable"), "{said}");
    assert!(said.ends_with(": fewer commands run side by side\n") && said.lines().count() == 1, "{said}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn threads_or_processes_that_cannot_be_started_are_one_line() {
    let (folder, program) = public_program("shortage");
    let topology = "[[stage]]\nname = 'a'\ninstances = 300\necho = true\n[input]\nmessages = 1000";
    fs::write(folder.join("job.toml"), topology).unwrap();
    for limit in 1..28 {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={limit}")).arg(&program).args(["run", "job.toml"]);
        command.current_dir(&folder).stdin(Stdio::null()).uid(USER).gid(USER);
        let outcome = Outcome::from(command.output().unwrap());
        let line = outcome.refusal(1);
        assert!(line.contains("os error 11"), "limit {limit}: {line}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
