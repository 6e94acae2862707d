//! The lock under loom: every interleaving of an owner and others.

use loom::sync::Arc;

use super::*;

/// A counter whose accesses loom watches: loom fails on two unordered accesses. The atomic is set while a thread is
/// inside, because loom switches threads only at an atomic.
type Counter = Lock<(loom::cell::Cell<u32>, AtomicU32)>;

fn counter() -> Counter {
    Lock::new((loom::cell::Cell::new(0), AtomicU32::new(0)))
}

fn count(lock: &Counter) {
    add_one(&lock.lock());
}

/// Returns whether the lock was free.
fn try_count(lock: &Counter) -> bool {
    lock.try_lock().is_some_and(|value| {
        add_one(&value);
        true
    })
}

fn add_one(value: &(loom::cell::Cell<u32>, AtomicU32)) {
    assert_eq!(value.1.swap(1, Ordering::Relaxed), 0, "two are inside");
    value.0.set(value.0.get() + 1);
    value.1.store(0, Ordering::Relaxed);
}

fn owned_counter() -> Arc<Counter> {
    let lock = Arc::new(counter());
    (0..=STREAK).for_each(|_| drop(lock.lock()));
    lock
}

fn spawn_counting(lock: &Arc<Counter>) -> loom::thread::JoinHandle<()> {
    let lock = Arc::clone(lock);
    loom::thread::spawn(move || count(&lock))
}

#[test]
fn loom_no_update_is_lost_and_no_sleeper_forgotten() {
    loom::model(|| {
        let lock = Arc::new(counter());
        let thread = spawn_counting(&lock);
        count(&lock);
        thread.join().unwrap();
        assert_eq!(lock.lock().0.get(), 2);
    });
}

#[test]
fn loom_the_owner_and_another_exclude_each_other() {
    loom::model(|| {
        let lock = owned_counter();
        let thread = spawn_counting(&lock);
        count(&lock);
        count(&lock);
        thread.join().unwrap();
        assert_eq!(lock.lock().0.get(), 3);
    });
}

#[test]
fn loom_whoever_tries_and_whoever_waits_exclude_each_other() {
    loom::model(|| {
        let lock = owned_counter();
        let others = Arc::clone(&lock);
        let thread = loom::thread::spawn(move || u32::from(try_count(&others)));
        count(&lock);
        count(&lock);
        let tried = thread.join().unwrap();
        assert_eq!(lock.lock().0.get(), 2 + tried);
    });
}

#[test]
fn loom_an_owner_that_tries_and_another_exclude_each_other() {
    loom::model(|| {
        let lock = owned_counter();
        let thread = spawn_counting(&lock);
        let tried = u32::from(try_count(&lock)) + u32::from(try_count(&lock));
        thread.join().unwrap();
        assert_eq!(lock.lock().0.get(), 1 + tried);
    });
}

/// The thread takes the lock as often in a row as a first owner would, and once more.
#[test]
fn loom_who_would_earn_a_seat_that_is_another_s_excludes_its_holder() {
    loom::model(|| {
        let lock = owned_counter();
        let others = Arc::clone(&lock);
        let thread = loom::thread::spawn(move || (0..=STREAK + 1).for_each(|_| count(&others)));
        count(&lock);
        thread.join().unwrap();
        assert_eq!(lock.lock().0.get(), 3 + STREAK);
    });
}

#[test]
fn loom_two_who_end_an_ownership_exclude_each_other_and_the_owner() {
    loom::model(|| {
        let lock = owned_counter();
        let threads = [spawn_counting(&lock), spawn_counting(&lock)];
        count(&lock);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(lock.lock().0.get(), 3);
    });
}

#[test]
fn loom_who_enters_as_the_owner_and_another_exclude_each_other() {
    loom::model(|| {
        let lock = owned_counter();
        let thread = spawn_counting(&lock);
        let mut entered = 0;
        for _ in 0..2 {
            if let Some(value) = lock.lock_as_owner() {
                add_one(&value);
                entered += 1;
            }
        }
        thread.join().unwrap();
        assert_eq!(lock.lock().0.get(), 1 + entered);
    });
}
