//! Class channel: opening, flow and closing of a channel; and its modes, the classes confirm and tx.

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

/// Class confirm: RabbitMQ's acknowledgements for publishers.
pub mod confirm {
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
}

/// Class tx: transactions on a channel.
pub mod tx {
    class! {
        90;
        /// From now on publishes and acknowledgements wait for a commit.
        Select = 10, "tx.select" {}
        /// The channel is in transaction mode.
        SelectOk = 11, "tx.select-ok" {}
        /// Does what waits.
        Commit = 20, "tx.commit" {}
        /// The held publishes and settlements are done.
        CommitOk = 21, "tx.commit-ok" {}
        /// Forgets what waits.
        Rollback = 30, "tx.rollback" {}
        /// The held publishes and settlements are forgotten.
        RollbackOk = 31, "tx.rollback-ok" {}
    }
}
