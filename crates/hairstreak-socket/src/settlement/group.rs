//! Groups: several messages of one task in one message.

use hairstreak_base::{Bytes, Message};
use hairstreak_wire::settlement::{Content, SettlementError, encode_group, parse_group};

/// These messages as one, to be sent as a task whose content is [`Content::Group`](super::Content::Group). It has one frame
/// more than they have, of four bytes for each. A message without frames counts as one with an empty frame.
pub fn join_group(messages: &[Message]) -> Message {
    let counts = messages.iter().map(|message| message.frame_count().max(1));
    let first = Bytes::copy_of(&encode_group(counts));
    let empty = [Bytes::default()];
    let frames = messages.iter().flat_map(|message| match message.as_frames() {
        [] => &empty[..],
        frames => frames,
    });
    std::iter::once(&first).chain(frames).cloned().collect()
}

/// The messages of a group, at least one; `None` if it is none.
pub fn split_group(group: &Message) -> Option<Vec<Message>> {
    let (first, mut rest) = group.as_frames().split_first()?;
    let counts = parse_group(first.as_bytes(), rest.len())?;
    let messages = counts.map(|count| {
        let (frames, behind) = rest.split_at(count);
        rest = behind;
        frames.iter().cloned().collect()
    });
    Some(messages.collect())
}

/// Whether message `number` is what it came as.
pub(crate) fn check_content(number: u64, content: Content, message: &Message) -> Result<(), SettlementError> {
    match content {
        Content::Message => Ok(()),
        Content::Nothing if message.size() == 0 => Ok(()),
        Content::Nothing => Err(SettlementError::NotEmpty { number, size: message.size() }),
        Content::Group => check_group(number, message),
    }
}

fn check_group(number: u64, message: &Message) -> Result<(), SettlementError> {
    let (first, frames) = (message.frame(0).unwrap_or_default(), message.frame_count().saturating_sub(1));
    match parse_group(first, frames) {
        Some(_) => Ok(()),
        None => Err(SettlementError::NoGroup { number, size: first.len(), frames }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_of_a_group_as_they_went_in() {
        let messages =
            [Message::from("one"), Message::from_frames([&b"two"[..], b"", b"frames"]), Message::from("")];
        let group = join_group(&messages);
        assert_eq!(group.frame(0), Some(&[0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1][..]));
        assert_eq!(split_group(&group), Some(messages.to_vec()));
        assert_eq!(split_group(&join_group(&messages[..1])), Some(messages[..1].to_vec()));
        assert_eq!(split_group(&messages[1]), None);
        let error = check_group(7, &messages[1]).unwrap_err();
        assert_eq!(error.to_string(), "message 7 is no group: 3 bytes for 2 frames");
    }
}
