//! `Idle`: the connections that wait for a further request. They give way to new connections where all places are taken.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

/// The connections of a server that wait, those that have waited longest first.
#[derive(Debug, Default)]
pub(super) struct Idle {
    waiting: RefCell<BTreeMap<u64, Rc<Notify>>>,
    last: Cell<u64>,
}

/// One connection, which waits or has a request.
#[derive(Debug)]
pub(super) struct Keeping {
    idle: Rc<Idle>,
    /// The place among those that wait.
    number: Cell<Option<u64>>,
    closes: Rc<Notify>,
}

/// A request in progress, up to the end of its response's body.
#[derive(Debug)]
pub(in crate::http) struct Busy(Rc<Keeping>);

impl Idle {
    /// Has the connection that has waited longest close. Returns false if none waits.
    pub(super) fn close_one(&self) -> bool {
        let first = self.waiting.borrow_mut().pop_first();
        first.map(|(_, closes)| closes.notify_one()).is_some()
    }
}

impl Keeping {
    /// A connection that has not asked. That has a time limit of its own.
    pub(super) fn new(idle: &Rc<Idle>) -> Rc<Keeping> {
        Rc::new(Keeping { idle: Rc::clone(idle), number: Cell::default(), closes: Rc::default() })
    }

    /// A request has come.
    pub(super) fn begin(self: &Rc<Keeping>) -> Busy {
        self.forget();
        Busy(Rc::clone(self))
    }

    /// Waits until the connection has to give way.
    pub(super) async fn gives_way(&self) {
        self.closes.notified().await;
    }

    fn wait(&self) {
        let number = self.idle.last.get() + 1;
        self.idle.last.set(number);
        self.idle.waiting.borrow_mut().insert(number, Rc::clone(&self.closes));
        self.number.set(Some(number));
    }

    fn forget(&self) {
        if let Some(number) = self.number.take() {
            self.idle.waiting.borrow_mut().remove(&number);
        }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.wait();
    }
}
