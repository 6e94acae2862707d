//! A small disk: a tmpfs in a mount namespace of its own. The process in the namespace is the test binary, started again to run a
//! single test.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hairstreak_testkit::BoundedCommand;

use crate::process::folder;

const DISK: &str = "HAIRSTREAK_TEST_DISK";
/// Mounts a disk of $1 at $2, and runs the rest there.
const MOUNT: &str = "mount -t tmpfs -o size=\"$1\" none \"$2\" && shift 2 && exec \"$@\"";

/// Runs a test of this binary alone on a disk of that size, such as `2m`. Returns whether the test passed, and its output.
pub fn run_on_disk(test: &str, size: &str) -> (bool, String) {
    let place = folder("disk");
    // In a user namespace every user may mount, if the system permits such namespaces. Root needs none.
    let has_users = Command::new("unshare").args(["-rm", "true"]).run_to_end().status.success();
    let output = Command::new("unshare")
        .arg(if has_users { "-rm" } else { "-m" })
        .args(["sh", "-c", MOUNT, "sh", size])
        .arg(&place)
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(DISK, &place)
        .run_to_end();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    fs::remove_dir(place).unwrap();
    (output.status.success() && said.contains("1 passed"), said)
}

/// The place of the disk, in the process that has one.
pub fn disk() -> Option<PathBuf> {
    std::env::var_os(DISK).map(PathBuf::from)
}
