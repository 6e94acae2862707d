//! Class confirm: RabbitMQ's acknowledgements for those who publish.

class! {
    85;
    /// From now on the server acknowledges what is published on the channel.
    Select = 10, "confirm.select" {
        /// No answer.
        no_wait: bit,
    }
    /// The channel is in confirm mode.
    SelectOk = 11, "confirm.select-ok" {}
}
