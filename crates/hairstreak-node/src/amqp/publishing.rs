//! Publishing: from frames to the virtual host.
//!
//! | way | when | what it costs |
//! |---|---|---|
//! | `publish_same` | the frames equal the frames of the channel's last message | two comparisons |
//! | `publish_whole` | all frames of the message are here | the method and, unless known, the properties are decoded |
//! | `take_header`, `append_body` | anything else | the message gathers in memory of its own |

use hairstreak_broker::Refusal;
use hairstreak_broker::message::{Attributes, BodyView, Message};
use hairstreak_broker::vhost::{NamedRoute, Published, PublishedBy};
use hairstreak_wire::amqp::{
    ContentHeader, DecodeError, FRAME_END, FRAME_HEADER_SIZE, FRAME_OVERHEAD, Frame, FrameKind, ReplyCode,
    basic, decode_frame, method_id,
};

use super::body::{Assembly, SHARED_BODY_MIN};
use super::channel::{Channel, Content};
use super::confirms::Confirms;
use super::content;
use super::fault::Fault;
use super::publish::{Outgoing, PublishFields};
use super::run::Run;
use super::session::Session;
use super::transaction::PendingPublish;
use super::turn::Turn;
use crate::node::encoding::push_return;

impl Session {
    /// Publishes messages at the start of `bytes` that are like the last one of the channel that published last. Returns how many
    /// bytes they have.
    pub(super) fn publish_same(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> usize {
        if self.node.is_alarmed() {
            return 0;
        }
        let channel = self.publishing.and_then(|number| self.channels.get_mut(&number));
        let generation = turn.rights.generation();
        let is_usual = |channel: &&mut Box<Channel>| {
            let memo = &channel.memo;
            !channel.is_in_content() && !memo.is_empty() && memo.rights_generation == generation
        };
        let Some(channel) = channel.filter(is_usual) else { return 0 };
        let size_max = self.node.settings.message_size_max().try_into().unwrap_or(usize::MAX);
        let body_size_max = self.tuned.frame_body_max().min(SHARED_BODY_MIN - 1).min(size_max);
        let mut at = 0;
        let mut run = Run::new(channel.confirms.is_some());
        let memo = &channel.memo;
        let without_body = Message {
            exchange: memo.exchange(),
            routing_key: memo.routing_key(),
            properties: memo.properties(),
            attributes: memo.attributes,
            body: BodyView::Copied(&[]),
        };
        while !turn.is_over()
            && let Some(same) = memo.same(&bytes[at..], body_size_max)
        {
            let message = Message { body: BodyView::Copied(same.body), ..without_body };
            let published = turn.publish(&memo.route, &message);
            if published == Published::Stale {
                break;
            }
            run.add(same.body.len(), published, &mut turn.state.received);
            settle(&mut channel.confirms, channel.number, memo.is_mandatory, &message, published, turn);
            at += same.size;
        }
        run.end(channel.id, &memo.route, memo.is_mandatory, turn);
        at
    }

    /// Publishes the message whose basic.publish is in `frame`, at the start of `bytes`, if all its frames are here. Returns
    /// their size in bytes.
    pub(super) fn publish_whole(
        &mut self,
        frame: &Frame<'_>,
        bytes: &[u8],
        turn: &mut Turn<'_>,
    ) -> Option<(usize, Result<(), Fault>)> {
        if method_id(frame.payload) != Some(basic::Publish::ID) {
            return None;
        }
        let publish_size = frame.size();
        let header = decode_frame(&bytes[publish_size..], self.tuned.frame_size_max).ok()??;
        if header.kind != FrameKind::Header || header.channel != frame.channel {
            return None;
        }
        let content = ContentHeader::decode(header.payload).ok()?;
        if content.body_size > self.node.settings.message_size_max() {
            return None;
        }
        let head_size = publish_size + header.size();
        let (body, body_frame_size) =
            whole_body(&bytes[head_size..], frame.channel, content.body_size, self.tuned.frame_body_max())?;
        self.publishes_on(frame.channel, turn);
        let channel = self.channels.get_mut(&frame.channel)?;
        let is_usual = !channel.is_in_content() && channel.transaction.is_none();
        if content.class != basic::Publish::ID.0 || !is_usual {
            return None;
        }
        let method = basic::Publish::decode(&frame.payload[4..]).ok()?;
        let fields = PublishFields::of(&method);
        let outgoing = Outgoing { fields, properties: content.properties, body: BodyView::Copied(body) };
        let generation = turn.rights.generation();
        let is_known = channel.memo.has_properties(content.properties);
        let result = publish(channel, is_known, &outgoing, turn);
        if let Ok((Some(attributes), _)) = &result {
            let (publish_frame, header_frame) = bytes[..head_size].split_at(publish_size);
            channel.memo.remember(publish_frame, &fields, header_frame, content.properties, *attributes);
            channel.memo.rights_generation = generation;
        }
        let result = result.map(|_| ()).map_err(|refusal| Fault::in_method(refusal, basic::Publish::ID));
        Some((head_size + body_frame_size, result))
    }

    /// A content header came.
    pub(super) fn take_header(
        &mut self,
        number: u16,
        payload: &[u8],
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        let id = basic::Publish::ID;
        if self.closing_channels.contains(&number) {
            return Ok(());
        }
        let Some(channel) = self.channels.get_mut(&number) else { return Err(out_of_turn(&Content::None)) };
        let Content::Header(_) = &channel.content else { return Err(out_of_turn(&channel.content)) };
        let content = ContentHeader::decode(payload).map_err(|error| match error {
            DecodeError::Weight { .. } => out_of_turn(&channel.content),
            error => Fault::of_payload(&error, id, payload),
        })?;
        let Content::Header(publish) = std::mem::replace(&mut channel.content, Content::None) else {
            return Ok(());
        };
        if content.class != id.0 {
            let text = format!(
                "expected content header for class {}, got one for class {} instead",
                id.0, content.class
            );
            return Err(Fault::new(ReplyCode::UnexpectedFrame, text, id));
        }
        let size_max = self.node.settings.message_size_max();
        let begun = content::check_size(content.body_size, size_max)
            .and_then(|()| self.throttle.begin_partial(content.body_size, size_max));
        begun.map_err(|refusal| Fault::in_method(refusal, id))?;
        // A header is short, and takes the room even if none is left. The next message finds less.
        if self.node.is_alarmed() {
            self.alarm_quota.has_room(payload.len());
        }
        let assembly = Assembly::new(publish, content.properties, content.body_size, turn.pool);
        channel.content = Content::Body(Box::new(assembly));
        self.finish_body(number, turn)
    }

    /// A body frame came that its channel does not await, or with more than is missing of its body.
    pub(super) fn refuse_body(&mut self, number: u16) -> Result<(), Fault> {
        if self.closing_channels.contains(&number) {
            return Ok(());
        }
        Err(out_of_turn(self.channels.get(&number).map_or(&Content::None, |channel| &channel.content)))
    }

    /// Appends part of a body, at most the missing bytes. `has_ended`: its frame is over.
    pub(super) fn append_body(
        &mut self,
        number: u16,
        bytes: &[u8],
        has_ended: bool,
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        let Some(channel) = self.channels.get_mut(&number) else { return Err(out_of_turn(&Content::None)) };
        let Content::Body(assembly) = &mut channel.content else {
            return Err(out_of_turn(&channel.content));
        };
        assembly.append(bytes);
        self.throttle.receive_partial(bytes.len());
        if has_ended { self.finish_body(number, turn) } else { Ok(()) }
    }

    /// Publishes the channel's message if nothing of its body is missing.
    fn finish_body(&mut self, number: u16, turn: &mut Turn<'_>) -> Result<(), Fault> {
        self.publishes_on(number, turn);
        let Some(channel) = self.channels.get_mut(&number) else { return Ok(()) };
        let Content::Body(assembly) = &channel.content else { return Ok(()) };
        if assembly.missing() > 0 {
            return Ok(());
        }
        let Content::Body(assembly) = std::mem::replace(&mut channel.content, Content::None) else {
            return Ok(());
        };
        self.throttle.end_partial(assembly.size, assembly.size);
        let (publish_head, properties, body) = assembly.finish();
        let in_method = |refusal| Fault::in_method(refusal, basic::Publish::ID);
        let outgoing = Outgoing { fields: publish_head.fields(), properties: &properties, body: body.view() };
        if channel.transaction.is_none() {
            return publish(channel, false, &outgoing, turn).map(|_| ()).map_err(in_method);
        }
        let (properties, attributes, route) = prepare(channel, &outgoing, turn).map_err(in_method)?;
        let pending = PendingPublish { publish: publish_head, properties, attributes, body, route };
        let size = channel.transaction.as_mut().map_or(0, |transaction| transaction.add_publish(pending));
        self.throttle.hold(size).map_err(in_method)
    }

    /// Makes this the publishing channel. The confirms of the previous one are sent, so that the end of a turn checks only one
    /// channel.
    pub(super) fn publishes_on(&mut self, number: u16, turn: &mut Turn<'_>) {
        if let Some(before) = self.publishing.replace(number)
            && before != number
        {
            self.tell_confirms(before, turn);
        }
    }

    /// Returns or confirms a message that took more than one call and is in all its queues.
    pub(super) fn settle_slow(&mut self, turn: &mut Turn<'_>) {
        if let Some(number) = self.publishing
            && let Some(channel) = self.channels.get_mut(&number)
            && let Some(outcome) = turn.state.host.channels_mut().take_outcome(channel.id)
        {
            let published = outcome.published;
            settle(
                &mut channel.confirms,
                number,
                outcome.is_mandatory,
                &outcome.message.message(),
                published,
                turn,
            );
            if let Some(committing) = &mut self.committing {
                committing.is_complete &= published != Published::Refused;
                committing.durability = committing.durability.max(published.durability());
            }
        }
    }
}

/// Publishes a message that differs from the last one. `is_known`: its properties equal those of the memo. Returns its attributes
/// if a later message with the same frames has the same meaning, and the outcome. A message with a long route goes on in later
/// turns, and the outcome comes at the end.
pub(super) fn publish(
    channel: &mut Channel,
    is_known: bool,
    outgoing: &Outgoing<'_>,
    turn: &mut Turn<'_>,
) -> Result<(Option<Attributes>, Option<Published>), Refusal> {
    let fields = &outgoing.fields;
    receive(channel, outgoing, turn)?;
    let known = is_known.then_some(channel.memo.attributes);
    channel.memo.forget();
    let content = content::examine(channel.id, outgoing, known, &mut channel.memo.route, turn)?;
    let message = Message {
        exchange: fields.exchange,
        routing_key: fields.routing_key,
        properties: content.properties(outgoing.properties),
        attributes: content.attributes,
        body: outgoing.body,
    };
    if channel.memo.route.is_long() {
        let by = PublishedBy { channel: channel.id, is_mandatory: fields.is_mandatory };
        turn.publish_slowly(by, &mut channel.memo.route, &message);
        return Ok((None, None));
    }
    let route = &channel.memo.route;
    let published = turn.publish(route, &message);
    turn.note_published(channel.id, route, published, fields.is_mandatory);
    let is_repeatable = content.is_repeatable && turn.state.host.holds(route);
    settle(&mut channel.confirms, channel.number, fields.is_mandatory, &message, published, turn);
    Ok((is_repeatable.then_some(content.attributes), Some(published)))
}

/// Examines and routes a message of a transaction. Returns its properties as they are stored, its attributes and its route.
fn prepare(
    channel: &mut Channel,
    outgoing: &Outgoing<'_>,
    turn: &mut Turn<'_>,
) -> Result<(Box<[u8]>, Attributes, NamedRoute), Refusal> {
    receive(channel, outgoing, turn)?;
    let route = &mut channel.memo.route;
    let content = content::examine(channel.id, outgoing, None, route, turn)?;
    let route = turn.state.host.name_route(route);
    Ok((content.properties(outgoing.properties).into(), content.attributes, route))
}

/// Publishes a message of a transaction. The outcome of a message with a long route comes later.
pub(super) fn publish_pending(
    channel: &mut Channel,
    pending: &mut PendingPublish,
    turn: &mut Turn<'_>,
) -> Published {
    let route = &mut channel.memo.route;
    turn.state.host.resolve_names(&mut pending.route, route);
    let message = pending.message();
    if route.is_long() {
        let is_mandatory = pending.publish.fields().is_mandatory;
        turn.publish_slowly(PublishedBy { channel: channel.id, is_mandatory }, route, &message);
        return Published::Routed;
    }
    let published = turn.publish(route, &message);
    let is_mandatory = pending.publish.fields().is_mandatory;
    turn.note_published(channel.id, route, published, is_mandatory);
    settle(&mut channel.confirms, channel.number, is_mandatory, &message, published, turn);
    published
}

/// Counts a received message. The later outcome does not change the count, as in RabbitMQ.
fn receive(channel: &mut Channel, outgoing: &Outgoing<'_>, turn: &mut Turn<'_>) -> Result<(), Refusal> {
    if outgoing.fields.is_immediate {
        return Err(Refusal::new(ReplyCode::NotImplemented, "immediate=true"));
    }
    channel.publisher.get_or_insert_with(|| turn.publishers.add());
    turn.state.received.note(1, outgoing.body.as_bytes().len() as u64, channel.is_confirming());
    Ok(())
}

/// Gives an unroutable message back, and notes the confirm. The return comes before the confirm.
#[inline]
fn settle(
    confirms: &mut Option<Confirms>,
    number: u16,
    is_mandatory: bool,
    message: &Message<'_>,
    published: Published,
    turn: &mut Turn<'_>,
) {
    if is_mandatory && published == Published::Unroutable {
        let code = ReplyCode::NoRoute;
        push_return(turn.output, number, code.number(), code.name(), &message.view(), turn.frame_body_max);
    }
    if let Some(confirms) = confirms {
        confirms.settle(published);
    }
}

/// Returns the body of `size` bytes, if it is one frame of `channel` at the start of `bytes`, and the size of that frame. Larger
/// bodies than `size_max` take another path.
fn whole_body(bytes: &[u8], channel: u16, size: u64, size_max: usize) -> Option<(&[u8], usize)> {
    if size == 0 {
        return Some((&[], 0));
    }
    if size >= SHARED_BODY_MIN as u64 || size > size_max as u64 {
        return None;
    }
    let size = size as usize;
    let (&[kind, c0, c1, s0, s1, s2, s3], rest) = bytes.split_first_chunk::<FRAME_HEADER_SIZE>()?;
    let is_whole = kind == FrameKind::Body as u8
        && u16::from_be_bytes([c0, c1]) == channel
        && u32::from_be_bytes([s0, s1, s2, s3]) as usize == size
        && *rest.get(size)? == FRAME_END;
    is_whole.then(|| (&rest[..size], FRAME_OVERHEAD + size))
}

/// There is no such channel.
pub(super) fn no_channel() -> Fault {
    Fault::new(ReplyCode::ChannelError, "expected 'channel.open'", (0, 0))
}

/// Returns the fault of a frame that is not allowed while `content` is incomplete.
pub(super) fn out_of_turn(content: &Content) -> Fault {
    let (text, method) = match content {
        Content::None => ("expected method frame, got non method frame instead", (0, 0)),
        Content::Header(_) => {
            ("expected content header for class 60, got non content header frame instead", basic::Publish::ID)
        }
        Content::Body(_) => ("expected content body, got non content body frame instead", basic::Publish::ID),
    };
    Fault::new(ReplyCode::UnexpectedFrame, text, method)
}
