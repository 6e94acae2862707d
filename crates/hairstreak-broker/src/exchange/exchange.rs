//! `Exchange`: one exchange: its declaration and its bindings.

use hairstreak_wire::amqp::{EncodedTable, FieldValue};

use super::exchange_type::ExchangeType;
use super::kind::Kind;
use super::refusals::{self, Place};
use crate::policy::Applied;
use crate::refusal::{Refusal, check_argument, check_property};
use crate::stats::ExchangeStats;

const ALTERNATE_EXCHANGE: &str = "alternate-exchange";

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) declaration: ExchangeDeclaration,
    pub(super) kind: Kind,
    /// The argument `alternate-exchange`.
    declared_alternate: Option<FieldValue>,
    /// The exchange for messages that no binding matches: as declared, or as a policy says.
    pub(super) alternate: Option<Box<[u8]>>,
    /// The policies that apply.
    pub(super) policies: Applied,
    pub(super) stats: ExchangeStats,
    pub(super) bindings: Box<dyn ExchangeType>,
    /// The number of the exchange among all that there have been: the number in the table is used again.
    pub(super) serial: u64,
    /// The exchange is being deleted: its bindings go first.
    pub(super) is_going: bool,
}

impl Exchange {
    /// A new exchange. The declaration's type is `kind`.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: an argument has a wrong type or value.
    pub(super) fn new(
        declaration: ExchangeDeclaration,
        kind: Kind,
        policies: Applied,
        place: Place<'_>,
    ) -> Result<Exchange, Refusal> {
        let arguments = declaration.arguments.decode();
        let declared_alternate = arguments.get(ALTERNATE_EXCHANGE).cloned();
        check_alternate(declared_alternate.as_ref(), place)?;
        let bindings = kind.open(&arguments)?;
        let mut exchange = Exchange {
            declaration,
            kind,
            declared_alternate,
            alternate: None,
            policies: Applied::default(),
            stats: ExchangeStats::default(),
            bindings,
            serial: 0,
            is_going: false,
        };
        exchange.set_policies(policies);
        Ok(exchange)
    }

    /// Other policies apply.
    pub(super) fn set_policies(&mut self, policies: Applied) {
        let effective = policies.effective();
        let declared = self.declared_alternate.as_ref();
        let alternate = declared.or_else(|| effective.get(ALTERNATE_EXCHANGE));
        self.alternate = alternate.and_then(FieldValue::as_bytes).map(Into::into);
        self.policies = policies;
    }

    /// Checks that a second declaration of type `kind` asks for this exchange.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: the declaration asks for a different exchange.
    pub(super) fn check_equivalence(
        &self,
        received: &ExchangeDeclaration,
        kind: Kind,
        place: Place<'_>,
    ) -> Result<(), Refusal> {
        let current = &self.declaration;
        let exchange = place.to_string();
        check_property(&exchange, "type", self.kind.atom(), kind.atom())?;
        check_property(&exchange, "durable", current.is_durable, received.is_durable)?;
        check_property(&exchange, "auto_delete", current.is_auto_delete, received.is_auto_delete)?;
        check_property(&exchange, "internal", current.is_internal, received.is_internal)?;
        let alternate = received.arguments.get(ALTERNATE_EXCHANGE);
        check_argument(&exchange, ALTERNATE_EXCHANGE, self.declared_alternate.as_ref(), alternate.as_ref())
    }

    /// The memory of the exchange without its bindings, in bytes. The name is also a key, and an alternate exchange stands in two
    /// more places.
    pub(super) fn memory_bytes(&self) -> usize {
        let ExchangeDeclaration { name, kind, arguments, .. } = &self.declaration;
        let alternate_size =
            self.declared_alternate.as_ref().and_then(FieldValue::as_bytes).map_or(0, <[u8]>::len);
        size_of::<Exchange>() + 2 * (name.len() + alternate_size) + kind.len() + arguments.size()
    }
}

fn check_alternate(alternate: Option<&FieldValue>, place: Place<'_>) -> Result<(), Refusal> {
    match alternate {
        None | Some(FieldValue::LongString(_)) => Ok(()),
        Some(value) => Err(refusals::invalid_argument_type(value, ALTERNATE_EXCHANGE, place)),
    }
}

/// An exchange as a client declares it, and as it is compared with later declarations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExchangeDeclaration {
    /// The name.
    pub name: Box<[u8]>,
    /// The type, such as `topic`.
    pub kind: Box<[u8]>,
    /// The exchange outlives a restart.
    pub is_durable: bool,
    /// The exchange is deleted together with the last binding from it.
    pub is_auto_delete: bool,
    /// Clients cannot publish to the exchange; only other exchanges and dead letters lead to it.
    pub is_internal: bool,
    /// `alternate-exchange`, and arguments of the type.
    pub arguments: EncodedTable,
}
