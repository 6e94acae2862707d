//! Class channel: opening, flow and closing of a channel. Also its modes, the classes confirm and tx.

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
    /// Asks the peer to pause or resume its content.
    Flow = 20, "channel.flow" {
        /// True to resume, false to pause.
        active: bit,
    }
    /// The peer has followed the request.
    FlowOk = 21, "channel.flow-ok" {
        /// True if content is being sent.
        active: bit,
    }
    /// Either side closes the channel.
    Close<'a> = 40, "channel.close" {
        /// Reason as a number.
        reply_code: short,
        /// Reason as a text.
        reply_text: shortstr,
        /// Class of the method that failed; 0: no method failed.
        class_id: short,
        /// The method that failed; 0: no method failed.
        method_id: short,
    }
    /// The channel is closed.
    CloseOk = 41, "channel.close-ok" {}
}

/// Class confirm: RabbitMQ's acknowledgements for publishers.
pub mod confirm {
    class! {
        85;
        /// From now on the server acknowledges messages published on the channel.
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
        /// Commits the held publishes and settlements.
        Commit = 20, "tx.commit" {}
        /// The held publishes and settlements are committed.
        CommitOk = 21, "tx.commit-ok" {}
        /// Drops the held publishes and settlements.
        Rollback = 30, "tx.rollback" {}
        /// The held publishes and settlements are dropped.
        RollbackOk = 31, "tx.rollback-ok" {}
    }
}
