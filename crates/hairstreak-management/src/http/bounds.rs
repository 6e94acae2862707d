//! `Bounds`: what all requests together may keep in memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::options::HttpOptions;

/// Bytes of one unit of the bound of bodies.
const UNIT: usize = 1024;

/// The bounds that all connections share.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    bodies: Arc<Semaphore>,
    rows: Arc<Semaphore>,
    row_count: usize,
}

/// A part of a bound, given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Share(Option<OwnedSemaphorePermit>);

impl Bounds {
    pub(crate) fn new(options: &HttpOptions) -> Bounds {
        let row_count = options.rows_max.clamp(1, u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        Bounds {
            bodies: Arc::new(Semaphore::new((options.bodies_bytes_max / UNIT).max(1))),
            rows: Arc::new(Semaphore::new(row_count)),
            row_count,
        }
    }

    /// Waits until a body, whose room is `share`, has room for `size` bytes in all.
    pub(crate) async fn reserve_body(&self, share: &mut Share, size: usize) {
        share.reach(&self.bodies, size.div_ceil(UNIT)).await;
    }

    /// Waits for room for `count` rows. A list of more rows than may ever be there takes all the room.
    pub(crate) async fn reserve_rows(&self, count: usize) -> Share {
        let mut share = Share::default();
        share.reach(&self.rows, count.min(self.row_count)).await;
        share
    }

    /// Room for `count` rows, if there is any now. A list of more rows than may ever be there takes all the room.
    pub(crate) fn try_reserve_rows(&self, count: usize) -> Option<Share> {
        let count = u32::try_from(count.min(self.row_count)).unwrap_or(u32::MAX);
        Arc::clone(&self.rows).try_acquire_many_owned(count).ok().map(|permit| Share(Some(permit)))
    }
}

impl Share {
    async fn reach(&mut self, semaphore: &Arc<Semaphore>, count: usize) {
        let has = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = u32::try_from(count.saturating_sub(has)).unwrap_or(u32::MAX);
        if missing == 0 {
            return;
        }
        // The semaphores are never closed, so that an error cannot come.
        let Ok(more) = Arc::clone(semaphore).acquire_many_owned(missing).await else { return };
        match &mut self.0 {
            Some(permit) => permit.merge(more),
            None => self.0 = Some(more),
        }
    }
}
