//! `BrokerConnection`: a connection to a broker of plain MDP. Its replies carry no number, so each connection has one request under way at most,
//! and one whose reply may come still is not used again.

use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::{Dealer, Outgoing, SendError};
use hairstreak_wire::hsn1::PartPlace;

#[derive(Debug)]
pub(super) struct BrokerConnection {
    pub dealer: Dealer,
    under_way: Option<UnderWay>,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    number: u64,
    /// Tells this asking from others.
    run: u64,
    /// Parts of its reply so far.
    part_count: u32,
    connection: ConnectionId,
}

impl BrokerConnection {
    pub fn new(dealer: Dealer) -> BrokerConnection {
        BrokerConnection { dealer, under_way: None }
    }

    /// The request that is under way.
    pub fn number(&self) -> Option<u64> {
        self.under_way.map(|under_way| under_way.number)
    }

    /// Sends a request, if none is under way and there is a broker. `run` tells this asking from others.
    pub fn send(&mut self, number: u64, run: u64, message: Outgoing<'_>) -> Result<(), SendError> {
        if self.under_way.is_some() {
            return Err(SendError::WouldBlock);
        }
        let connection = self.connection_id().ok_or(SendError::WouldBlock)?;
        self.dealer.try_send(message)?;
        self.under_way = Some(UnderWay { number, run, part_count: 0, connection });
        Ok(())
    }

    /// A part of a reply has come. Returns whose it is, and its place.
    pub fn take(&mut self, is_final: bool) -> Option<(u64, PartPlace)> {
        let under_way = self.under_way.as_mut()?;
        let place = PartPlace { run: under_way.run, index: under_way.part_count, is_final };
        let part = (under_way.number, place);
        under_way.part_count = under_way.part_count.saturating_add(1);
        if is_final {
            self.under_way = None;
        }
        Some(part)
    }

    /// Whether the request that is under way went to somebody who is there no more, and has forgotten all. A request that went to
    /// the next one instead, just then, counts as lost, too.
    pub fn has_lost(&self) -> bool {
        self.under_way.is_some_and(|under_way| self.connection_id() != Some(under_way.connection))
    }

    fn connection_id(&self) -> Option<ConnectionId> {
        self.dealer.peers().first().map(|peer| peer.connection)
    }
}
