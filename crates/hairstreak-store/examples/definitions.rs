//! Measures the store of definitions on this machine's disk: `cargo run --release -p hairstreak-store --example definitions [DIR]`.
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
    let size =
        || fs::metadata(path.join("definitions.redb")).map(|file| format!(", file {} KiB", file.len() >> 10));

    for _ in 0..3 {
        say(&mut out, "write of 4 KiB and fdatasync, one by one", 1_000, sync_each(path, 1_000)?, "")?;
        say(&mut out, "batches of one write, one by one", 1_000, one_by_one(&store, 1_000), &size()?)?;
    }
    for count in [1_000, 1_000, 1_000, 10_000] {
        let before = store.commit_count();
        let took = all_at_once(&store, count, |number| change(number, 2));
        let commits = format!(", {} commits", store.commit_count() - before);
        say(&mut out, "batches of one write, without waiting", count, took, &commits)?;
    }
    all_at_once(&store, 10_000, |number| vec![removal(number)]);
    for _ in 0..3 {
        let took = with_window(&store, 100_000, |number| change(number % 1_000, number));
        say(&mut out, "changes of the same 1,000 keys, 100 at once", 100_000, took, &size()?)?;
    }
    let took = with_window(&store, 100_000, |number| {
        let mut batch = change(number, number);
        batch.extend(number.checked_sub(1_000).map(removal));
        batch
    });
    say(&mut out, "new keys, each removed 1,000 later", 100_000, took, &size()?)?;
    say(
        &mut out,
        "100,000 keys",
        100_000,
        all_at_once(&store, 100_000, |number| change(number, 3)),
        &size()?,
    )?;
    say(&mut out, "batches of one write, one by one", 1_000, one_by_one(&store, 1_000), &size()?)?;

    let start = Instant::now();
    store.close()?;
    drop(store);
    say(&mut out, "closed", 1, start.elapsed(), &size()?)?;
    let start = Instant::now();
    let (store, entries) = DefinitionStore::open(&directory)?;
    say(&mut out, "opened: checked and read", entries.len(), start.elapsed(), &size()?)?;
    let took = all_at_once(&store, 100_000, |number| vec![removal(number)]);
    say(&mut out, "100,000 removals", 100_000, took, &size()?)?;
    store.close()?;
    writeln!(out, "closed{}", size()?)?;
    Ok(())
}

fn say(out: &mut impl io::Write, what: &str, count: usize, took: Duration, more: &str) -> io::Result<()> {
    let (ms, us) = (took.as_secs_f64() * 1e3, took.as_secs_f64() * 1e6 / count as f64);
    writeln!(out, "{what:<45} {count:>7} in {ms:>8.1} ms, {us:>7.1} us each{more}")
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

fn removal(key: usize) -> Write {
    Write { kind: QUEUES, key: format!("/\0queue-{key:06}").into(), value: None }
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

fn all_at_once(store: &DefinitionStore, count: usize, batch: impl Fn(usize) -> Vec<Write>) -> Duration {
    submit(store, count, count, batch)
}

/// At most 100 batches wait for their answers.
fn with_window(store: &DefinitionStore, count: usize, batch: impl Fn(usize) -> Vec<Write>) -> Duration {
    submit(store, count, 100, batch)
}

fn submit(
    store: &DefinitionStore,
    count: usize,
    window: usize,
    batch: impl Fn(usize) -> Vec<Write>,
) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    for number in 0..count + window {
        if number < count {
            let sender = sender.clone();
            store.submit(batch(number), move |outcome| sender.send(outcome).unwrap_or(()));
        }
        if number >= window {
            report(receiver.recv());
        }
    }
    start.elapsed()
}

fn report<E: std::fmt::Display>(outcome: Result<Result<(), E>, mpsc::RecvError>) {
    if let Ok(Err(error)) = outcome {
        let _ = writeln!(io::stderr(), "{error}");
    }
}
