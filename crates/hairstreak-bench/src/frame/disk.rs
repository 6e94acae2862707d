//! The disk of a run: its sync time and sequential rates, the bytes that were written to it, and files whose pages are not cached.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise, major, minor};

use super::{Row, Spread, Value};

const PROBE_SIZE: usize = 64 << 20;
const SYNC_COUNT: usize = 50;
/// Bytes of one write or read of a sequential rate.
const PART_SIZE: usize = 1 << 20;
const SECTOR_SIZE: usize = 512;
const MIB: f64 = 1_048_576.0;

/// The speed of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskSpeed {
    /// Median time of a write of 512 bytes into written space, and fdatasync, in microseconds.
    pub sync_us: f64,
    /// MiB a second of sequential writes into written space, with one fdatasync behind them.
    pub write_mib_per_s: f64,
    /// MiB a second of sequential reads of pages that are not cached by this system.
    pub read_mib_per_s: f64,
}

impl DiskSpeed {
    /// Adds the speeds of several samples to a row, and whether the files were in the page cache of this system.
    #[must_use]
    pub fn show(speeds: &[DiskSpeed], row: Row, are_cached: bool) -> Row {
        let spread = |of: fn(&DiskSpeed) -> f64| {
            Value::spread(Spread::of(speeds.iter().map(of)), |speed| format!("{speed:.0}"))
        };
        row.show("sync_us", "sync us", spread(|speed| speed.sync_us))
            .show("write_mib_per_s", "writes MiB/s", spread(|speed| speed.write_mib_per_s))
            .show("read_mib_per_s", "reads MiB/s", spread(|speed| speed.read_mib_per_s))
            .show(
                "are_cached",
                "files cached",
                Value::other(are_cached, if are_cached { "yes" } else { "no" }),
            )
    }
}

/// A file without a name, which measures its disk.
#[derive(Debug)]
pub struct DiskProbe(File);

impl DiskProbe {
    /// Creates the file in `directory`.
    pub fn open(directory: &Path) -> Result<DiskProbe> {
        let path = directory.join(format!("hairstreak-bench-probe-{}", std::process::id()));
        let file = create_zeroed(&path, PROBE_SIZE).context("the file that measures the disk")?;
        fs::remove_file(path)?;
        Ok(DiskProbe(file))
    }

    /// Measures the disk.
    pub fn measure(&self) -> Result<DiskSpeed> {
        let file = &self.0;
        let mut part = vec![1; PART_SIZE];
        let mut times = Vec::new();
        for index in 0..SYNC_COUNT {
            let start = Instant::now();
            file.write_all_at(&part[..SECTOR_SIZE], (index * SECTOR_SIZE) as u64)?;
            file.sync_data()?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        let offsets = || (0..PROBE_SIZE).step_by(PART_SIZE).map(|offset| offset as u64);
        let rate = |start: Instant| PROBE_SIZE as f64 / MIB / start.elapsed().as_secs_f64();
        let start = Instant::now();
        offsets().try_for_each(|offset| file.write_all_at(&part, offset))?;
        file.sync_data()?;
        let write_mib_per_s = rate(start);
        evict(file)?;
        let start = Instant::now();
        offsets().try_for_each(|offset| file.read_exact_at(&mut part, offset))?;
        let read_mib_per_s = rate(start);
        let sync_us = Spread::of(times).map_or(0.0, |spread| spread.median);
        Ok(DiskSpeed { sync_us, write_mib_per_s, read_mib_per_s })
    }
}

/// Creates a file of written zeros.
pub fn create_zeroed(path: &Path, size: usize) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    file.write_all_at(&vec![0; size], 0)?;
    file.sync_all()?;
    Ok(file)
}

/// Returns the MiB a second of sequential writes into a new file with a sync behind them. The file is removed.
pub fn new_file_rate(directory: &Path, size: usize) -> io::Result<f64> {
    let path = directory.join(format!("hairstreak-bench-written-{}", std::process::id()));
    let file = File::create(&path)?;
    fs::remove_file(path)?;
    let (start, part) = (Instant::now(), vec![1; PART_SIZE]);
    (0..size).step_by(PART_SIZE).try_for_each(|offset| file.write_all_at(&part, offset as u64))?;
    file.sync_all()?;
    Ok(size.next_multiple_of(PART_SIZE) as f64 / MIB / start.elapsed().as_secs_f64())
}

/// Removes the pages of a file from the page cache.
fn evict(file: &File) -> io::Result<()> {
    // Pages that are not on the disk would stay.
    file.sync_all()?;
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Reads all files below `directory`, after their pages were removed from the page cache, and removes them again. Returns the bytes and
/// the seconds.
pub fn read_uncached(directory: &Path) -> io::Result<(u64, f64)> {
    let mut paths = files_below(directory)?;
    paths.sort();
    let files: Vec<File> = paths.iter().map(File::open).collect::<io::Result<_>>()?;
    files.iter().try_for_each(evict)?;
    let (start, mut part, mut total) = (Instant::now(), vec![0; PART_SIZE], 0);
    for mut file in &files {
        loop {
            match file.read(&mut part)? {
                0 => break,
                size => total += size as u64,
            }
        }
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    files.iter().try_for_each(evict)?;
    Ok((total, elapsed_s))
}

/// Returns the paths of all files below a directory.
pub fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            paths.extend(files_below(&entry.path())?);
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// Returns the bytes that the device of `path` has written since the start of the system, if it has a count. `write_bytes` of a process
/// (proc(5)) is no such figure: the kernel adds the whole folio, of up to some MiB, for each byte that makes it dirty.
pub fn written_bytes(path: &Path) -> Option<u64> {
    let device = fs::metadata(path).ok()?.dev();
    let text = fs::read_to_string(format!("/sys/dev/block/{}:{}/stat", major(device), minor(device))).ok()?;
    Some(text.split_whitespace().nth(6)?.parse::<u64>().ok()? * SECTOR_SIZE as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_a_speed_and_counts_bytes() {
        let place = std::env::temp_dir().join(format!("hairstreak-bench-disk-{}", std::process::id()));
        fs::create_dir_all(place.join("folder")).unwrap();
        let before = written_bytes(&place);
        let speed = DiskProbe::open(&place).unwrap().measure().unwrap();
        assert!(speed.sync_us > 0.0 && speed.write_mib_per_s > 0.0 && speed.read_mib_per_s > 0.0);
        create_zeroed(&place.join("one"), 100).unwrap();
        create_zeroed(&place.join("folder/two"), 23).unwrap();
        assert_eq!(read_uncached(&place).unwrap().0, 123);
        if let Some(before) = before {
            assert!(written_bytes(&place).unwrap() >= before);
        }
        fs::remove_dir_all(place).unwrap();
    }
}
