//! Tests of the lock with threads of the system.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::*;
use crate::sync::rounds;

#[test]
fn counts_from_many_threads_add_up() {
    let lock = Arc::new(Lock::new(0u64));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let lock = Arc::clone(&lock);
            std::thread::spawn(move || (0..rounds(50_000)).for_each(|_| *lock.lock() += 1))
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*lock.lock(), 4 * rounds(50_000) as u64);
}

fn seat_count(lock: &Lock<u64>) -> u32 {
    lock.seat.value.load(Ordering::Relaxed)
}

fn become_owner(lock: &Lock<u64>) {
    (0..=STREAK).for_each(|_| drop(lock.lock()));
    let before = seat_count(lock);
    drop(lock.lock());
    assert_eq!(seat_count(lock), before + 2, "entered by the seat");
}

#[test]
fn an_owner_and_those_who_end_its_ownership_never_meet() {
    let lock = Arc::new(Lock::new(0u64));
    become_owner(&lock);
    let others: Vec<_> = (0..2)
        .map(|_| {
            let lock = Arc::clone(&lock);
            std::thread::spawn(move || {
                for _ in 0..rounds(2_000) {
                    *lock.lock() += 1;
                    (0..100).for_each(|_| std::hint::spin_loop());
                }
            })
        })
        .collect();
    (0..rounds(2_000_000)).for_each(|_| *lock.lock() += 1);
    others.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*lock.lock(), (2 * rounds(2_000) + rounds(2_000_000)) as u64);
}

#[test]
fn a_seat_is_one_thread_s_for_ever() {
    let lock = Arc::new(Lock::new(0u64));
    become_owner(&lock);
    let other = Arc::clone(&lock);
    let entries = seat_count(&lock);
    std::thread::spawn(move || (0..3 * STREAK).for_each(|_| *other.lock() += 1)).join().unwrap();
    assert_eq!(seat_count(&lock), entries, "the other went by the state");
    become_owner(&lock);
}

#[test]
fn the_owner_cannot_enter_twice() {
    let lock = Lock::new(0u64);
    become_owner(&lock);
    let guard = lock.lock();
    assert!(lock.try_lock().is_none());
    drop(guard);
    assert!(lock.try_lock().is_some());
}

#[test]
fn try_lock_refuses_a_held_lock() {
    let lock = Lock::new(());
    let guard = lock.lock();
    assert!(lock.try_lock().is_none());
    assert!(lock.try_lock().is_none(), "a refusal must not release the lock");
    drop(guard);
    assert!(lock.try_lock().is_some());
}

#[test]
fn only_the_owner_enters_as_such_and_only_while_nobody_is_inside() {
    let lock = Lock::new(0u64);
    assert!(lock.lock_as_owner().is_none(), "nobody is the owner yet");
    become_owner(&lock);
    let mut guard = lock.lock_as_owner().unwrap();
    *guard += 1;
    assert!(lock.lock_as_owner().is_none(), "it is inside");
    let others = std::thread::scope(|scope| {
        scope.spawn(|| (lock.lock_as_owner().is_none(), lock.try_lock().is_none())).join().unwrap()
    });
    assert_eq!(others, (true, true));
    drop(guard);
    std::thread::scope(|scope| scope.spawn(|| drop(lock.lock())).join().unwrap());
    assert!(lock.lock_as_owner().is_none(), "the other has ended the ownership");
}

/// Returns whether a thread that holds the lock and takes it again panics instead of waiting for itself.
fn is_told(enter: fn(&Lock<u64>)) -> bool {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let lock = Lock::new(0u64);
        enter(&lock);
        let guard = lock.lock();
        let again = catch_unwind(AssertUnwindSafe(|| drop(lock.lock())));
        drop(guard);
        tell.send(again.is_err() && lock.try_lock().is_some()).unwrap();
    });
    told.recv_timeout(Duration::from_secs(60)).unwrap_or(false)
}

#[test]
fn a_thread_that_enters_twice_is_told_whichever_way_it_went() {
    assert!(is_told(|_| ()), "by the state");
    assert!(is_told(become_owner), "by the seat");
}
