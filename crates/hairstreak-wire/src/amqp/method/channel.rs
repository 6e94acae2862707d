//! Class channel: opening, flow and closing of a channel.

class! {
    20;
    /// The client opens a channel.
    Open = 10, "channel.open" {
        _: shortstr,
    }
    /// The channel is open.
    OpenOk = 11, "channel.open-ok" {
        _: longstr,
    }
    /// Asks the peer to pause or to go on with its content.
    Flow = 20, "channel.flow" {
        /// Whether the peer may send content.
        active: bit,
    }
    /// The peer does as it was asked.
    FlowOk = 21, "channel.flow-ok" {
        /// Whether content is sent.
        active: bit,
    }
    /// Either side closes the channel.
    Close<'a> = 40, "channel.close" {
        /// Why, as a number.
        reply_code: short,
        /// Why, as a text.
        reply_text: shortstr,
        /// The class of the method that failed; 0: none did.
        class_id: short,
        /// The method that failed; 0: none did.
        method_id: short,
    }
    /// The channel is closed.
    CloseOk = 41, "channel.close-ok" {}
}
