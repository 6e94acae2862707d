//! A link whose handshake is over: whether its messages are settled, and what its peer is told first.

use hairstreak_wire::settlement::{SettlementError, SettlementTerms};
use hairstreak_wire::zmtp::RemotePeer;

use crate::engine::Engine;
use crate::engine::link::LinkKind;
use crate::engine::state::State;

impl State {
    /// The link settles, if both want it. Fails if the peer says it so that nobody can tell, or if it has to and does not.
    pub fn agree_on_settlement(&mut self, index: usize, peer: &RemotePeer) -> Result<(), SettlementError> {
        let link = &mut self.links[index];
        let state = &mut self.sockets[link.socket];
        let Some(wanted) = &state.options.settlement else { return Ok(()) };
        let theirs = SettlementTerms::of(&peer.properties)?;
        if let Some(theirs) = theirs
            && let LinkKind::Stream(session) = &mut link.kind
        {
            match state.rules.sends {
                true => {
                    session.settle_sent(theirs);
                    if let Some(backlog) = state.backlog.as_mut().filter(|_| theirs.collects) {
                        backlog.redelivery.feed_collector();
                    }
                    link.only_reports = theirs.credit == 0;
                }
                false => {
                    state.has_seen_end = false;
                    session.settle_received(wanted.credit_count as u64);
                }
            }
            return Ok(());
        }
        if wanted.is_required { Err(SettlementError::NoTerms) } else { Ok(()) }
    }

    /// The link is one of its socket's: the peer is told what all of them are.
    pub fn begin_settling(&mut self, engine: &Engine, index: usize) {
        let socket = self.links[index].socket;
        if let Some(backlog) = &mut self.sockets[socket].backlog {
            backlog.has_told_end = false;
            self.have_done_told(engine, index);
            self.send_waiting_again(engine, socket);
            self.end_sending(engine, index);
        }
        if self.sockets[socket].drains {
            self.drain_link(engine, index);
        }
        self.tell_pace_to(engine, index);
        self.ask_for_done(engine, index);
    }
}
