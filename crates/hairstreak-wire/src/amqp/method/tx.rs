//! Class tx: transactions on a channel.

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
