//! Direct replies.

use super::*;

fn consume_replies(bench: &mut Bench, channel: ChannelId, tag: &str, no_ack: bool) -> Result<(), Refusal> {
    let declaration = ConsumerDeclaration {
        queue: b"amq.rabbitmq.reply-to",
        consumer_tag: tag.as_bytes(),
        no_ack,
        is_exclusive: false,
        arguments: &FieldTable::new(),
    };
    bench.host.consume(channel, &declaration, bench.now, &mut bench.said, |_, _| {})
}

#[test]
fn a_reply_goes_to_the_channel_that_asked() {
    let mut bench = Bench::new();
    let channel = bench.open(ALICE);
    let expected = "PRECONDITION_FAILED - fast reply consumer does not exist";
    assert_eq!(refused(bench.host.channels().reply_address(channel)), expected);
    consume_replies(&mut bench, channel, "replies", true).unwrap();
    let address = text(bench.host.channels().reply_address(channel).unwrap());
    assert!(bench.exists(&address) && bench.exists("amq.rabbitmq.reply-to"));
    // The address is no queue.
    assert_eq!(bench.publish(&address, "1"), Published::Unroutable);
    assert_eq!(bench.delivered(), ["replies:1"]);
    bench.cancel(channel, "replies");
    assert!(!bench.exists(&address));
    assert_eq!(bench.publish(&address, "2"), Published::Unroutable);
    assert!(bench.delivered().is_empty());
}

#[test]
fn a_channel_has_one_reply_consumer_without_acknowledgements() {
    let mut bench = Bench::new();
    let channel = bench.open(ALICE);
    let expected = "PRECONDITION_FAILED - reply consumer cannot acknowledge";
    assert_eq!(refused(consume_replies(&mut bench, channel, "a", false)), expected);
    consume_replies(&mut bench, channel, "a", true).unwrap();
    let expected = "PRECONDITION_FAILED - reply consumer already set";
    assert_eq!(refused(consume_replies(&mut bench, channel, "b", true)), expected);
    let expected = "NOT_ALLOWED - attempt to reuse consumer tag 'a'";
    assert_eq!(refused(consume_replies(&mut bench, channel, "a", true)), expected);
}

#[test]
fn a_closed_channel_has_no_address() {
    let mut bench = Bench::new();
    let channel = bench.open(ALICE);
    consume_replies(&mut bench, channel, "a", true).unwrap();
    let address = text(bench.host.channels().reply_address(channel).unwrap());
    bench.close(channel);
    assert!(!bench.exists(&address));
    assert_eq!(bench.publish(&address, "1"), Published::Unroutable);
}
