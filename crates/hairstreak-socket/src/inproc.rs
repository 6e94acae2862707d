//! inproc: names within the process, and the ring pairs that join sockets by them.
//!
//! A connector whose name nobody has bound yet waits in the registry. Nobody comes here holding an
//! engine's lock, and two sockets are joined with the registry's lock released.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use hairstreak_base::BlockPool;
use hairstreak_base::process::PerProcess;
use hairstreak_base::ring::ring;
use hairstreak_transport::{Endpoint, Stream};
use hairstreak_wire::zmtp::{PeerError, RemotePeer, SocketType};

use crate::engine::{Across, ConnectorState, Engine, Guard, Link, LinkKind, Origin, State};
use crate::errors::BindError;
use crate::monitor::{EventKind, HandshakeFailure};
use crate::options::low_mark;
use crate::pattern::{Incoming, rules};
use crate::ring_link::{Marks, RingLink};

/// Slots of one ring at most, whatever the marks say.
const RING_COUNT_MAX: usize = 1 << 16;

#[derive(Default)]
struct Name {
    bound: Option<Bound>,
    waiting: Vec<Waiting>,
}

/// The socket that bound a name. Its index may be another's once it is closed; its serial is not.
struct Bound {
    engine: Weak<Engine>,
    socket: usize,
    serial: u32,
}

/// The same, with its engine kept.
struct Binder {
    engine: Arc<Engine>,
    socket: usize,
    serial: u32,
}

struct Waiting {
    engine: Weak<Engine>,
    connector: usize,
    serial: u32,
}

impl Bound {
    fn upgrade(&self) -> Option<Binder> {
        Some(Binder { engine: self.engine.upgrade()?, socket: self.socket, serial: self.serial })
    }
}

impl Binder {
    /// Its engine's state, unless it is closed.
    fn lock(&self) -> Option<Guard<'_>> {
        let state = self.engine.lock();
        state.is_open(self.socket, self.serial).then_some(state)
    }
}

type Registry = HashMap<String, Name>;

fn registry() -> MutexGuard<'static, Registry> {
    static NAMES: PerProcess<Mutex<Registry>> = PerProcess::new();
    NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Binds the name and joins all who waited for it.
pub(crate) fn bind(engine: &Arc<Engine>, socket: usize, name: &str) -> Result<Endpoint, BindError> {
    let endpoint = Endpoint::Inproc(name.to_owned());
    let mut names = registry();
    let serial = match engine.lock().sockets.get(socket) {
        Some(socket) if !socket.closing => socket.serial,
        _ => return Err(BindError::Closed),
    };
    let entry = names.entry(name.to_owned()).or_default();
    if entry.bound.is_some() {
        return Err(BindError::InUse(endpoint.to_string()));
    }
    entry.bound = Some(Bound { engine: Arc::downgrade(engine), socket, serial });
    let waiting = std::mem::take(&mut entry.waiting);
    // Joining runs wakers of tasks that wait: the application's code, which may come back here.
    drop(names);
    let binder = Binder { engine: Arc::clone(engine), socket, serial };
    for waiting in waiting {
        if let Some(connecting) = waiting.engine.upgrade() {
            join(&connecting, waiting.connector, waiting.serial, &binder, name);
        }
    }
    Ok(endpoint)
}

/// Takes the name back. Returns whether the socket had it.
pub(crate) fn unbind(engine: &Arc<Engine>, socket: usize, name: &str) -> bool {
    let mut names = registry();
    let Some(entry) = names.get_mut(name) else { return false };
    if !is_bound_by(entry, engine, socket) {
        return false;
    }
    entry.bound = None;
    if entry.waiting.is_empty() {
        names.remove(name);
    }
    true
}

/// Takes back every name the socket has, and returns them.
pub(crate) fn unbind_all(engine: &Arc<Engine>, socket: usize) -> Vec<Endpoint> {
    let mut unbound = Vec::new();
    registry().retain(|name, entry| {
        if is_bound_by(entry, engine, socket) {
            entry.bound = None;
            unbound.push(Endpoint::Inproc(name.clone()));
        }
        entry.waiting.retain(|waiting| waiting.engine.strong_count() > 0);
        entry.bound.is_some() || !entry.waiting.is_empty()
    });
    unbound
}

fn is_bound_by(entry: &Name, engine: &Arc<Engine>, socket: usize) -> bool {
    let is_it =
        |bound: &Bound| bound.socket == socket && std::ptr::eq(bound.engine.as_ptr(), Arc::as_ptr(engine));
    entry.bound.as_ref().is_some_and(is_it)
}

/// Joins the connector to its name's socket, or has it wait for one.
pub(crate) fn connect(engine: &Arc<Engine>, connector: usize, serial: u32) {
    let mut names = registry();
    let name = {
        let state = engine.lock();
        match state.connectors.get(connector) {
            Some(found) if found.serial == serial => match &found.endpoint {
                Endpoint::Inproc(name) => name.clone(),
                _ => return,
            },
            _ => return,
        }
    };
    let entry = names.entry(name.clone()).or_default();
    match entry.bound.as_ref().and_then(Bound::upgrade) {
        Some(binder) => {
            drop(names);
            join(engine, connector, serial, &binder, &name);
        }
        None => entry.waiting.push(Waiting { engine: Arc::downgrade(engine), connector, serial }),
    }
}

/// What one side has to know of the other.
struct Side {
    socket_type: SocketType,
    routing_id: Vec<u8>,
    properties: Vec<(String, Vec<u8>)>,
    marks: Marks,
    pool: Arc<BlockPool>,
    /// It wants settlement.
    settles: bool,
}

fn side(state: &State, socket: usize) -> Option<Side> {
    let socket = state.sockets.get(socket).filter(|socket| !socket.closed)?;
    let options = &socket.options;
    let count_max = options.send_count_max.clamp(1, RING_COUNT_MAX);
    Some(Side {
        socket_type: socket.socket_type,
        routing_id: options.routing_id.clone().unwrap_or_default(),
        properties: options.properties.clone(),
        marks: Marks {
            count_max,
            count_low: low_mark(options.send_count_low, count_max),
            bytes_max: options.send_bytes_max.max(1),
            bytes_low: low_mark(options.send_bytes_low, options.send_bytes_max),
        },
        pool: Arc::clone(&state.memory.pool),
        settles: socket.options.settlement.is_some(),
    })
}

fn join(from: &Arc<Engine>, connector: usize, serial: u32, to: &Binder, name: &str) {
    let connecting = {
        let state = from.lock();
        let found = state.connectors.get(connector).filter(|found| found.serial == serial);
        found.and_then(|found| Some((found.socket, side(&state, found.socket)?)))
    };
    let Some((from_socket, a)) = connecting else { return };
    let Some(b) = to.lock().and_then(|state| side(&state, to.socket)) else {
        // It closed meanwhile, its name taken back before: the connector asks who has the name now.
        return connect(from, connector, serial);
    };
    if !a.socket_type.compatible(b.socket_type) {
        let reason =
            PeerError::IncompatibleSocketType { ours: a.socket_type, theirs: b.socket_type }.to_string();
        let failure = HandshakeFailure::SocketType;
        let mut state = from.lock();
        // The connector goes with its socket, which may have been closed meanwhile.
        if state.connectors.get(connector).is_none_or(|found| found.serial != serial) {
            return;
        }
        state.sockets[from_socket].failed_connections += 1;
        return state.tell_of_connector(connector, || EventKind::HandshakeFailed { failure, reason });
    }
    let (a_rules, b_rules) = (rules(a.socket_type), rules(b.socket_type));
    let is_wanted = to.lock().is_some_and(|mut state| state.wants_another(to.socket));
    if !is_wanted || !from.lock().wants_another(from_socket) {
        return ask_again(from, connector, serial);
    }
    if a.settles && b.settles {
        return join_by_stream(from, connector, serial, to, name);
    }
    let (a_out, b_in) = a_rules.sends.then(|| ring(a.marks.count_max)).unzip();
    let (b_out, a_in) = b_rules.sends.then(|| ring(b.marks.count_max)).unzip();
    let a_ring = RingLink::new(a_out, a_in, Arc::clone(&to.engine.doorbell), a.marks, b.marks, &a.pool);
    let b_ring = RingLink::new(b_out, b_in, Arc::clone(&from.doorbell), b.marks, a.marks, &b.pool);
    let a_end = End { engine: from, socket: from_socket, name, joined: Joined::Connector(connector, serial) };
    let b_end = End { engine: &to.engine, socket: to.socket, name, joined: Joined::Name(to.serial) };
    // The publisher first: a subscriber tells it everything at once.
    if matches!(a_rules.incoming, Incoming::AtOnce(_)) {
        let across = a_end.add_ring(a_ring, &b, None);
        b_end.add_ring(b_ring, &a, across);
    } else if let Some(across) = b_end.add_ring(b_ring, &a, None) {
        a_end.add_ring(a_ring, &b, Some(across));
    } else {
        ask_again(from, connector, serial);
    }
}

/// Ends that settle have a session, as any others: what they retain and tell is its business. Its bytes go through
/// shared memory where there is any.
fn join_by_stream(from: &Arc<Engine>, connector: usize, serial: u32, to: &Binder, name: &str) {
    let Ok((ours, theirs)) = Stream::pair() else { return ask_again(from, connector, serial) };
    let endpoint = Endpoint::Inproc(name.to_owned());
    let taken = to.lock().is_some_and(|mut state| {
        state.now = Instant::now();
        let endpoint = endpoint.clone();
        let taken = state.add_stream(&to.engine, to.socket, Origin::Listener, endpoint, theirs);
        state.look_after(&to.engine);
        taken
    });
    if !taken {
        return ask_again(from, connector, serial);
    }
    let mut state = from.lock();
    let Some(found) = state.connectors.get_mut(connector).filter(|found| found.serial == serial) else {
        return;
    };
    found.state = ConnectorState::Linked;
    let socket = found.socket;
    state.now = Instant::now();
    if !state.add_stream(from, socket, Origin::Connector(connector), endpoint, ours) {
        state.join_again(connector, serial);
    }
    state.look_after(from);
}

/// The name's socket does not want this peer now: perhaps later.
fn ask_again(from: &Arc<Engine>, connector: usize, serial: u32) {
    let mut state = from.lock();
    state.join_again(connector, serial);
    state.look_after(from);
}

/// One end of a connection in the making.
struct End<'a> {
    engine: &'a Arc<Engine>,
    socket: usize,
    name: &'a str,
    joined: Joined,
}

/// How an end came to be joined.
enum Joined {
    /// By its connector (index, serial).
    Connector(usize, u32),
    /// By the name that it bound, being the socket of that serial.
    Name(u32),
}

impl End<'_> {
    /// Returns the new link, unless the socket does not want it any more. The ring closes then, and the
    /// other end sees it.
    fn add_ring(&self, ring: RingLink, peer: &Side, across: Option<Across>) -> Option<Across> {
        let (engine, socket) = (self.engine, self.socket);
        let mut state = engine.lock();
        let serial = match self.joined {
            // A connector goes with its socket.
            Joined::Connector(..) => state.sockets.get(socket)?.serial,
            Joined::Name(serial) => serial,
        };
        if !state.is_open(socket, serial) {
            return None;
        }
        state.now = Instant::now();
        let origin = match self.joined {
            Joined::Connector(connector, serial) => {
                let found = state.connectors.get_mut(connector).filter(|found| found.serial == serial)?;
                found.state = ConnectorState::Linked;
                Origin::Connector(connector)
            }
            Joined::Name(_) => Origin::Listener,
        };
        let place = state.new_place(socket, origin, Endpoint::Inproc(self.name.to_owned()));
        let serial = place.serial;
        let link = Link { across, ..Link::new(place, LinkKind::Ring(Box::new(ring))) };
        let index = state.links.insert(link);
        state.rings.push(index);
        let peer = RemotePeer {
            minor: 1,
            socket_type: peer.socket_type,
            routing_id: peer.routing_id.clone(),
            properties: peer.properties.clone(),
            user_id: None,
        };
        if !state.link_is_ready(engine, index, peer) {
            return None;
        }
        // The other end may have gone before this one was there to be woken.
        state.end_if_over(engine, index);
        state.look_after(engine);
        Some(Across { engine: Arc::downgrade(engine), index, serial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    /// A PUSH and its connector, which waits for the name.
    fn connecting(name: &str) -> (Arc<Engine>, usize, u32) {
        let engine = Engine::start().unwrap();
        let socket = engine.open(SocketType::Push, Options::default());
        engine.connect(socket, Endpoint::Inproc(name.to_owned())).unwrap();
        let serial = engine.lock().connectors[0].serial;
        (engine, 0, serial)
    }

    #[test]
    fn a_socket_in_the_place_of_the_one_that_bound_the_name_is_not_joined() {
        let name = "inproc-place-of-another";
        let to = Engine::start().unwrap();
        let gone = to.open(SocketType::Pull, Options::default());
        let serial = to.lock().sockets[gone].serial;
        to.abandon(gone);
        for socket_type in [SocketType::Pull, SocketType::Dealer] {
            let other = to.open(socket_type, Options::default());
            assert_eq!(other, gone, "in its place");
            let (from, connector, connector_serial) = connecting(name);
            let binder = Binder { engine: Arc::clone(&to), socket: gone, serial };
            join(&from, connector, connector_serial, &binder, name);
            assert!(to.lock().sockets[other].links.is_empty());
            let state = from.lock();
            assert_eq!((state.sockets[0].links.len(), state.sockets[0].failed_connections), (0, 0));
            drop(state);
            to.abandon(other);
        }
    }

    #[test]
    fn a_connector_whose_binder_closed_is_joined_to_the_next() {
        let name = "inproc-next-binder";
        let to = Engine::start().unwrap();
        let gone = to.open(SocketType::Pull, Options::default());
        let serial = to.lock().sockets[gone].serial;
        to.close(gone);
        let (from, connector, connector_serial) = connecting(name);
        // It is joined here and not by the bind, which found nobody waiting.
        registry().remove(name);
        let next = to.open(SocketType::Pull, Options::default());
        bind(&to, next, name).unwrap();
        let binder = Binder { engine: Arc::clone(&to), socket: gone, serial };
        join(&from, connector, connector_serial, &binder, name);
        assert_eq!((to.lock().sockets[next].links.len(), from.lock().sockets[0].links.len()), (1, 1));
    }

    #[test]
    fn a_socket_that_closes_binds_no_name_any_more() {
        let engine = Engine::start().unwrap();
        let socket = engine.open(SocketType::Pull, Options::default());
        engine.lock().sockets[socket].closing = true;
        assert!(matches!(bind(&engine, socket, "inproc-closing"), Err(BindError::Closed)));
        assert!(!registry().contains_key("inproc-closing"));
    }
}
