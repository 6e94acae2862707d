//! What the store of definitions costs on this machine's disk: `cargo run --release -p hairstreak-store --example definitions [DIR]`.
//!
//! Without a directory the example makes one beside the build, where the disk is the checkout's, and removes it.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hairstreak_store::{DataDirectory, DefinitionStore, Kind, Write};

const QUEUES: Kind = Kind::new(1);

fn main() -> Result<(), Box<dyn Error>> {
    let (path, is_own) = match std::env::args_os().nth(1) {
        Some(path) => (PathBuf::from(path), false),
        None => {
            (std::env::current_exe()?.with_file_name(format!("definitions-{}", std::process::id())), true)
        }
    };
    let measured = measure(&path);
    if is_own {
        fs::remove_dir_all(&path)?;
    }
    measured
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let directory = DataDirectory::open(path, "example@host")?;
    let (store, _) = DefinitionStore::open(&directory)?;
    let mut out = io::stdout().lock();
    let said = |count: usize, took: Duration, more: String| {
        format!(
            "{count:>7} in {:>8.1} ms, {:>7.1} us each{more}",
            took.as_secs_f64() * 1e3,
            took.as_secs_f64() * 1e6 / count as f64
        )
    };

    let took = sync_each(path, 1_000)?;
    writeln!(out, "fdatasync after a write of 4 KiB     {}", said(1_000, took, String::new()))?;
    for _ in 0..3 {
        let took = one_by_one(&store, 1_000);
        writeln!(out, "batches, each waits for the last     {}", said(1_000, took, String::new()))?;
    }
    for count in [1_000, 1_000, 1_000, 10_000, 100_000] {
        let before = store.commit_count();
        let took = all_at_once(&store, count);
        let groups = store.commit_count() - before;
        writeln!(
            out,
            "batches without waiting              {}",
            said(count, took, format!(", {groups} commits"))
        )?;
    }
    let before = file_size(path)?;
    let took = changes(&store, 100_000);
    let after = file_size(path)?;
    writeln!(out, "changes of the same 1,000 keys       {}", said(100_000, took, String::new()))?;
    writeln!(out, "the file: {before} bytes with 100,000 keys before the changes, {after} after")?;
    let took = one_by_one(&store, 1_000);
    writeln!(out, "batches, with 100,000 keys stored    {}", said(1_000, took, String::new()))?;

    store.close()?;
    drop(store);
    writeln!(out, "the file when closed: {} bytes", file_size(path)?)?;
    let start = Instant::now();
    let (_store, entries) = DefinitionStore::open(&directory)?;
    writeln!(
        out,
        "opened, checked and read             {}",
        said(entries.len(), start.elapsed(), String::new())
    )?;
    Ok(())
}

/// The limit of the disk: a page written and synced, one after the other.
fn sync_each(path: &Path, count: usize) -> io::Result<Duration> {
    use std::os::unix::fs::FileExt;
    let file = path.join("limit");
    let limit = fs::File::create(&file)?;
    limit.write_all_at(&[1; 4096 * 16], 0)?;
    limit.sync_all()?;
    let start = Instant::now();
    for number in 0..count {
        limit.write_all_at(&[number as u8; 4096], number as u64 % 16 * 4096)?;
        limit.sync_data()?;
    }
    let took = start.elapsed();
    fs::remove_file(file)?;
    Ok(took)
}

/// A queue with its arguments is some 150 bytes.
fn change(key: usize, round: usize) -> Vec<Write> {
    let value = Some(round.to_le_bytes().repeat(16));
    vec![Write { kind: QUEUES, key: format!("/\0queue-{key:06}").into(), value }]
}

fn one_by_one(store: &DefinitionStore, count: usize) -> Duration {
    let start = Instant::now();
    for number in 0..count {
        let (sender, receiver) = mpsc::channel();
        store.submit(change(number, 1), move |outcome| sender.send(outcome).unwrap_or(()));
        report(receiver.recv());
    }
    start.elapsed()
}

fn all_at_once(store: &DefinitionStore, count: usize) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    for number in 0..count {
        let sender = sender.clone();
        store.submit(change(number, 2), move |outcome| sender.send(outcome).unwrap_or(()));
    }
    for _ in 0..count {
        report(receiver.recv());
    }
    start.elapsed()
}

fn changes(store: &DefinitionStore, count: usize) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    for number in 0..count {
        let sender = sender.clone();
        store.submit(change(number % 1_000, number), move |outcome| sender.send(outcome).unwrap_or(()));
        // A hundred are on their way: a thousand commits.
        if number >= 100 {
            report(receiver.recv());
        }
    }
    for _ in 0..100 {
        report(receiver.recv());
    }
    start.elapsed()
}

fn report<E: std::fmt::Display>(outcome: Result<Result<(), E>, mpsc::RecvError>) {
    if let Ok(Err(error)) = outcome {
        let _ = writeln!(io::stderr(), "{error}");
    }
}

fn file_size(path: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path.join("definitions.redb"))?.len())
}
