//! `Method`: any method of any class.
//!
//! ```text
//! payload of a method frame:  class id (2) | method id (2) | fields
//! ```

use super::{access, basic, channel, confirm, connection, exchange, queue, tx};
use crate::amqp::error::DecodeError;

macro_rules! methods {
    ($($variant:ident => $class:ident::$name:ident $(<$lt:lifetime>)?,)*) => {
        /// A method. Each variant holds the fields of its method.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Method<'a> {
            $(
                #[allow(missing_docs, reason = "the struct has the docs")]
                $variant($class::$name $(<$lt>)?),
            )*
        }

        impl<'a> Method<'a> {
            /// Decodes the payload of a method frame. Bytes behind the last field are an error, as in RabbitMQ. A
            /// caller that expects one method calls the `decode` of its struct.
            #[inline]
            pub fn decode(payload: &'a [u8]) -> Result<Method<'a>, DecodeError> {
                let Some((&[c1, c2, m1, m2], fields)) = payload.split_first_chunk() else {
                    return Err(DecodeError::ShortPayload { size: payload.len() });
                };
                // The methods of every message come first: inlined, they cost a fraction.
                match (u16::from_be_bytes([c1, c2]), u16::from_be_bytes([m1, m2])) {
                    basic::Publish::ID => Ok(Method::BasicPublish(basic::Publish::decode(fields)?)),
                    basic::Deliver::ID => Ok(Method::BasicDeliver(basic::Deliver::decode(fields)?)),
                    basic::Ack::ID => Ok(Method::BasicAck(basic::Ack::decode(fields)?)),
                    id => Method::decode_fields(id, fields),
                }
            }

            #[inline(never)]
            fn decode_fields(id: (u16, u16), fields: &'a [u8]) -> Result<Method<'a>, DecodeError> {
                match id {
                    $($class::$name::ID => Ok(Method::$variant($class::$name::decode(fields)?)),)*
                    (class, method) => Err(unknown(class, method)),
                }
            }

            /// Appends a whole frame.
            pub fn encode(&self, channel: u16, out: &mut Vec<u8>) {
                match self {
                    $(Method::$variant(method) => method.encode(channel, out),)*
                }
            }

            /// Returns the name in the specification, such as `queue.declare`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Method::$variant(_) => $class::$name::NAME,)*
                }
            }

            /// Returns the class id and the method id.
            pub fn id(&self) -> (u16, u16) {
                match self {
                    $(Method::$variant(_) => $class::$name::ID,)*
                }
            }
        }

        /// The ids of every method.
        const IDS: &[(u16, u16)] = &[$($class::$name::ID,)*];
    };
}

methods! {
    ConnectionStart => connection::Start<'a>,
    ConnectionStartOk => connection::StartOk<'a>,
    ConnectionSecure => connection::Secure<'a>,
    ConnectionSecureOk => connection::SecureOk<'a>,
    ConnectionTune => connection::Tune,
    ConnectionTuneOk => connection::TuneOk,
    ConnectionOpen => connection::Open<'a>,
    ConnectionOpenOk => connection::OpenOk,
    ConnectionClose => connection::Close<'a>,
    ConnectionCloseOk => connection::CloseOk,
    ConnectionBlocked => connection::Blocked<'a>,
    ConnectionUnblocked => connection::Unblocked,
    ConnectionUpdateSecret => connection::UpdateSecret<'a>,
    ConnectionUpdateSecretOk => connection::UpdateSecretOk,
    ChannelOpen => channel::Open,
    ChannelOpenOk => channel::OpenOk,
    ChannelFlow => channel::Flow,
    ChannelFlowOk => channel::FlowOk,
    ChannelClose => channel::Close<'a>,
    ChannelCloseOk => channel::CloseOk,
    AccessRequest => access::Request<'a>,
    AccessRequestOk => access::RequestOk,
    ExchangeDeclare => exchange::Declare<'a>,
    ExchangeDeclareOk => exchange::DeclareOk,
    ExchangeDelete => exchange::Delete<'a>,
    ExchangeDeleteOk => exchange::DeleteOk,
    ExchangeBind => exchange::Bind<'a>,
    ExchangeBindOk => exchange::BindOk,
    ExchangeUnbind => exchange::Unbind<'a>,
    ExchangeUnbindOk => exchange::UnbindOk,
    QueueDeclare => queue::Declare<'a>,
    QueueDeclareOk => queue::DeclareOk<'a>,
    QueueBind => queue::Bind<'a>,
    QueueBindOk => queue::BindOk,
    QueuePurge => queue::Purge<'a>,
    QueuePurgeOk => queue::PurgeOk,
    QueueDelete => queue::Delete<'a>,
    QueueDeleteOk => queue::DeleteOk,
    QueueUnbind => queue::Unbind<'a>,
    QueueUnbindOk => queue::UnbindOk,
    BasicQos => basic::Qos,
    BasicQosOk => basic::QosOk,
    BasicConsume => basic::Consume<'a>,
    BasicConsumeOk => basic::ConsumeOk<'a>,
    BasicCancel => basic::Cancel<'a>,
    BasicCancelOk => basic::CancelOk<'a>,
    BasicPublish => basic::Publish<'a>,
    BasicReturn => basic::Return<'a>,
    BasicDeliver => basic::Deliver<'a>,
    BasicGet => basic::Get<'a>,
    BasicGetOk => basic::GetOk<'a>,
    BasicGetEmpty => basic::GetEmpty,
    BasicAck => basic::Ack,
    BasicReject => basic::Reject,
    BasicRecoverAsync => basic::RecoverAsync,
    BasicRecover => basic::Recover,
    BasicRecoverOk => basic::RecoverOk,
    BasicNack => basic::Nack,
    ConfirmSelect => confirm::Select,
    ConfirmSelectOk => confirm::SelectOk,
    TxSelect => tx::Select,
    TxSelectOk => tx::SelectOk,
    TxCommit => tx::Commit,
    TxCommitOk => tx::CommitOk,
    TxRollback => tx::Rollback,
    TxRollbackOk => tx::RollbackOk,
}

#[cold]
fn unknown(class: u16, method: u16) -> DecodeError {
    if IDS.iter().any(|(known, _)| *known == class) {
        DecodeError::UnknownMethod { class, method }
    } else {
        DecodeError::UnknownClass { class, method }
    }
}

/// Returns the class id and the method id at the start of a method frame's payload, known or not.
pub fn method_id(payload: &[u8]) -> Option<(u16, u16)> {
    let &[c1, c2, m1, m2] = payload.first_chunk()?;
    Some((u16::from_be_bytes([c1, c2]), u16::from_be_bytes([m1, m2])))
}
