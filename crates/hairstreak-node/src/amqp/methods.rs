//! Methods of a session, and their handlers.

use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{ChannelMode, Published};
use hairstreak_wire::amqp::{Method, ReplyCode, access, basic, channel, confirm, connection, tx};

use super::channel::{Channel, Content, Getting};
use super::confirms::Confirms;
use super::declaring;
use super::fault::Fault;
use super::publish::{Publish, PublishFields};
use super::publishing::{no_channel, out_of_turn, publish_pending};
use super::session::{Outcome, Session};
use super::transaction::{Committing, Transaction};
use super::turn::Turn;

/// Handles a method of a channel, or of the connection (channel 0).
pub(super) fn handle_method(
    session: &mut Session,
    number: u16,
    method: Method<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Fault> {
    let id = method.id();
    if number == 0 {
        return handle_connection_method(session, &method, turn);
    }
    if let Method::ChannelOpen(_) = method {
        return open_channel(session, number, turn);
    }
    let Some(channel) = session.channels.get_mut(&number) else { return Err(no_channel().of_method(id)) };
    if channel.is_in_content() {
        return Err(out_of_turn(&channel.content));
    }
    match method {
        Method::BasicPublish(publish) => {
            channel.content = Content::Header(Publish::new(&PublishFields::of(&publish)));
            Ok(())
        }
        Method::ChannelClose(_) => {
            session.close_channel(number, turn);
            turn.reply(number, &Method::ChannelCloseOk(channel::CloseOk {}));
            Ok(())
        }
        Method::ChannelFlow(channel::Flow { active: true }) => {
            turn.reply(number, &Method::ChannelFlowOk(channel::FlowOk { active: true }));
            Ok(())
        }
        Method::ChannelFlow(_) => Err(Fault::new(ReplyCode::NotImplemented, "active=false", id)),
        Method::AccessRequest(_) => {
            turn.reply(number, &Method::AccessRequestOk(access::RequestOk { ticket: 1 }));
            Ok(())
        }
        Method::ConfirmSelect(select) => select_confirms(channel, select.no_wait, turn),
        Method::TxSelect(_) => select_transactions(channel, turn),
        Method::TxCommit(_) => commit(session, number, turn),
        Method::TxRollback(_) => {
            session.throttle.release(channel.transaction.as_ref().map_or(0, Transaction::bytes));
            roll_back(channel, turn)
        }
        Method::ExchangeDeclare(_)
        | Method::ExchangeDelete(_)
        | Method::ExchangeBind(_)
        | Method::ExchangeUnbind(_)
        | Method::QueueDeclare(_)
        | Method::QueueBind(_)
        | Method::QueuePurge(_)
        | Method::QueueDelete(_)
        | Method::QueueUnbind(_) => declaring::handle_method(channel, &method, turn),
        Method::BasicGet(get) => {
            session.throttle.has_consumed = true;
            session.getting = Some(Getting { channel: number, queue: get.queue.into(), no_ack: get.no_ack });
            go_on_getting(session, turn).map_err(|(fault, _)| fault)
        }
        Method::BasicQos(_)
        | Method::BasicConsume(_)
        | Method::BasicCancel(_)
        | Method::BasicAck(_)
        | Method::BasicReject(_)
        | Method::BasicNack(_)
        | Method::BasicRecover(_)
        | Method::BasicRecoverAsync(_) => {
            session.throttle.has_consumed |= matches!(method, Method::BasicConsume(_));
            channel.handle_basic_method(&method, turn)
        }
        _ => Err(Fault::new(ReplyCode::CommandInvalid, "unimplemented method", id)),
    }
    .map_err(|fault: Fault| fault.of_method(id))
}

fn handle_connection_method(
    session: &mut Session,
    method: &Method<'_>,
    turn: &mut Turn<'_>,
) -> Result<(), Fault> {
    match method {
        Method::ConnectionClose(_) => {
            session.tell_what_waits(turn);
            session.outcome = Outcome::Left;
            turn.reply(0, &Method::ConnectionCloseOk(connection::CloseOk {}));
            Ok(())
        }
        Method::ConnectionUpdateSecret(_) => {
            turn.reply(0, &Method::ConnectionUpdateSecretOk(connection::UpdateSecretOk {}));
            Ok(())
        }
        other => {
            let text = "unexpected method in connection state running";
            Err(Fault::new(ReplyCode::ChannelError, text, other.id()))
        }
    }
}

fn open_channel(session: &mut Session, number: u16, turn: &mut Turn<'_>) -> Result<(), Fault> {
    let id = channel::Open::ID;
    if session.channels.contains_key(&number) {
        return Err(Fault::new(ReplyCode::ChannelError, "second 'channel.open' seen", id));
    }
    let (count, max) = (session.channels.len(), session.tuned.channel_max);
    if count >= usize::from(max) {
        let text =
            format!("number of channels opened ({count}) has reached the negotiated channel_max ({max})");
        return Err(Fault::new(ReplyCode::NotAllowed, text, id));
    }
    let slot = turn.slot.take_channel();
    let slot = slot.map_err(|error| Fault::new(ReplyCode::NotAllowed, error.to_string(), id))?;
    let opened = turn.state.host.open_channel(turn.connection, number);
    let channel = opened.map_err(|refusal| Fault::in_method(refusal, id))?;
    session.channels.insert(number, Box::new(Channel::new(channel, number, slot)));
    turn.reply(number, &Method::ChannelOpenOk(channel::OpenOk {}));
    Ok(())
}

/// Publishes and settles the content of the transaction.
fn commit(session: &mut Session, number: u16, turn: &mut Turn<'_>) -> Result<(), Fault> {
    let id = tx::Commit::ID;
    let Some(channel) = session.channels.get_mut(&number) else { return Ok(()) };
    let Some(transaction) = &mut channel.transaction else {
        return Err(Fault::new(ReplyCode::PreconditionFailed, "channel is not transactional", id));
    };
    session.throttle.release(transaction.bytes());
    let (publishes, settlements) = transaction.take();
    session.publishes_on(number, turn);
    session.committing = Some(Committing {
        channel: number,
        publishes: publishes.into_iter(),
        settlements: settlements.into_iter(),
        is_complete: true,
        durability: Durability::Memory,
    });
    go_on_committing(session, turn).map_err(|(fault, _)| fault)
}

/// Takes the message of a basic.get. The call is repeated if the message has to be read from the disk first.
pub(super) fn go_on_getting(session: &mut Session, turn: &mut Turn<'_>) -> Result<(), (Fault, u16)> {
    let Some(Getting { channel: number, queue, no_ack }) = session.getting.take() else { return Ok(()) };
    let Some(channel) = session.channels.get_mut(&number) else { return Ok(()) };
    let on_disk = channel.get(&queue, no_ack, turn);
    let on_disk = on_disk.map_err(|refusal| (Fault::in_method(refusal, basic::Get::ID), number))?;
    session.getting = on_disk.map(|queue| Getting { channel: number, queue, no_ack });
    Ok(())
}

/// Continues a commit within the limits of the turn.
pub(super) fn go_on_committing(session: &mut Session, turn: &mut Turn<'_>) -> Result<(), (Fault, u16)> {
    while let Some(committing) = &mut session.committing
        && !turn.is_over()
        && !turn.has_to_wait()
    {
        let number = committing.channel;
        let Some(channel) = session.channels.get_mut(&number) else {
            session.committing = None;
            return Ok(());
        };
        if let Some(mut pending) = committing.publishes.next() {
            let published = publish_pending(channel, &mut pending, turn);
            committing.is_complete &= published != Published::Refused;
            committing.durability = committing.durability.max(published.durability());
            session.settle_slow(turn);
        } else if let Some((count, settlement)) = committing.settlements.next() {
            let state = &mut *turn.state;
            state.host.settle_held(channel.id, count, settlement, turn.now, &mut state.outlets);
        } else {
            let (is_complete, durability) = (committing.is_complete, committing.durability);
            session.committing = None;
            if !is_complete {
                let text = "partial tx completion";
                let fault = Fault::new(ReplyCode::PreconditionFailed, text, tx::Commit::ID);
                return Err((fault, number));
            }
            turn.take_deliveries();
            let ok = Method::TxCommitOk(tx::CommitOk {});
            if durability > Durability::Memory {
                turn.say_when_logged(number, &ok, durability);
            } else {
                turn.reply(number, &ok);
            }
        }
    }
    Ok(())
}

fn select_confirms(channel: &mut Channel, no_wait: bool, turn: &mut Turn<'_>) -> Result<(), Fault> {
    if channel.transaction.is_some() {
        let text = "cannot switch from tx to confirm mode";
        return Err(Fault::new(ReplyCode::PreconditionFailed, text, confirm::Select::ID));
    }
    channel.confirms.get_or_insert_with(Confirms::default);
    note_mode(channel, turn);
    if !no_wait {
        turn.reply(channel.number, &Method::ConfirmSelectOk(confirm::SelectOk {}));
    }
    Ok(())
}

fn select_transactions(channel: &mut Channel, turn: &mut Turn<'_>) -> Result<(), Fault> {
    if channel.confirms.is_some() {
        let text = "cannot switch from confirm to tx mode";
        return Err(Fault::new(ReplyCode::PreconditionFailed, text, tx::Select::ID));
    }
    channel.transaction.get_or_insert_with(Transaction::default);
    channel.memo.forget();
    note_mode(channel, turn);
    turn.reply(channel.number, &Method::TxSelectOk(tx::SelectOk {}));
    Ok(())
}

/// Shows operators the mode that the client has chosen.
fn note_mode(channel: &Channel, turn: &mut Turn<'_>) {
    let mode = ChannelMode {
        is_confirming: channel.confirms.is_some(),
        is_transactional: channel.transaction.is_some(),
    };
    turn.state.host.channels_mut().set_mode(channel.id, mode);
}

fn roll_back(channel: &mut Channel, turn: &mut Turn<'_>) -> Result<(), Fault> {
    let Some(transaction) = &mut channel.transaction else {
        let text = "channel is not transactional";
        return Err(Fault::new(ReplyCode::PreconditionFailed, text, tx::Rollback::ID));
    };
    transaction.take();
    turn.state.host.release_held(channel.id);
    turn.reply(channel.number, &Method::TxRollbackOk(tx::RollbackOk {}));
    Ok(())
}
