//! `run_all`: independent jobs on all cores, with their results in order.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does all jobs on `threads` threads. The results have the order of the jobs. Progress goes to standard error, under `name`.
pub fn run_all<J: Sync, R: Send>(
    name: &str,
    jobs: &[J],
    threads: usize,
    run: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((index, job)) = {
            let index = next.fetch_add(1, Relaxed);
            Some(index).zip(jobs.get(index))
        } {
            eprintln!("fabric {}/{}: {name}", index + 1, jobs.len());
            let result = run(job);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            // If the system refuses further threads, this one does all jobs.
            let _ = thread::Builder::new().name("simulation".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        for threads in [1, 3, 200] {
            let doubled = run_all("test", &jobs, threads, |job| job * 2);
            assert_eq!(doubled, (0..200).step_by(2).collect::<Vec<u64>>());
        }
        assert_eq!(run_all("test", &[] as &[u64], 2, |job| *job), Vec::<u64>::new());
    }
}
