//! `Table`: the connections of one loop, by index, and which of them have something to do.
//!
//! Invariants: an index is used again only with another serial. A connection is listed at most once in `ready` and at most
//! once in `touched`.

use std::collections::VecDeque;

use slab::Slab;

use super::mailbox::Address;
use crate::connection::Connection;

/// Serials fit beside an index into a poller's token, with a bit to spare for listeners.
const SERIAL_MASK: u32 = 0x7fff_ffff;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Establishing,
    Open,
    /// This side has closed: the rest of the output is written, and input is discarded.
    Draining,
}

/// A connection and its protocol.
pub(super) struct Entry<P> {
    pub connection: Connection,
    pub protocol: P,
    pub address: Address,
    pub phase: Phase,
    /// The written bytes of the output at the last report to the protocol.
    pub written_told: u64,
    pub is_ready: bool,
    pub is_touched: bool,
    pub is_unrested: bool,
    /// The protocol has left a part of the input for the next turn.
    pub has_yielded: bool,
    /// The protocol waits for a lock.
    pub is_deferred: bool,
}

/// The connections of a loop.
pub(super) struct Table<P> {
    entries: Slab<Box<Entry<P>>>,
    loop_index: u32,
    next_serial: u32,
    /// Connections that have something to read.
    ready: VecDeque<usize>,
    /// Connections whose bytes lived on when they had nothing more to read.
    unrested: Vec<usize>,
    /// Connections that were given to their protocol in this turn.
    touched: VecDeque<usize>,
}

impl<P> Table<P> {
    pub fn new(loop_index: usize) -> Table<P> {
        Table {
            entries: Slab::new(),
            loop_index: loop_index as u32,
            next_serial: 0,
            ready: VecDeque::new(),
            unrested: Vec::new(),
            touched: VecDeque::new(),
        }
    }

    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Adds a connection. Returns its index.
    pub fn add(&mut self, connection: Connection, protocol: P) -> usize {
        let entry = self.entries.vacant_entry();
        let index = entry.key();
        let address = Address { loop_index: self.loop_index, index: index as u32, serial: self.next_serial };
        self.next_serial = (self.next_serial + 1) & SERIAL_MASK;
        let phase = if connection.stream().is_established() { Phase::Open } else { Phase::Establishing };
        entry.insert(Box::new(Entry {
            connection,
            protocol,
            address,
            phase,
            written_told: 0,
            is_ready: false,
            is_touched: false,
            is_unrested: false,
            has_yielded: false,
            is_deferred: false,
        }));
        index
    }

    pub fn get(&self, index: usize) -> Option<&Entry<P>> {
        self.entries.get(index).map(|entry| &**entry)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Entry<P>> {
        self.entries.get_mut(index).map(|entry| &mut **entry)
    }

    /// The index of the connection, if it lives.
    pub fn find(&self, index: u32, serial: u32) -> Option<usize> {
        let index = index as usize;
        self.entries.get(index).filter(|entry| entry.address.serial == serial).map(|_| index)
    }

    pub fn remove(&mut self, index: usize) -> Option<Box<Entry<P>>> {
        self.entries.try_remove(index)
    }

    /// The connection may have something to read.
    pub fn list_ready(&mut self, index: usize) {
        if let Some(entry) = self.entries.get_mut(index)
            && !std::mem::replace(&mut entry.is_ready, true)
        {
            self.ready.push_back(index);
        }
    }

    /// Returns the number of connections that may have input.
    pub fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// The next connection that may have something to read.
    pub fn next_ready(&mut self) -> Option<usize> {
        while let Some(index) = self.ready.pop_front() {
            // One that has ended meanwhile is gone, or another has its index and is listed by itself.
            if let Some(entry) = self.entries.get_mut(index)
                && std::mem::take(&mut entry.is_ready)
            {
                return Some(index);
            }
        }
        None
    }

    /// Lists the connection for the end of the turn.
    pub fn list_touched(&mut self, index: usize) {
        if let Some(entry) = self.entries.get_mut(index)
            && !std::mem::replace(&mut entry.is_touched, true)
        {
            self.touched.push_back(index);
        }
    }

    /// Returns the number of connections on the touched list.
    pub fn touched_count(&self) -> usize {
        self.touched.len()
    }

    /// The next connection to be looked after at the end of the turn.
    pub fn next_touched(&mut self) -> Option<usize> {
        while let Some(index) = self.touched.pop_front() {
            if let Some(entry) = self.entries.get_mut(index)
                && std::mem::take(&mut entry.is_touched)
            {
                return Some(index);
            }
        }
        None
    }

    /// The connection has nothing to read: it gives its memory back, at once or when [`Table::rest_again`] is called.
    pub fn rest(&mut self, index: usize) {
        if let Some(entry) = self.entries.get_mut(index)
            && !entry.connection.rest()
            && !std::mem::replace(&mut entry.is_unrested, true)
        {
            self.unrested.push(index);
        }
    }

    /// Has connections give their memory back whose bytes lived on. Returns whether some still do.
    pub fn rest_again(&mut self) -> bool {
        let entries = &mut self.entries;
        self.unrested.retain(|index| {
            entries.get_mut(*index).is_some_and(|entry| {
                entry.is_unrested &= !entry.connection.rest();
                entry.is_unrested
            })
        });
        !self.unrested.is_empty()
    }

    /// Every index in use.
    pub fn indexes(&self) -> Vec<usize> {
        self.entries.iter().map(|(index, _)| index).collect()
    }
}
