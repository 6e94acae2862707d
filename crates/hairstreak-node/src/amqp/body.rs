//! Incoming bodies: a short one gathers in a vector, a long one in memory of its own that is never copied again.

use std::sync::Arc;

use hairstreak_base::{BlockPool, BodyBuffer, Bytes};
use hairstreak_broker::message::BodyView;

use super::publish::Publish;

/// A body of at least this size has memory of its own and is never copied again.
pub(super) const SHARED_BODY_MIN: usize = 32 * 1024;

/// A message with an incomplete body.
pub(super) struct Assembly {
    pub publish: Publish,
    /// Encoded.
    pub properties: Box<[u8]>,
    /// The size of the body.
    pub size: u64,
    missing: u64,
    body: PartialBody,
}

enum PartialBody {
    Short(Vec<u8>),
    Long(BodyBuffer),
}

/// A body that is here whole.
pub(super) enum WholeBody {
    Short(Vec<u8>),
    Long(Bytes),
}

impl Assembly {
    pub fn new(publish: Publish, properties: &[u8], body_size: u64, pool: &Arc<BlockPool>) -> Assembly {
        let body = match body_size as usize {
            size if size < SHARED_BODY_MIN => PartialBody::Short(Vec::with_capacity(size)),
            size => PartialBody::Long(BodyBuffer::new(size, pool)),
        };
        Assembly { publish, properties: properties.into(), size: body_size, missing: body_size, body }
    }

    /// Bytes of the body that have not come.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Appends more of the body, at most the missing bytes.
    pub fn append(&mut self, bytes: &[u8]) {
        self.missing -= bytes.len() as u64;
        match &mut self.body {
            PartialBody::Short(body) => body.extend_from_slice(bytes),
            PartialBody::Long(body) => body.append(bytes),
        }
    }

    /// At most `size_max` of the bytes that have come, from the byte `at` on.
    pub fn part(&mut self, at: usize, size_max: usize) -> &[u8] {
        let received = match &mut self.body {
            PartialBody::Short(body) => &**body,
            PartialBody::Long(body) => &*body.filled_mut(),
        };
        let part = received.get(at..).unwrap_or_default();
        &part[..part.len().min(size_max)]
    }

    /// The memory of a long body, to be read into.
    pub fn body_to_read(&mut self) -> Option<&mut BodyBuffer> {
        match &mut self.body {
            PartialBody::Short(_) => None,
            PartialBody::Long(body) => Some(body),
        }
    }

    /// `size` bytes were read into [`Assembly::body_to_read`].
    pub fn has_read(&mut self, size: usize) {
        self.missing -= size as u64;
    }

    /// Returns the message, once the body is complete.
    pub fn finish(self) -> (Publish, Box<[u8]>, WholeBody) {
        let body = match self.body {
            PartialBody::Short(body) => WholeBody::Short(body),
            PartialBody::Long(body) => WholeBody::Long(body.finish()),
        };
        (self.publish, self.properties, body)
    }
}

impl WholeBody {
    pub fn view(&self) -> BodyView<'_> {
        match self {
            WholeBody::Short(body) => BodyView::Copied(body),
            WholeBody::Long(body) => BodyView::Shared(body),
        }
    }
}
