//! `Lingering`: the connections that are over and wait for the client to end its side.
//!
//! A server that ends the socket together with connection.close-ok makes clients see the end of the stream where they expect to
//! close it themselves. So the socket stays open for a while. Such a connection has left its virtual host and all counts, except
//! the count of the node's sockets. Clients that never end their side must not use these up: places are few, and without one a
//! connection ends at once.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The connections that wait at a time.
const LINGERING_MAX: usize = 1024;

/// The places of a node.
#[derive(Clone, Debug, Default)]
pub struct Lingering(Arc<AtomicUsize>);

/// The place of one connection. Dropping it frees it.
#[derive(Debug)]
pub struct LingeringPlace(Arc<AtomicUsize>);

impl Lingering {
    /// Takes a place. `None`: there is none.
    pub fn take(&self) -> Option<LingeringPlace> {
        let add = |count: usize| (count < LINGERING_MAX).then_some(count + 1);
        self.0.fetch_update(Relaxed, Relaxed, add).ok()?;
        Some(LingeringPlace(Arc::clone(&self.0)))
    }
}

impl Drop for LingeringPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_places_and_a_place_that_is_left_is_free() {
        let lingering = Lingering::default();
        let mut places: Vec<_> = (0..LINGERING_MAX).map_while(|_| lingering.take()).collect();
        assert!(places.len() == LINGERING_MAX && lingering.take().is_none());
        places.pop();
        let last = lingering.take();
        assert!(last.is_some() && lingering.take().is_none());
    }
}
