//! The window bounds memory for any input, and for output of any speed.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use hairstreak_testkit::{BoundedChild, until};

use crate::harness::{HAIRSTREAK, Outcome, children_of, command, numbers};

/// The peak memory of the process, in bytes.
fn peak_bytes(process: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Passes `total` bytes through a map, in lines of one size. The first result is read after `read_after` bytes of input.
/// Returns the peak memory.
fn passing(words: &[&str], line_size: usize, total: usize, read_after: u64) -> u64 {
    let mut child = command(&[&["map"], words].concat()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let written = AtomicU64::new(0);
    let mut line = vec![b'x'; line_size - 1];
    line.push(b'\n');
    let id = until("hairstreak runs under its parent", || children_of(child.id() as i32).first().copied());
    let block = line.repeat((1 << 16) / line_size.min(1 << 16));
    let (mut read, mut peak) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while written.load(Ordering::Relaxed) < total as u64 {
                stdin.write_all(&block).unwrap();
                written.fetch_add(block.len() as u64, Ordering::Relaxed);
            }
        });
        until("enough input is written", || written.load(Ordering::Relaxed) >= read_after);
        let mut buffer = vec![0; 1 << 18];
        let expected = total.div_ceil(block.len()) * block.len();
        while read < expected {
            read += stdout.read(&mut buffer).unwrap();
            peak = peak_bytes(id).unwrap_or(peak);
        }
    });
    drop(stdin);
    let output = child.end_with_output();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    peak
}

#[test]
fn many_short_lines_take_no_memory() {
    let peak = passing(&["-k", "-j2", "--", "cat"], 2, 6 << 20, 0);
    assert!(peak < 96 << 20, "{peak}");
}

#[test]
fn large_records_are_bounded_by_their_bytes() {
    // The window has room for a thousand of these records.
    let peak = passing(&["-j2", "--", "cat"], 1 << 20, 512 << 20, 0);
    assert!(peak < 400 << 20, "{peak}");
}

#[test]
fn a_reader_that_waits_holds_up_the_input() {
    // Each pipe on the way holds 64 KiB. The rest of the input beyond the window has to wait outside.
    let peak = passing(&["-j2", "-w1000", "--", "cat"], 100, 32 << 20, 100_000);
    assert!(peak < 64 << 20, "{peak}");
}

#[test]
fn a_filter_slower_than_the_input_keeps_no_memory() {
    let slow = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()";
    let peak = passing(&["-j1", "-w1000", "--", "python3", "-c", slow], 1000, 192 << 20, 0);
    // The whole input is 192 MiB.
    assert!(peak < 64 << 20, "{peak}");
}

/// Runs `hairstreak map WORDS...` on some numbers, with each of these limits of open files.
fn limited(limits: &str, words: &[&str]) -> Outcome {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={limits}")).args(["timeout", "--foreground", "--signal=KILL", "120"]);
    command.args([HAIRSTREAK, "map", "-k"]).args(words);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(numbers(200).as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn as_many_commands_run_as_there_are_descriptors_for() {
    let rows = [&["-j30", "--", "echo", "{}"][..], &["-j30", "--each", "--", "cat"], &["-j30", "--", "cat"]];
    // A command takes four descriptors, so one of these limits leaves no spare descriptor.
    for (limit, words) in (61..=64).flat_map(|limit| rows.map(|words| (limit, words))) {
        let Outcome { status, stdout, stderr } = limited(&format!("{limit}:{limit}"), words);
        let told = format!("{limit} {words:?}: {stderr}");
        assert_eq!((status, String::from_utf8(stdout).unwrap()), (0, numbers(200)), "{told}");
        let end = format!(
            " of 30 commands run side by side: this process may have {limit} open files (ulimit -n)\n"
        );
        assert!(stderr.starts_with("hairstreak: ") && stderr.ends_with(&end), "{told}");
    }
}

#[test]
fn the_limit_of_open_files_is_raised_for_the_map_alone() {
    let told = limited("64:4096", &["-j30", "--", "sh", "-c", "ulimit -n", "{}"]).good();
    assert_eq!(told, "64\n".repeat(200));
}
