//! `Deliveries`: takes whole messages out of what a broker sends to a consumer, to digest them.

use super::digest::Digester;
use crate::broker::amqp::{
    AmqpError, BASIC_DELIVER, BODY, CHANNEL_CLOSE, CONNECTION_CLOSE, CONTENT_HEADER, FRAME_HEADER_SIZE,
    HEARTBEAT, METHOD, frame_size, method_name,
};

/// Messages that are being delivered.
#[derive(Debug, Default)]
pub struct Deliveries {
    /// The body so far, and how many bytes it lacks.
    body: Vec<u8>,
    missing: usize,
}

impl Deliveries {
    /// Takes the whole frames of `bytes`, and digests each message that is whole. Returns how many bytes the frames have.
    pub fn take(&mut self, bytes: &[u8], digester: &mut Digester) -> Result<usize, AmqpError> {
        let mut at = 0;
        while let Some(size) = frame_size(&bytes[at..]) {
            let Some(frame) = bytes.get(at..at + size) else { break };
            self.take_frame(frame[0], &frame[FRAME_HEADER_SIZE..size - 1], digester)?;
            at += size;
        }
        Ok(at)
    }

    fn take_frame(&mut self, kind: u8, payload: &[u8], digester: &mut Digester) -> Result<(), AmqpError> {
        match (kind, payload.split_first_chunk()) {
            (HEARTBEAT, _) => Ok(()),
            (METHOD, Some((id, arguments))) => match u32::from_be_bytes(*id) {
                BASIC_DELIVER => Ok(()),
                CONNECTION_CLOSE | CHANNEL_CLOSE => Err(AmqpError::closed(arguments)),
                id => {
                    let expected = "a delivery".to_owned();
                    Err(AmqpError::Unexpected { expected, found: method_name(id) })
                }
            },
            (CONTENT_HEADER, _) => {
                let size = payload.get(4..12).and_then(|bytes| bytes.first_chunk());
                let size = size.ok_or(AmqpError::Malformed("half a content header"))?;
                self.body.clear();
                self.missing = u64::from_be_bytes(*size) as usize;
                Ok(())
            }
            (BODY, _) => {
                let left = self.missing.checked_sub(payload.len());
                self.missing = left.ok_or(AmqpError::Malformed("more of a body than its header says"))?;
                if self.body.is_empty() && self.missing == 0 {
                    digester.add(payload);
                    return Ok(());
                }
                self.body.extend_from_slice(payload);
                if self.missing == 0 {
                    digester.add(&self.body);
                    self.body.clear();
                }
                Ok(())
            }
            _ => Err(AmqpError::Malformed("a frame of no known kind")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::amqp::{Argument, push_body, push_method, push_publish_head};

    const FRAME_SIZE: usize = 100;

    /// A delivery: as a publish, but for its method.
    fn deliver(out: &mut Vec<u8>, body: &[u8]) {
        let mut publish = Vec::new();
        push_publish_head(&mut publish, 1, ("", ""), body.len() as u64);
        let method_size = frame_size(&publish).unwrap();
        push_method(out, 1, BASIC_DELIVER, &[Argument::Short("tag"), Argument::U64(1), Argument::U8(0)]);
        out.extend_from_slice(&publish[method_size..]);
        push_body(out, 1, &body[..8], &body[8..], FRAME_SIZE);
    }

    #[test]
    fn bodies_are_digested_whole_wherever_frames_and_reads_cut_them() {
        let bodies: Vec<Vec<u8>> = [8, 92, 93, 250].map(|size| (0..size).map(|i| i as u8).collect()).into();
        let (mut bytes, mut expected) = (Vec::new(), Digester::new(5));
        for body in &bodies {
            deliver(&mut bytes, body);
            expected.add(body);
        }
        for cut in 0..bytes.len() {
            let (mut deliveries, mut digester) = (Deliveries::default(), Digester::new(5));
            let taken = deliveries.take(&bytes[..cut], &mut digester).unwrap();
            let rest = deliveries.take(&bytes[taken..], &mut digester).unwrap();
            assert_eq!((taken + rest, digester.tally()), (bytes.len(), expected.tally()), "cut at {cut}");
        }
    }

    #[test]
    fn a_close_is_an_error_with_the_brokers_words() {
        let mut bytes = Vec::new();
        push_method(&mut bytes, 1, CHANNEL_CLOSE, &[Argument::U16(404), Argument::Short("NOT_FOUND")]);
        let error = Deliveries::default().take(&bytes, &mut Digester::new(1)).unwrap_err();
        assert_eq!(error.to_string(), "the broker closed: 404 NOT_FOUND");
    }
}
