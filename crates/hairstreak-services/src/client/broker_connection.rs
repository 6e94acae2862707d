//! `BrokerConnection`: a connection to a broker of plain MDP. Its replies carry no number, so a connection has one
//! request in progress at most. A connection with an outstanding reply is not used again.

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
    /// Tells this attempt from others.
    run: u64,
    /// Parts of the reply so far.
    part_count: u32,
    connection: ConnectionId,
}

impl BrokerConnection {
    pub fn new(dealer: Dealer) -> BrokerConnection {
        BrokerConnection { dealer, under_way: None }
    }

    /// Returns the number of the request in progress.
    pub fn number(&self) -> Option<u64> {
        self.under_way.map(|under_way| under_way.number)
    }

    /// Sends a request, if none is in progress and a broker is connected. `run` tells this attempt from others.
    pub fn send(&mut self, number: u64, run: u64, message: Outgoing<'_>) -> Result<(), SendError> {
        if self.under_way.is_some() {
            return Err(SendError::WouldBlock);
        }
        let connection = self.connection_id().ok_or(SendError::WouldBlock)?;
        self.dealer.try_send(message)?;
        self.under_way = Some(UnderWay { number, run, part_count: 0, connection });
        Ok(())
    }

    /// Takes a part of a reply. Returns the number of the request and the place of the part.
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

    /// Returns whether the peer of the request in progress is gone, and the request with it. A request that went to the
    /// next peer at that very moment also counts as lost.
    pub fn has_lost(&self) -> bool {
        self.under_way.is_some_and(|under_way| self.connection_id() != Some(under_way.connection))
    }

    fn connection_id(&self) -> Option<ConnectionId> {
        self.dealer.peers().first().map(|peer| peer.connection)
    }
}
