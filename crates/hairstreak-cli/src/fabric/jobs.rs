//! `run_all`: independent jobs on all cores, with their results in order.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};

/// Does all jobs on `threads` threads. The results have the order of the jobs. Shows the progress if standard error is a terminal.
pub fn run_all<J: Sync, R: Send>(jobs: &[J], threads: usize, run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let progress = ProgressBar::new(jobs.len() as u64);
    let style = ProgressStyle::with_template("{pos}/{len} simulated, {eta} left {wide_bar}");
    if let Ok(style) = style {
        progress.set_style(style);
    }
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((job, result)) = {
            let index = next.fetch_add(1, Relaxed);
            jobs.get(index).zip(results.get(index))
        } {
            let found = run(job);
            *result.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(found);
            progress.inc(1);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            // If the system refuses further threads, this one does all jobs.
            let _ = thread::Builder::new().name("simulation".into()).spawn_scoped(scope, work);
        }
        work();
    });
    progress.finish_and_clear();
    let results = results.into_iter().map(|result| result.into_inner().ok().flatten());
    // INVARIANT: each index below the count was taken by one thread, and the scope has waited for that thread.
    results.map(|result| result.expect("each job was done")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        for threads in [1, 3, 200] {
            assert_eq!(run_all(&jobs, threads, |job| job * 2), (0..200).step_by(2).collect::<Vec<u64>>());
        }
        assert_eq!(run_all(&[] as &[u64], 2, |job| *job), Vec::<u64>::new());
    }
}
