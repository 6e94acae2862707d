//! Does with a broker what lapin can do: `cargo run -- amqp://127.0.0.1:5672/%2f`. Ends with a panic at the first surprise. With
//! HAIRSTREAK_SOAK set, does all of that many times.

use futures_lite::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicGetOptions, BasicNackOptions, BasicPublishOptions,
    BasicQosOptions, ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties, ExchangeKind, PublisherConfirm};

const MESSAGE_COUNT: u8 = 100;

fn main() {
    let url = std::env::args().nth(1).expect("usage: lapin-interop URL");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let round_count = if std::env::var_os("HAIRSTREAK_SOAK").is_some() { 50 } else { 1 };
    for _ in 0..round_count {
        runtime.block_on(run(&url));
    }
    println!(
        "lapin: {MESSAGE_COUNT} messages confirmed, returned to their places and acknowledged, {round_count} times"
    );
}

async fn run(url: &str) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let queue = declare(&channel).await;
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    for number in 0..MESSAGE_COUNT {
        let confirm = publish(&channel, "a.b", number).await.await.unwrap();
        assert!(confirm.is_ack() && confirm.take_message().is_none());
    }
    // Nobody is bound for this key: the message comes back with its confirm.
    let confirm = publish(&channel, "nobody", 0).await.await.unwrap();
    assert!(confirm.is_ack());
    assert_eq!(confirm.take_message().unwrap().reply_text.as_str(), "NO_ROUTE");

    let first = channel.basic_get(queue.as_str().into(), BasicGetOptions::default()).await.unwrap().unwrap();
    assert_eq!((first.data.as_slice(), first.message_count), (&[0][..], u32::from(MESSAGE_COUNT) - 1));
    first.nack(BasicNackOptions { requeue: true, ..BasicNackOptions::default() }).await.unwrap();

    channel.basic_qos(5, BasicQosOptions::default()).await.unwrap();
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(queue.as_str().into(), "tag".into(), options, FieldTable::default());
    let mut consumer = consumer.await.unwrap();
    for number in 0..MESSAGE_COUNT {
        let delivery = consumer.next().await.unwrap().unwrap();
        assert_eq!((delivery.data.as_slice(), delivery.redelivered), (&[number][..], number == 0));
        delivery.ack(BasicAckOptions::default()).await.unwrap();
    }

    let other = connection.create_channel().await.unwrap();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let missing = other.queue_declare("missing".into(), passive, FieldTable::default()).await.unwrap_err();
    assert!(missing.to_string().contains("NOT_FOUND - no queue 'missing' in vhost '/'"), "{missing}");
    connection.close(200, "bye".into()).await.unwrap();
}

/// A queue behind a topic exchange, both gone with the connection.
async fn declare(channel: &Channel) -> String {
    let auto_delete = ExchangeDeclareOptions { auto_delete: true, ..ExchangeDeclareOptions::default() };
    let declared =
        channel.exchange_declare("lapin".into(), ExchangeKind::Topic, auto_delete, FieldTable::default());
    declared.await.unwrap();
    let exclusive = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
    let queue = channel.queue_declare("".into(), exclusive, FieldTable::default()).await.unwrap();
    let name = queue.name().as_str().to_owned();
    let bound = channel.queue_bind(
        name.as_str().into(),
        "lapin".into(),
        "a.*".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    name
}

async fn publish(channel: &Channel, key: &str, number: u8) -> PublisherConfirm {
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let properties = BasicProperties::default();
    channel.basic_publish("lapin".into(), key.into(), options, &[number], properties).await.unwrap()
}
