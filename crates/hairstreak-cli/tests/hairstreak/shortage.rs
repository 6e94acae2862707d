//! A machine that gives no more threads or processes: one line says so, and nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::harness::{HAIRSTREAK, Outcome};

/// An ordinary user, whom limits hold, and who has no processes of his own.
const USER: u32 = 54_321;

#[test]
fn threads_or_processes_that_cannot_be_started_are_one_line() {
    let folder = std::env::temp_dir().join(format!("hs-shortage-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    // The checkout may be nobody else's to read.
    let program = folder.join("hairstreak");
    fs::copy(HAIRSTREAK, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
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
