//! `Poller`: what is registered, under which key.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use hairstreak_base::{Bytes, process};
use hairstreak_transport::Timer;

use super::alarm::{Alarm, Interrupt};
use super::ready::Interest;
use crate::engine::{Engine, Sleep};
use crate::errors::{AddError, ModifyError};
use crate::pattern::Pattern;
use crate::socket::{Handle, Socket};

/// Waits for many sockets, descriptors and times; see the module's description. One thread, or task, at a time
/// waits with it; the sockets may be anybody's.
pub struct Poller {
    /// Sockets, by their engines.
    pub(super) groups: Vec<Group>,
    pub(super) descriptors: Vec<Descriptor>,
    /// Keys and times, the earliest first.
    pub(super) times: Vec<(usize, Instant)>,
    pub(super) alarm: Arc<Alarm>,
    /// What sockets wake the alarm by.
    pub(super) waker: Waker,
    /// Tokens in the alarm's epoll.
    next_token: u64,
    /// The async form's clock, once it has been needed.
    pub(super) timer: Option<Timer>,
    /// The background thread's number for the wait of a task.
    pub(super) awaited: Option<u64>,
    process: u32,
}

/// The sockets of one engine.
pub(super) struct Group {
    pub engine: Arc<Engine>,
    pub members: Vec<Member>,
    /// In the alarm's epoll.
    pub token: u64,
    /// The engine is in the alarm's epoll.
    pub listed: bool,
    /// The present wait leads the engine at this moment: how that goes on.
    pub leading: Option<Sleep>,
    /// The present wait has led the engine, or has left wakers there.
    pub touched: bool,
}

pub(super) struct Member {
    pub key: usize,
    /// The socket, by its place in the engine: what is registered keeps no socket open.
    pub index: usize,
    pub serial: u32,
    pub interest: Interest,
    /// Writable means that the peer of this name has room, not any.
    pub addressee: Option<Bytes>,
    /// Its number among those who wait for the socket.
    pub waiter: u64,
}

pub(super) struct Descriptor {
    pub key: usize,
    pub fd: OwnedFd,
    pub interest: Interest,
    pub token: u64,
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller")
            .field("sockets", &self.groups.iter().map(|group| group.members.len()).sum::<usize>())
            .field("descriptors", &self.descriptors.len())
            .field("times", &self.times.len())
            .finish()
    }
}

impl Poller {
    /// A poller that waits for nothing yet.
    pub fn new() -> io::Result<Poller> {
        let alarm = Alarm::new()?;
        Ok(Poller {
            groups: Vec::new(),
            descriptors: Vec::new(),
            times: Vec::new(),
            waker: Waker::from(Arc::clone(&alarm)),
            alarm,
            next_token: 0,
            timer: None,
            awaited: None,
            process: process::current(),
        })
    }

    /// Waits for a socket too, from the next wait on. That keeps it open no longer than its handles do: one
    /// that is closed is reported as such until it is removed. A socket may have several keys.
    pub fn add<P: Pattern>(
        &mut self,
        socket: &Socket<P>,
        key: usize,
        interest: Interest,
    ) -> Result<(), AddError> {
        self.add_handle(&socket.handle, key, interest)
    }

    pub(crate) fn add_handle(
        &mut self,
        handle: &Handle,
        key: usize,
        interest: Interest,
    ) -> Result<(), AddError> {
        self.check_new(key)?;
        if handle.is_forked() {
            return Err(AddError::Forked);
        }
        let mut state = handle.engine.lock();
        let waiter = state.new_waiter();
        // The handle has kept the socket's place.
        let serial = state.sockets.get(handle.index).map_or(0, |socket| socket.serial);
        drop(state);
        let member = Member { key, index: handle.index, serial, interest, addressee: None, waiter };
        match self.groups.iter_mut().find(|group| Arc::ptr_eq(&group.engine, &handle.engine)) {
            Some(group) => group.members.push(member),
            None => {
                let token = self.new_token();
                let engine = Arc::clone(&handle.engine);
                let members = vec![member];
                self.groups.push(Group {
                    engine,
                    members,
                    token,
                    listed: false,
                    leading: None,
                    touched: false,
                });
            }
        }
        Ok(())
    }

    /// Waits for a descriptor too: a duplicate of it, which is kept until it is removed. Whatever the kernel can
    /// watch: sockets, pipes, terminals, timers, but no regular files.
    pub fn add_descriptor(
        &mut self,
        descriptor: impl AsFd,
        key: usize,
        interest: Interest,
    ) -> Result<(), AddError> {
        self.check_new(key)?;
        let fd = descriptor.as_fd().try_clone_to_owned()?;
        let token = self.new_token();
        let descriptor = Descriptor { key, fd, interest, token };
        descriptor.watch(&self.alarm)?;
        self.descriptors.push(descriptor);
        Ok(())
    }

    /// Waits until `at` at most, and reports that it has come, once. For a time that comes again and again, add
    /// it again.
    pub fn add_time(&mut self, at: Instant, key: usize) -> Result<(), AddError> {
        self.check_new(key)?;
        let place = self.times.partition_point(|(_, other)| *other <= at);
        self.times.insert(place, (key, at));
        Ok(())
    }

    /// Waits for something else of the socket or descriptor from the next wait on.
    pub fn modify(&mut self, key: usize, interest: Interest) -> Result<(), ModifyError> {
        let mut members = self.groups.iter_mut().flat_map(|group| &mut group.members);
        if let Some(member) = members.find(|member| member.key == key) {
            member.interest = interest;
            return Ok(());
        }
        let found = self.descriptors.iter_mut().find(|descriptor| descriptor.key == key);
        let Some(descriptor) = found else { return Err(ModifyError::NoSuchKey(key)) };
        if descriptor.interest != interest {
            self.alarm.own.remove(&descriptor.fd);
            descriptor.interest = interest;
            descriptor.watch(&self.alarm)?;
        }
        Ok(())
    }

    /// Of a ROUTER or STREAM: waits for room for the peer of this name, which a message is for, instead of any.
    pub(crate) fn address(&mut self, key: usize, name: Option<Bytes>) {
        let mut members = self.groups.iter_mut().flat_map(|group| &mut group.members);
        if let Some(member) = members.find(|member| member.key == key) {
            member.addressee = name;
        }
    }

    /// Waits for it no more. Returns whether something had the key.
    pub fn remove(&mut self, key: usize) -> bool {
        let count = self.count();
        for group in &mut self.groups {
            group.members.retain(|member| member.key != key);
            if group.members.is_empty() && group.listed {
                self.alarm.own.remove(&*group.engine);
            }
        }
        self.groups.retain(|group| !group.members.is_empty());
        for descriptor in self.descriptors.iter().filter(|descriptor| descriptor.key == key) {
            self.alarm.own.remove(&descriptor.fd);
        }
        self.descriptors.retain(|descriptor| descriptor.key != key);
        self.times.retain(|(other, _)| *other != key);
        self.count() < count
    }

    /// Ends the present wait, or the next one, from any thread: it returns what there is, perhaps nothing.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::new(Interrupt(Arc::clone(&self.alarm))))
    }

    /// Whether this is a forked child of the process that made the poller.
    pub(crate) fn is_forked(&self) -> bool {
        !process::is_current(self.process)
    }

    fn check_new(&self, key: usize) -> Result<(), AddError> {
        if self.is_forked() {
            return Err(AddError::Forked);
        }
        let mut members = self.groups.iter().flat_map(|group| &group.members);
        let in_use = members.any(|member| member.key == key)
            || self.descriptors.iter().any(|descriptor| descriptor.key == key)
            || self.times.iter().any(|(other, _)| *other == key);
        if in_use { Err(AddError::KeyInUse(key)) } else { Ok(()) }
    }

    fn count(&self) -> usize {
        let sockets: usize = self.groups.iter().map(|group| group.members.len()).sum();
        sockets + self.descriptors.len() + self.times.len()
    }

    pub(super) fn new_token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }
}

impl Descriptor {
    fn watch(&self, alarm: &Alarm) -> io::Result<()> {
        use hairstreak_transport::Interest as Watched;
        let watched = match self.interest {
            Interest { readable: true, writable: true } => Watched::Either,
            Interest { readable: true, .. } => Watched::Readable,
            Interest { writable: true, .. } => Watched::Writable,
            // Errors would be told all the same.
            _ => return Ok(()),
        };
        alarm.own.add(&self.fd, self.token, watched)
    }
}
