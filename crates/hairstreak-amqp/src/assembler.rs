//! `Assembler`: events out of frames. A message is a method, a header and as much body as the header announces.

use hairstreak_wire::amqp::{ContentHeader, Frame, FrameKind, Method};

use super::error::ClientError;
use super::event::{Content, Event, Reply, reason, text};

/// The room that is made for a body before it comes.
const BODY_ROOM_MAX: u64 = 1 << 20;

/// The received part of a message, if a message is under way.
#[derive(Debug, Default)]
pub struct Assembler {
    message: Option<Incoming>,
}

#[derive(Debug)]
struct Incoming {
    /// A delivery or a return; its content grows.
    event: Event,
    /// The missing bytes of the body; None: the header is missing, too.
    missing: Option<u64>,
}

impl Assembler {
    /// Takes the next frame; gives the event that it completes.
    pub fn take(&mut self, frame: &Frame<'_>) -> Result<Option<Event>, ClientError> {
        match frame.kind {
            FrameKind::Heartbeat => return Ok(None),
            FrameKind::Method => return self.take_method(frame.payload),
            FrameKind::Header => self.take_header(frame.payload)?,
            FrameKind::Body => self.take_body(frame.payload)?,
        }
        let is_whole = self.message.as_ref().is_some_and(|incoming| incoming.missing == Some(0));
        Ok(if is_whole { self.message.take().map(|incoming| incoming.event) } else { None })
    }

    fn take_header(&mut self, payload: &[u8]) -> Result<(), ClientError> {
        let header = ContentHeader::decode(payload)?;
        let Some(Incoming { event, missing: missing @ None }) = &mut self.message else {
            return Err(ClientError::Unexpected("a content header"));
        };
        usize::try_from(header.body_size).map_err(|_| ClientError::TooLarge(header.body_size))?;
        *missing = Some(header.body_size);
        if let Some(content) = content(event) {
            content.properties = header.properties.to_vec();
            content.body.reserve(header.body_size.min(BODY_ROOM_MAX) as usize);
        }
        Ok(())
    }

    fn take_body(&mut self, payload: &[u8]) -> Result<(), ClientError> {
        let unexpected = ClientError::Unexpected("a body");
        let Some(Incoming { event, missing: Some(missing) }) = &mut self.message else {
            return Err(unexpected);
        };
        *missing = missing.checked_sub(payload.len() as u64).ok_or(unexpected)?;
        if let Some(content) = content(event) {
            content.body.extend_from_slice(payload);
        }
        Ok(())
    }

    fn take_method(&mut self, payload: &[u8]) -> Result<Option<Event>, ClientError> {
        let method = Method::decode(payload)?;
        let event = match method {
            Method::BasicDeliver(deliver) => Event::Delivery {
                delivery_tag: deliver.delivery_tag,
                is_redelivered: deliver.redelivered,
                content: named(deliver.exchange, deliver.routing_key),
            },
            Method::BasicReturn(returned) => Event::Returned {
                reply_text: reason(returned.reply_code, returned.reply_text),
                content: named(returned.exchange, returned.routing_key),
            },
            Method::BasicAck(ack) => Event::Ack { delivery_tag: ack.delivery_tag, multiple: ack.multiple },
            Method::BasicNack(nack) => {
                Event::Nack { delivery_tag: nack.delivery_tag, multiple: nack.multiple }
            }
            Method::BasicCancel(_) => Event::Cancelled,
            Method::ConnectionBlocked(blocked) => Event::Blocked(text(blocked.reason)),
            Method::ConnectionUnblocked(_) => Event::Unblocked,
            Method::ChannelClose(close) => Event::ChannelClosed(reason(close.reply_code, close.reply_text)),
            Method::ConnectionClose(close) => {
                Event::ConnectionClosed(reason(close.reply_code, close.reply_text))
            }
            _ => Event::Reply(Reply(payload.to_vec())),
        };
        // A close may arrive in the middle of a message. That message is never completed.
        let is_close = matches!(event, Event::ChannelClosed(_) | Event::ConnectionClosed(_));
        if self.message.take().is_some() && !is_close {
            return Err(ClientError::Unexpected("a method within a message"));
        }
        match event {
            Event::Delivery { .. } | Event::Returned { .. } => {
                self.message = Some(Incoming { event, missing: None });
                Ok(None)
            }
            event => Ok(Some(event)),
        }
    }
}

fn named(exchange: &[u8], routing_key: &[u8]) -> Content {
    Content { exchange: exchange.into(), routing_key: routing_key.into(), ..Content::default() }
}

fn content(event: &mut Event) -> Option<&mut Content> {
    match event {
        Event::Delivery { content, .. } | Event::Returned { content, .. } => Some(content),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hairstreak_wire::amqp::{
        FRAME_SIZE_MIN, basic, channel, decode_frame, encode_body, encode_content_header,
    };

    use super::*;

    /// The events of these frames.
    fn events(mut bytes: &[u8]) -> Result<Vec<Event>, ClientError> {
        let mut assembler = Assembler::default();
        let mut events = Vec::new();
        while let Some(frame) = decode_frame(bytes, FRAME_SIZE_MIN)? {
            events.extend(assembler.take(&frame)?);
            bytes = &bytes[frame.size()..];
        }
        Ok(events)
    }

    fn deliver(body: &[u8]) -> Vec<u8> {
        let mut frames = Vec::new();
        let deliver =
            basic::Deliver { delivery_tag: 7, exchange: b"x", routing_key: b"k", ..Default::default() };
        deliver.encode(1, &mut frames);
        encode_content_header(1, body.len() as u64, &[0, 0], &mut frames);
        encode_body(1, body, FRAME_SIZE_MIN, &mut frames);
        frames
    }

    #[test]
    fn a_message_is_there_when_its_body_is() {
        for size in [0, 1, FRAME_SIZE_MIN * 3] {
            let body = vec![b'a'; size];
            let content =
                Content { exchange: "x".into(), routing_key: "k".into(), properties: vec![0, 0], body };
            let expected = Event::Delivery { delivery_tag: 7, is_redelivered: false, content };
            assert_eq!(events(&deliver(&vec![b'a'; size])).unwrap(), [expected]);
        }
    }

    #[test]
    fn frames_out_of_order_are_refused() {
        let whole = deliver(b"body");
        let header_at = decode_frame(&whole, FRAME_SIZE_MIN).unwrap().unwrap().size();
        assert!(matches!(events(&whole[header_at..]), Err(ClientError::Unexpected("a content header"))));
        let mut ack_within = whole[..header_at].to_vec();
        basic::Ack { delivery_tag: 1, multiple: false }.encode(1, &mut ack_within);
        assert!(matches!(events(&ack_within), Err(ClientError::Unexpected(_))));
        let mut too_much = whole;
        encode_body(1, b"more", FRAME_SIZE_MIN, &mut too_much);
        assert!(matches!(events(&too_much), Err(ClientError::Unexpected("a body"))));
    }

    #[test]
    fn a_close_may_come_within_a_message() {
        let whole = deliver(b"body");
        let mut cut = whole[..decode_frame(&whole, FRAME_SIZE_MIN).unwrap().unwrap().size()].to_vec();
        let close = channel::Close { reply_code: 404, reply_text: b"NOT_FOUND - no", ..Default::default() };
        close.encode(1, &mut cut);
        assert_eq!(events(&cut).unwrap(), [Event::ChannelClosed("NOT_FOUND - no".into())]);
    }
}
