//! `Body`: the bytes of a request, read when a route asks for them: of a client without credentials nothing is kept.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body as _, Bytes, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::http::bounds::{Bounds, Share};

/// A body of as many bytes that nobody read is read to its end before the connection is used again or closed: a client that is still sending would
/// lose the answer.
const DISCARDED_SIZE_MAX: u64 = 64 * 1024;
/// The time for such a body to come.
const DISCARD_TIME_MAX: Duration = Duration::from_secs(1);
/// For as many bytes a body has a second more.
const BYTES_PER_SECOND: usize = 64 * 1024;

/// The body of a request.
#[derive(Debug)]
pub(crate) struct Body {
    incoming: Incoming,
    timeout: Duration,
    bounds: Bounds,
    /// The room for the bytes, until the request is answered.
    share: Share,
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The body has more bytes than it may.
    TooLarge,
    /// The body came too slowly, or the bodies of other requests took all the room.
    TooSlow,
    /// The connection broke, or a chunk is malformed.
    Broken,
}

impl Body {
    pub(super) fn new(incoming: Incoming, timeout: Duration, bounds: Bounds) -> Body {
        Body { incoming, timeout, bounds, share: Share::default() }
    }

    /// Reads the body to its end. The bytes of a second call are none.
    ///
    /// # Errors
    ///
    /// See [`BodyError`].
    pub(crate) async fn read(&mut self, size_max: usize) -> Result<Vec<u8>, BodyError> {
        if self.incoming.size_hint().lower() > size_max as u64 {
            return Err(BodyError::TooLarge);
        }
        let start = Instant::now() + self.timeout;
        let mut bytes = Vec::new();
        loop {
            let deadline = start + Duration::from_secs((bytes.len() / BYTES_PER_SECOND) as u64);
            let next = timeout_at(deadline, next_data(&mut self.incoming)).await;
            let Some(data) = next.map_err(|_| BodyError::TooSlow)? else { return Ok(bytes) };
            let data = data.map_err(|_| BodyError::Broken)?;
            if bytes.len() + data.len() > size_max {
                return Err(BodyError::TooLarge);
            }
            let room = self.bounds.reserve_body(&mut self.share, bytes.len() + data.len());
            timeout_at(deadline, room).await.map_err(|_| BodyError::TooSlow)?;
            bytes.extend_from_slice(&data);
        }
    }

    /// Reads and drops a small body that no route has read.
    pub(crate) async fn discard(&mut self) {
        let size = self.incoming.size_hint();
        if self.incoming.is_end_stream() || size.upper().is_none_or(|size| size > DISCARDED_SIZE_MAX) {
            return;
        }
        let deadline = Instant::now() + DISCARD_TIME_MAX;
        // The end, an error and the deadline are the same here: nothing more is read.
        while let Ok(Some(Ok(_))) = timeout_at(deadline, next_data(&mut self.incoming)).await {}
    }
}

/// The next bytes; `None`: the end.
async fn next_data(incoming: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *incoming).poll_frame(cx)).await? {
            // Trailers say nothing.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}
