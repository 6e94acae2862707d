//! `Exchanges`: the exchanges of a virtual host and where they send messages. Binding is in `bind`.
//!
//! - Policies of exchanges.

use std::sync::Arc;

use super::binding::BindingId;
use super::bindings::Bindings;
use super::cache::RouteCache;
use super::destination::{Destination, ExchangeId};
use super::direct::DefaultExchange;
use super::exchange::{Exchange, ExchangeDeclaration};
use super::kind::Kind;
use super::refusals::{self, Place};
use super::routing::{Cacheable, Routing};
use super::table::ExchangeTable;
use super::walk::Walk;
use crate::change::{Change, Changes};
use crate::policy::{Applied, ObjectKind, Policies, PolicyChange};
use crate::queue::{QueueDeclaration, QueueId};
use crate::refusal::Refusal;
use crate::stats::ExchangeStats;
use crate::steps::Steps;

/// The exchanges that each virtual host has, besides the default exchange.
const STANDARD_EXCHANGES: [(&str, &str); 5] = [
    ("amq.direct", "direct"),
    ("amq.fanout", "fanout"),
    ("amq.topic", "topic"),
    ("amq.headers", "headers"),
    ("amq.match", "headers"),
];
const RESERVED_PREFIX: &[u8] = b"amq.";
/// The steps that a binding costs when it goes.
const BINDING_STEPS: usize = 16;

/// All exchanges and bindings of a virtual host.
///
/// The owner of a queue announces the queue by [`add_queue`](Exchanges::add_queue) and
/// [`remove_queue`](Exchanges::remove_queue).
#[derive(Debug)]
pub struct Exchanges {
    virtual_host: Box<str>,
    pub(crate) table: ExchangeTable,
    pub(super) bindings: Bindings,
    pub(super) default: DefaultExchange,
    /// The changes of what outlives the node.
    pub(crate) changes: Changes,
    /// The policies of the virtual host: exchanges are declared here.
    pub(crate) policies: Arc<Policies>,
    /// The steps that names of declarations took with the patterns of policies.
    pub(crate) pattern_steps: usize,
    /// The counters of the default exchange.
    pub(super) default_stats: ExchangeStats,
    pub(super) generation: u64,
    cache: RouteCache,
    /// The way of the message that was routed last.
    pub(crate) walk: Walk,
    /// Exchanges that are being deleted.
    pub(crate) going: Vec<ExchangeId>,
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
            table: ExchangeTable::default(),
            bindings: Bindings::new(),
            default: DefaultExchange::default(),
            changes: Changes::default(),
            policies: Arc::default(),
            pattern_steps: 0,
            default_stats: ExchangeStats::default(),
            generation: 0,
            cache: RouteCache::default(),
            walk: Walk::default(),
            going: Vec::new(),
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
    /// - `PRECONDITION_FAILED`: the exchange exists and is another one, an argument has a wrong type or value, or the limit of memory is reached
    pub fn declare(&mut self, declaration: &ExchangeDeclaration) -> Result<(), Refusal> {
        let kind = kind_of(&declaration.name, &declaration.kind)?;
        let name = &*declaration.name;
        match self.table.find(name).and_then(|id| self.table.get(id)) {
            Some(exchange) => exchange.check_equivalence(declaration, kind, self.place(name)),
            None => {
                check_new(name)?;
                self.check_room(name)?;
                self.create(declaration.clone())
            }
        }
    }

    /// The part that RabbitMQ checks before the user's rights to read the exchange and to write to its alternate exchange. Returns whether the exchange
    /// is new.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: a new exchange with a reserved name.
    pub fn check_whether_new(&self, name: &[u8]) -> Result<bool, Refusal> {
        if self.table.find(name).is_some() {
            return Ok(false);
        }
        check_new(name).map(|()| true)
    }

    pub(super) fn create(&mut self, declaration: ExchangeDeclaration) -> Result<(), Refusal> {
        let kind =
            Kind::from_name(&declaration.kind).ok_or_else(|| refusals::unknown_type(&declaration.kind))?;
        let name = declaration.name.clone();
        let policies =
            self.policies.find(&name, ObjectKind::Exchange, &Applied::default(), &mut self.pattern_steps);
        let exchange = Exchange::new(declaration, kind, policies, self.place(&name))?;
        let declaration = &exchange.declaration;
        self.changes.note(declaration.is_durable, || Change::ExchangeDeclared(declaration.clone()));
        self.table.add(exchange);
        self.generation += 1;
        Ok(())
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
        self.remove_going(&mut Steps::unlimited());
        Ok(())
    }

    /// As [`delete`](Exchanges::delete); [`remove_going`](Exchanges::remove_going) does the rest.
    pub(crate) fn begin_delete(&mut self, name: &[u8], if_unused: bool) -> Result<(), Refusal> {
        self.check_deletion(name)?;
        let Some(id) = self.table.find(name) else { return Ok(()) };
        if if_unused && self.bindings.has_source(id) {
            return Err(refusals::in_use(self.place(name)));
        }
        self.begin_removal(id);
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

    /// A queue is there: the default exchange knows it by its name.
    pub fn add_queue(&mut self, declaration: &QueueDeclaration, queue: QueueId) {
        self.default.add(&declaration.name, queue, declaration.is_durable);
        self.changes.note(declaration.is_durable, || Change::QueueDeclared(declaration.clone()));
        self.generation += 1;
    }

    /// A queue is gone: its bindings go, and with them exchanges that are deleted with their last binding.
    pub fn remove_queue(&mut self, queue: QueueId) {
        let steps = &mut Steps::unlimited();
        self.unbind_all_to(Destination::Queue(queue), steps);
        self.forget_queue(queue);
        self.remove_going(steps);
    }

    /// A queue without bindings is gone.
    pub(crate) fn forget_queue(&mut self, queue: QueueId) {
        self.generation += 1;
        if let Some((name, is_durable)) = self.default.remove(queue) {
            self.changes.note(is_durable, || Change::QueueDeleted { name });
        }
    }

    /// Removes the bindings to a queue or an exchange. Returns whether none is left.
    pub(crate) fn unbind_all_to(&mut self, destination: Destination, steps: &mut Steps) -> bool {
        while let Some(id) = self.bindings.first_of_destination(destination) {
            if steps.are_spent() {
                return false;
            }
            self.remove_binding(id, steps);
        }
        true
    }

    /// Removes a binding. An exchange that is deleted with its last binding begins to go.
    pub(super) fn remove_binding(&mut self, id: BindingId, steps: &mut Steps) {
        self.generation += 1;
        steps.charge(BINDING_STEPS);
        self.note_unbound(id);
        let Some(binding) = self.bindings.remove(id) else { return };
        let source = binding.source;
        let Some(exchange) = self.table.get_mut(source) else { return };
        let unbind_steps = exchange.bindings.unbind_steps();
        // The bindings of an exchange that goes are dropped with it where that costs less.
        if !exchange.is_going || unbind_steps == 1 {
            steps.charge(unbind_steps);
            exchange.bindings.unbind(id, &binding);
        }
        if exchange.declaration.is_auto_delete && !self.bindings.has_source(source) {
            self.begin_removal(source);
        }
    }

    fn begin_removal(&mut self, id: ExchangeId) {
        self.generation += 1;
        if let Some(exchange) = self.table.get_mut(id)
            && !std::mem::replace(&mut exchange.is_going, true)
        {
            self.going.push(id);
        }
    }

    /// Continues to delete exchanges: their bindings are deleted first, and an exchange keeps its name until the last deletion is recorded. Returns whether
    /// all are deleted.
    pub(crate) fn remove_going(&mut self, steps: &mut Steps) -> bool {
        while let Some(id) = self.going.last().copied() {
            while let Some(binding) = self.bindings.first_of_source(id) {
                if steps.are_spent() {
                    return false;
                }
                self.remove_binding(binding, steps);
            }
            if !self.unbind_all_to(Destination::Exchange(id), steps) {
                return false;
            }
            self.going.retain(|other| *other != id);
            self.remove_exchange(id);
        }
        true
    }

    /// Whether the name is that of a topic exchange.
    pub fn is_topic(&self, name: &[u8]) -> bool {
        let exchange = self.table.find(name).and_then(|id| self.table.get(id));
        exchange.is_some_and(|exchange| exchange.kind == Kind::Topic)
    }

    /// Grows with each change that may change a route.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The memory of exchanges and bindings, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.bindings.memory_bytes()
    }

    /// Checks that there may be one exchange more, or one binding from this exchange.
    pub(super) fn check_room(&self, exchange: &[u8]) -> Result<(), Refusal> {
        if self.memory_bytes() < self.memory_bytes_max {
            return Ok(());
        }
        Err(refusals::no_room(self.memory_bytes_max, self.place(exchange)))
    }

    /// Replaces `targets` by the queues that get a published message, each once. `load` says how much a queue has to do.
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
            self.walk.find_queues(message.keys(), |name| self.default.find(name), targets);
            return Ok((ExchangeId::DEFAULT, Some(by_key(message))));
        }
        let (id, exchange) = self.find(message.exchange)?;
        if exchange.declaration.is_internal && publisher == Publisher::Client {
            return Err(refusals::internal(self.place(message.exchange)));
        }
        // For the other types the cache would cost what it saves.
        let may_be_cached = exchange.kind == Kind::Topic && message.extra_keys.is_empty();
        if may_be_cached && let Some(known) = self.cache.find(self.generation, id, message.key) {
            targets.extend_from_slice(known);
            return Ok((id, Some(Cacheable::Yes)));
        }
        self.walk.begin(&self.table, id);
        let cacheable = self.walk.go_on(&mut self.table, message, load, steps, targets);
        let cacheable = cacheable.map(|cacheable| cacheable.and(by_key(message)));
        if may_be_cached && cacheable == Some(Cacheable::Yes) {
            self.cache.offer(id, message.key, targets);
        }
        Ok((id, cacheable))
    }

    /// An exchange that exists.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND`.
    pub(super) fn find(&self, name: &[u8]) -> Result<(ExchangeId, &Exchange), Refusal> {
        let found = self.table.find(name).and_then(|id| Some((id, self.table.get(id)?)));
        found.ok_or_else(|| refusals::not_found(self.place(name)))
    }

    fn place<'a>(&'a self, exchange: &'a [u8]) -> Place<'a> {
        Place { virtual_host: &self.virtual_host, exchange }
    }
}

/// Whether nothing but exchange and routing key can have decided on a route.
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

/// Refuses the default exchange, which nobody declares, deletes or binds.
///
/// # Errors
///
/// `ACCESS_REFUSED`.
pub fn check_not_default(exchange: &[u8]) -> Result<(), Refusal> {
    if exchange.is_empty() { Err(refusals::default_exchange()) } else { Ok(()) }
}

impl Exchanges {
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
        self.table.visit(from, count_max, |exchange| visit(&exchange.declaration.name, &exchange.policies))
    }

    /// Other policies apply to an exchange, unless newer ones do.
    pub(crate) fn apply_policies(&mut self, name: &[u8], applied: &Applied) {
        let Some(exchange) = self.table.find(name).and_then(|id| self.table.get_mut(id)) else { return };
        if exchange.policies.generation() >= applied.generation() {
            return;
        }
        if applied.is_same(&exchange.policies) {
            exchange.policies = applied.clone();
        } else {
            exchange.set_policies(applied.clone());
            self.generation += 1;
        }
    }
}
