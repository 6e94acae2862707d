//! A full disk and a read-only one, which are a small tmpfs in a mount namespace of its own.
//!
//! The process in the namespace is this test binary, started again to run one test alone.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use hairstreak_store::DataDirectory;
use hairstreak_testkit::{BoundedCommand, until};

use crate::place::Place;
use crate::{NODE, commit, entry, open, write};

const PLACE: &str = "HAIRSTREAK_TEST_DISK";
/// Mounts a disk of $1 KiB at $2, and runs the rest there.
const MOUNT: &str = "mount -t tmpfs -o size=$1k none \"$2\" && shift 2 && exec \"$@\"";

/// Runs a test of this binary alone on a disk of so many KiB at `place`.
fn run_on_disk(test: &str, kib: usize, place: &Path) {
    // A user namespace gives the right to mount to anybody, where the system permits such namespaces; root needs none.
    let has_users = Command::new("unshare").args(["-rm", "true"]).run_to_end().status.success();
    let output = Command::new("unshare")
        .arg(if has_users { "-rm" } else { "-m" })
        .args(["sh", "-c", MOUNT, "sh", &kib.to_string()])
        .arg(place)
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(PLACE, place)
        .run_to_end();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The disk's directory, in the process that has one.
fn disk() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

#[test]
fn a_full_disk_refuses_with_its_reason_and_loses_nothing() {
    run_on_disk("disks::on_a_full_disk", 1_024, &Place::new());
}

/// Run with the others it has no disk.
#[test]
fn on_a_full_disk() {
    let Some(disk) = disk() else { return };
    let (data, filler) = (disk.join("data"), disk.join("filler"));
    fs::write(&filler, vec![1; 512 << 10]).unwrap();
    let (directory, store, _) = open(&data).unwrap();
    let said = format!("no space is left for {}: free some", data.join("definitions.redb").display());

    // Until it is full; then what comes is refused at once, and kept.
    let kilobyte = "x".repeat(1_000);
    let mut expected = vec![entry("a", &kilobyte)];
    commit(&store, vec![write("a", Some(&kilobyte)), write("gone", Some("x"))]).unwrap();
    let mut refused = 0;
    while refused < 20 {
        let key = format!("b {:04}", expected.len());
        if let Err(error) = commit(&store, vec![write(&key, Some(&kilobyte))]) {
            assert_eq!(error, said);
            assert_eq!(store.failing().unwrap().to_string(), said);
            refused += 1;
        }
        expected.push(entry(&key, &kilobyte));
    }
    assert!(expected.len() > 100, "{} entries", expected.len());
    assert_eq!(commit(&store, vec![write("gone", None)]), Err(said.clone()));

    fs::remove_file(&filler).unwrap();
    until("the store writes again", || store.failing().map_or(Ok(()), Err));
    store.close().unwrap();
    drop((directory, store));
    assert!(open(&data).unwrap().2 == expected);
}

#[test]
fn a_node_stops_and_starts_on_a_full_disk() {
    run_on_disk("disks::started_on_a_full_disk", 1_024, &Place::new());
}

/// Run with the others it has no disk.
#[test]
fn started_on_a_full_disk() {
    let Some(disk) = disk() else { return };
    let data = disk.join("data");
    let (directory, store, _) = open(&data).unwrap();
    commit(&store, vec![write("a", Some("1"))]).unwrap();
    fill(&disk);
    let large = "x".repeat(500_000);
    commit(&store, vec![write("b", Some(&large))]).unwrap_err();
    let said = format!("no space is left for {}: free some", data.join("definitions.redb").display());
    assert_eq!(store.close().unwrap_err().to_string(), said);
    drop((directory, store));

    // The batch that was answered with an error is lost with the process.
    let (_, store, entries) = open(&data).unwrap();
    assert_eq!(entries, [entry("a", "1")]);
    assert_eq!(commit(&store, vec![write("b", Some(&large))]), Err(said));

    let error = DataDirectory::open(&disk.join("another"), NODE).unwrap_err().to_string();
    assert!(
        error.starts_with("no space is left for ")
            && error.ends_with(": free some, or choose another directory"),
        "{error}"
    );
}

/// Leaves no page free.
fn fill(disk: &Path) {
    let mut filler = File::create(disk.join("filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
}

#[test]
fn a_read_only_disk_is_said_to_be_one() {
    run_on_disk("disks::on_a_read_only_disk", 4_096, &Place::new());
}

/// Run with the others it has no disk.
#[test]
fn on_a_read_only_disk() {
    let Some(disk) = disk() else { return };
    let data = disk.join("data");
    let (directory, store, _) = open(&data).unwrap();
    commit(&store, vec![write("a", Some("1"))]).unwrap();
    drop((directory, store));
    let remount = |how: &str| {
        let mount = Command::new("mount").args(["-o", how]).arg(&disk).status().unwrap();
        assert!(mount.success());
    };
    remount("remount,ro");
    for (path, said) in [(data.clone(), data.join("lock")), (disk.join("another"), disk.join("another"))] {
        let error = DataDirectory::open(&path, NODE).unwrap_err();
        let expected = format!(
            "{} is on a read-only file system: mount it writable, or choose another directory",
            said.display()
        );
        assert_eq!(error.to_string(), expected);
    }
    remount("remount,rw");
    assert_eq!(open(&data).unwrap().2, [entry("a", "1")]);
}
