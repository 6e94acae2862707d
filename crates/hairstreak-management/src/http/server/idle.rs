//! `Idle`: the connections without a request. They give way to new connections where all places or descriptors are taken.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::Notify;

/// The place of a connection among those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    has_asked: bool,
    number: u64,
}

/// The connections of a server that wait: first those that have never asked, and among them those that have waited longest.
#[derive(Debug, Default)]
pub(super) struct Idle {
    waiting: RefCell<BTreeMap<Place, Rc<Notify>>>,
    last: Cell<u64>,
}

/// One connection, which waits or has a request.
#[derive(Debug)]
pub(super) struct Keeping {
    idle: Rc<Idle>,
    place: Cell<Option<Place>>,
    closes: Rc<Notify>,
}

/// A request in progress, up to the end of its response's body.
#[derive(Debug)]
pub(in crate::http) struct Busy(Rc<Keeping>);

impl Idle {
    /// Has the first connection close. Returns false if none waits.
    pub(super) fn close_one(&self) -> bool {
        let first = self.waiting.borrow_mut().pop_first();
        first.map(|(_, closes)| closes.notify_one()).is_some()
    }
}

impl Keeping {
    /// A connection that has never asked.
    pub(super) fn new(idle: &Rc<Idle>) -> Rc<Keeping> {
        let keeping = Keeping { idle: Rc::clone(idle), place: Cell::default(), closes: Rc::default() };
        keeping.wait(false);
        Rc::new(keeping)
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

    fn wait(&self, has_asked: bool) {
        let number = self.idle.last.get() + 1;
        self.idle.last.set(number);
        let place = Place { has_asked, number };
        self.idle.waiting.borrow_mut().insert(place, Rc::clone(&self.closes));
        self.place.set(Some(place));
    }

    fn forget(&self) {
        if let Some(place) = self.place.take() {
            self.idle.waiting.borrow_mut().remove(&place);
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
        self.0.wait(true);
    }
}
