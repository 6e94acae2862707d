//! `Exchanges`: declaring, deleting and binding the exchanges of a virtual host, and routing messages. Each request is checked before the
//! [`Topology`] changes.

use std::sync::Arc;

use hairstreak_wire::amqp::FieldTable;

use super::binding::Binding;
use super::cache::RouteCache;
use super::destination::{Destination, ExchangeId};
use super::exchange::{Exchange, ExchangeDeclaration};
use super::kind::Kind;
use super::refusals::{self, Place};
use super::routing::{Cacheable, Routing};
use super::topology::Topology;
use super::walk::Walk;
use crate::policy::{Applied, ObjectKind, Policies, PolicyChange};
use crate::queue::QueueId;
use crate::refusal::Refusal;
use crate::steps::Steps;
use crate::view::BindingInfo;

/// The exchanges that each virtual host has, besides the default exchange.
const STANDARD_EXCHANGES: [(&str, &str); 5] = [
    ("amq.direct", "direct"),
    ("amq.fanout", "fanout"),
    ("amq.topic", "topic"),
    ("amq.headers", "headers"),
    ("amq.match", "headers"),
];
const RESERVED_PREFIX: &[u8] = b"amq.";
/// Steps of an unbind that deletes exchanges. The rest is removed later.
const UNBIND_STEPS: usize = 16_384;

/// The exchanges and bindings of a virtual host.
#[derive(Debug)]
pub struct Exchanges {
    virtual_host: Box<str>,
    pub(crate) topology: Topology,
    /// The policies of the virtual host, which new exchanges and queues get.
    pub(crate) policies: Arc<Policies>,
    /// The steps that names of declarations took with the patterns of policies.
    pub(crate) pattern_steps: usize,
    cache: RouteCache,
    /// The way of the message that was routed last.
    pub(crate) walk: Walk,
    /// The memory of exchanges and bindings from which one more is refused, in bytes.
    pub(crate) memory_bytes_max: usize,
}

/// The origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Publisher {
    Client,
    /// The broker itself, which publishes dead letters: internal exchanges take them, too.
    Broker,
}

impl Exchanges {
    /// The exchanges that each virtual host has. The name is for the texts of refusals.
    pub fn new(virtual_host: &str) -> Exchanges {
        let mut exchanges = Exchanges {
            virtual_host: virtual_host.into(),
            topology: Topology::new(),
            policies: Arc::default(),
            pattern_steps: 0,
            cache: RouteCache::default(),
            walk: Walk::default(),
            memory_bytes_max: usize::MAX,
        };
        for (name, kind) in STANDARD_EXCHANGES {
            let (name, kind) = (name.as_bytes().into(), kind.as_bytes().into());
            let declaration =
                ExchangeDeclaration { name, kind, is_durable: true, ..ExchangeDeclaration::default() };
            let created = exchanges.create(declaration);
            debug_assert!(created.is_ok(), "{created:?}");
        }
        exchanges
    }

    /// Declares an exchange, which may exist already.
    ///
    /// # Errors
    ///
    /// - `COMMAND_INVALID`: the type is unknown
    /// - `ACCESS_REFUSED`: the default exchange, or a new exchange with a reserved name
    /// - `PRECONDITION_FAILED`: the exchange exists and is another one, an argument has a wrong type or value, or the limit of
    ///   memory is reached
    pub fn declare(&mut self, declaration: &ExchangeDeclaration) -> Result<(), Refusal> {
        let kind = kind_of(&declaration.name, &declaration.kind)?;
        let name = &*declaration.name;
        match self.get(name) {
            Some((_, exchange)) => exchange.check_equivalence(declaration, kind, self.place(name)),
            None => {
                check_new(name)?;
                self.check_room(name)?;
                self.create(declaration.clone())
            }
        }
    }

    /// Does the checks that RabbitMQ makes before the user's rights to read the exchange and to write to its alternate exchange.
    /// Returns true if the exchange is new.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: a new exchange with a reserved name.
    pub fn check_whether_new(&self, name: &[u8]) -> Result<bool, Refusal> {
        if self.get(name).is_some() {
            return Ok(false);
        }
        check_new(name).map(|()| true)
    }

    fn create(&mut self, declaration: ExchangeDeclaration) -> Result<(), Refusal> {
        let kind =
            Kind::from_name(&declaration.kind).ok_or_else(|| refusals::unknown_type(&declaration.kind))?;
        let name = declaration.name.clone();
        let policies =
            self.policies.find(&name, ObjectKind::Exchange, &Applied::default(), &mut self.pattern_steps);
        let exchange = Exchange::new(declaration, kind, policies, self.place(&name))?;
        self.topology.add_exchange(exchange);
        Ok(())
    }

    /// Restores an exchange when the node starts. A reserved name and the limit of memory are no obstacles.
    ///
    /// # Errors
    ///
    /// `COMMAND_INVALID`, `PRECONDITION_FAILED`: as [`declare`](Exchanges::declare).
    pub(crate) fn restore(&mut self, declaration: &ExchangeDeclaration) -> Result<(), Refusal> {
        match self.get(&declaration.name) {
            Some(_) => self.declare(declaration),
            None if declaration.name.is_empty() => Err(refusals::default_exchange()),
            None => self.create(declaration.clone()),
        }
    }

    /// A passive declaration: whether an exchange exists.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, and `ACCESS_REFUSED` for the default exchange.
    pub fn check(&self, name: &[u8]) -> Result<(), Refusal> {
        check_not_default(name)?;
        self.find(name).map(drop)
    }

    /// Deletes an exchange with all its bindings. An exchange that does not exist counts as deleted.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for exchanges that each virtual host has, `PRECONDITION_FAILED` by `if_unused` if a binding leads
    /// from the exchange.
    pub fn delete(&mut self, name: &[u8], if_unused: bool) -> Result<(), Refusal> {
        self.begin_delete(name, if_unused)?;
        self.topology.remove_going(&mut Steps::unlimited());
        Ok(())
    }

    /// As [`delete`](Exchanges::delete); [`Topology::remove_going`] does the rest.
    pub(crate) fn begin_delete(&mut self, name: &[u8], if_unused: bool) -> Result<(), Refusal> {
        self.check_deletion(name)?;
        let Some((id, _)) = self.get(name) else { return Ok(()) };
        if if_unused && self.topology.bindings.has_source(id) {
            return Err(refusals::in_use(self.place(name)));
        }
        self.topology.begin_removal(id);
        Ok(())
    }

    /// The part of a deletion that RabbitMQ checks before the user's right to configure the exchange.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the default exchange, or an exchange that each virtual host has.
    pub fn check_deletion(&self, name: &[u8]) -> Result<(), Refusal> {
        check_not_default(name)?;
        if name.starts_with(RESERVED_PREFIX) {
            return Err(refusals::system_exchange(self.place(name)));
        }
        Ok(())
    }

    /// Binds a queue to an exchange. An existing binding stays as it is.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for the default exchange, and `NOT_FOUND`. `PRECONDITION_FAILED` if the exchange does not accept such a
    /// routing key or arguments, or the limit of memory is reached.
    pub fn bind_queue(
        &mut self,
        exchange: &[u8],
        queue: QueueId,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(exchange)?;
        self.bind(exchange, Destination::Queue(queue), key, arguments)
    }

    /// Takes a binding of a queue back. A binding or an exchange that does not exist is no error.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for the default exchange.
    pub fn unbind_queue(
        &mut self,
        exchange: &[u8],
        queue: QueueId,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(exchange)?;
        self.unbind(exchange, Destination::Queue(queue), key, arguments);
        Ok(())
    }

    /// Returns true if the queue has this binding.
    ///
    /// # Errors
    ///
    /// The errors of [`unbind_queue`](Exchanges::unbind_queue).
    pub fn is_bound(
        &self,
        exchange: &[u8],
        queue: QueueId,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<bool, Refusal> {
        check_not_default(exchange)?;
        Ok(self.get(exchange).is_some_and(|(source, _)| {
            let binding = Binding::new(source, Destination::Queue(queue), key, arguments);
            self.topology.bindings.find(&binding).is_some()
        }))
    }

    /// Binds the exchange `destination` to the exchange `source`: messages go from the source to the destination.
    ///
    /// # Errors
    ///
    /// The errors of [`bind_queue`](Exchanges::bind_queue), for both exchanges.
    pub fn bind_exchange(
        &mut self,
        destination: &[u8],
        source: &[u8],
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(destination)?;
        check_not_default(source)?;
        self.find(source)?;
        let (destination, _) = self.find(destination)?;
        self.bind(source, Destination::Exchange(destination), key, arguments)
    }

    /// Takes a binding between two exchanges back. A binding or an exchange that does not exist is no error.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED` for the default exchange.
    pub fn unbind_exchange(
        &mut self,
        destination: &[u8],
        source: &[u8],
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        check_not_default(destination)?;
        check_not_default(source)?;
        if let Some((destination, _)) = self.get(destination) {
            self.unbind(source, Destination::Exchange(destination), key, arguments);
        }
        Ok(())
    }

    /// Restores a binding when the node starts. The limit of memory is no obstacle. `queue` is the destination, if that is a queue.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`: an exchange does not exist. `PRECONDITION_FAILED`: the exchange does not take such a binding.
    pub(crate) fn restore_binding(
        &mut self,
        binding: &BindingInfo,
        queue: Option<QueueId>,
    ) -> Result<(), Refusal> {
        let destination = match queue {
            Some(queue) => Destination::Queue(queue),
            None => Destination::Exchange(self.find(&binding.destination)?.0),
        };
        let limit = std::mem::replace(&mut self.memory_bytes_max, usize::MAX);
        let bound =
            self.bind(&binding.source, destination, &binding.routing_key, &binding.arguments.decode());
        self.memory_bytes_max = limit;
        bound
    }

    fn bind(
        &mut self,
        source: &[u8],
        destination: Destination,
        key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        let (id, exchange) = self.find(source)?;
        let binding = Binding::new(id, destination, key, arguments);
        if self.topology.bindings.find(&binding).is_some() {
            return Ok(());
        }
        self.check_room(source)?;
        exchange.bindings.check(key, arguments)?;
        self.topology.add_binding(&binding, arguments);
        Ok(())
    }

    fn unbind(&mut self, source: &[u8], destination: Destination, key: &[u8], arguments: &FieldTable) {
        let Some((source, _)) = self.get(source) else { return };
        let binding = Binding::new(source, destination, key, arguments);
        if let Some(id) = self.topology.bindings.find(&binding) {
            let steps = &mut Steps::default();
            steps.begin(UNBIND_STEPS);
            self.topology.remove_binding(id, steps);
            self.topology.remove_going(steps);
        }
    }

    /// Returns true if the name belongs to a topic exchange.
    pub fn is_topic(&self, name: &[u8]) -> bool {
        self.get(name).is_some_and(|(_, exchange)| exchange.kind == Kind::Topic)
    }

    /// Grows with each change that may change a route.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.topology.generation
    }

    /// Checks that there may be one exchange more, or one binding from this exchange.
    fn check_room(&self, exchange: &[u8]) -> Result<(), Refusal> {
        if self.topology.memory_bytes() < self.memory_bytes_max {
            return Ok(());
        }
        Err(refusals::no_room(self.memory_bytes_max, self.place(exchange)))
    }

    /// Replaces `targets` by the queues that get a published message, each once. `load` returns the load of a queue.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`, and `ACCESS_REFUSED` for an internal exchange.
    pub fn route(
        &mut self,
        message: &Routing<'_>,
        load: &dyn Fn(QueueId) -> u64,
        targets: &mut Vec<QueueId>,
    ) -> Result<Cacheable, Refusal> {
        let steps = &mut Steps::unlimited();
        let (_, cacheable) = self.route_from(message, Publisher::Client, load, steps, targets)?;
        Ok(cacheable.unwrap_or(Cacheable::No))
    }

    /// As [`route`](Exchanges::route), with the exchange. `None`: the steps are spent, `targets` has the queues so far, and the way is
    /// to be taken from `walk`.
    pub(crate) fn route_from(
        &mut self,
        message: &Routing<'_>,
        publisher: Publisher,
        load: &dyn Fn(QueueId) -> u64,
        steps: &mut Steps,
        targets: &mut Vec<QueueId>,
    ) -> Result<(ExchangeId, Option<Cacheable>), Refusal> {
        targets.clear();
        if message.exchange.is_empty() {
            steps.charge(message.extra_keys.len());
            self.walk.find_queues(message.keys(), |name| self.topology.default.find(name), targets);
            return Ok((ExchangeId::DEFAULT, Some(by_key(message))));
        }
        let (id, exchange) = self.find(message.exchange)?;
        if exchange.declaration.is_internal && publisher == Publisher::Client {
            return Err(refusals::internal(self.place(message.exchange)));
        }
        // For the other types the cache saves nothing.
        let may_be_cached = exchange.kind == Kind::Topic && message.extra_keys.is_empty();
        if may_be_cached && let Some(known) = self.cache.find(self.topology.generation, id, message.key) {
            targets.extend_from_slice(known);
            return Ok((id, Some(Cacheable::Yes)));
        }
        self.walk.begin(&self.topology.table, id);
        let cacheable = self.walk.go_on(&mut self.topology.table, message, load, steps, targets);
        let cacheable = cacheable.map(|cacheable| cacheable.and(by_key(message)));
        if may_be_cached && cacheable == Some(Cacheable::Yes) {
            self.cache.offer(id, message.key, targets);
        }
        Ok((id, cacheable))
    }

    fn get(&self, name: &[u8]) -> Option<(ExchangeId, &Exchange)> {
        let id = self.topology.table.find(name)?;
        Some((id, self.topology.table.get(id)?))
    }

    /// An exchange that exists.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`.
    fn find(&self, name: &[u8]) -> Result<(ExchangeId, &Exchange), Refusal> {
        self.get(name).ok_or_else(|| refusals::not_found(self.place(name)))
    }

    /// Changes the policies. Exchanges that are declared later have the new policies; existing exchanges get them by
    /// [`apply_policies`](Exchanges::apply_policies).
    pub(crate) fn change_policies(&mut self, changes: impl IntoIterator<Item = PolicyChange>) {
        let policies = Arc::make_mut(&mut self.policies);
        changes.into_iter().for_each(|change| policies.change(change));
    }

    /// Visits the exchanges at some positions with the policies that apply to them.
    pub(crate) fn visit_policies(
        &self,
        from: usize,
        count_max: usize,
        mut visit: impl FnMut(&[u8], &Applied),
    ) -> Option<usize> {
        self.topology
            .table
            .visit(from, count_max, |exchange| visit(&exchange.declaration.name, &exchange.policies))
    }

    /// Other policies apply to an exchange, unless newer ones do.
    pub(crate) fn apply_policies(&mut self, name: &[u8], applied: &Applied) {
        let table = &mut self.topology.table;
        let Some(exchange) = table.find(name).and_then(|id| table.get_mut(id)) else { return };
        if exchange.policies.generation() >= applied.generation() {
            return;
        }
        if applied.is_same(&exchange.policies) {
            exchange.policies = applied.clone();
        } else {
            exchange.set_policies(applied.clone());
            self.topology.generation += 1;
        }
    }

    fn place<'a>(&'a self, exchange: &'a [u8]) -> Place<'a> {
        Place { virtual_host: &self.virtual_host, exchange }
    }
}

/// Returns `Yes` if the exchange and the routing key alone decide on a route.
fn by_key(message: &Routing<'_>) -> Cacheable {
    if message.extra_keys.is_empty() { Cacheable::Yes } else { Cacheable::No }
}

/// Checks the part of a declaration that RabbitMQ checks before the user's right to configure the exchange.
///
/// # Errors
///
/// `COMMAND_INVALID`: the type is unknown. `ACCESS_REFUSED`: the default exchange.
pub fn check_declaration(name: &[u8], kind: &[u8]) -> Result<(), Refusal> {
    kind_of(name, kind).map(drop)
}

/// The type of an exchange that is declared.
fn kind_of(name: &[u8], kind: &[u8]) -> Result<Kind, Refusal> {
    let kind = Kind::from_name(kind).ok_or_else(|| refusals::unknown_type(kind))?;
    check_not_default(name)?;
    Ok(kind)
}

/// Refuses new exchanges with names that only the broker gives.
fn check_new(name: &[u8]) -> Result<(), Refusal> {
    if name.starts_with(RESERVED_PREFIX) { Err(refusals::reserved_name(name)) } else { Ok(()) }
}

/// Refuses the default exchange, which cannot be declared, deleted or bound.
///
/// # Errors
///
/// `ACCESS_REFUSED`.
pub fn check_not_default(exchange: &[u8]) -> Result<(), Refusal> {
    if exchange.is_empty() { Err(refusals::default_exchange()) } else { Ok(()) }
}
