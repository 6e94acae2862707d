//! A session whose messages are settled: what a PUSH's end has sent and hears of it, what a PULL's end tells.

use std::ops::Range;

use hairstreak_base::{Message, OutgoingBuffer};
use hairstreak_wire::settlement::{
    Ranges, ReceivingLink, Refused, Returned, SendingLink, SettlementCommand, SettlementTerms, TaskId,
    TaskRun, command,
};
use hairstreak_wire::zmtp::Command;
use hairstreak_wire::zmtp::frame::{self, ZmtpFraming};

use super::error::SessionError;
use super::zmtp::Session;

/// What a session keeps of settlement.
pub(super) enum Settling {
    Sending(Box<Sending>),
    Receiving(Box<Receiving>),
    /// It was; what was not settled has been taken back.
    Over,
}

pub(super) struct Sending {
    link: SendingLink,
    /// The last message that may be sent as things are: what the engine has granted.
    granted: u64,
    /// Whether what is granted is written together: other messages are under way meanwhile.
    is_block: bool,
    /// What was sent, in plain, where traffic is sealed.
    pub(super) plain: Option<OutgoingBuffer>,
    pub(super) encoded: Vec<u8>,
    /// Since the engine last asked.
    news: SettledNews,
}

pub(super) struct Receiving {
    link: ReceivingLink,
    /// Bytes that had been read when the sender was last told of settlements.
    told_at_bytes: u64,
    /// What the sender has told to be done since the engine last asked.
    done: Vec<(TaskId, u64)>,
}

/// A sender is told what is settled after so many bytes at least: it holds as many for us.
const UNTOLD_BYTES_MAX: u64 = 256 * 1024;

/// Runs of tasks in one command.
const DONE_COUNT_MAX: usize = 256;

/// What a receiver has said of what it was sent.
#[derive(Debug, Default)]
pub(crate) struct SettledNews {
    /// How many messages are settled now, whatever became of them.
    pub count: u64,
    /// Those that were accepted: how many in sequence, from which task on.
    pub accepted: Vec<(TaskRun, u64)>,
    /// Those that were not.
    pub returned: Vec<Returned<Message>>,
    /// Tasks that are done, whichever link they went: the first, and how many follow in sequence.
    pub done: Vec<(TaskId, u64)>,
}

impl Session {
    /// The peer settles what this side sends, in these terms.
    pub fn settle_sent(&mut self, theirs: SettlementTerms) {
        let mut plain = self.cipher.is_some().then(|| OutgoingBuffer::new(&self.pool));
        plain.as_mut().unwrap_or(&mut self.connection.output).retain();
        self.settling = Some(Settling::Sending(Box::new(Sending {
            link: SendingLink::new(theirs),
            granted: 0,
            is_block: false,
            plain,
            encoded: Vec::new(),
            news: SettledNews::default(),
        })));
        self.gather_count_max = 0;
    }

    /// This side settles what the peer sends; up to `window` messages may be unsettled.
    pub fn settle_received(&mut self, window: u64) {
        let receiving = Receiving { link: ReceivingLink::new(window), told_at_bytes: 0, done: Vec::new() };
        self.settling = Some(Settling::Receiving(Box::new(receiving)));
    }

    pub(super) fn sending(&self) -> Option<&Sending> {
        match &self.settling {
            Some(Settling::Sending(sending)) => Some(sending),
            _ => None,
        }
    }

    pub(super) fn sending_mut(&mut self) -> Option<&mut Sending> {
        match &mut self.settling {
            Some(Settling::Sending(sending)) => Some(sending),
            _ => None,
        }
    }

    /// The end that settles, if this is one.
    pub fn receiving(&mut self) -> Option<&mut ReceivingLink> {
        match &mut self.settling {
            Some(Settling::Receiving(receiving)) => Some(&mut receiving.link),
            _ => None,
        }
    }

    /// Whether this side settles what the peer sends.
    pub fn settles_received(&self) -> bool {
        matches!(self.settling, Some(Settling::Receiving(_)))
    }

    fn sent_count(&self) -> u64 {
        self.connection.output.accepted_count() as u64
    }

    /// Whether the peer settles what it is sent.
    pub fn is_settled(&self) -> bool {
        self.sending().is_some()
    }

    /// How many messages its receiver would take now.
    pub fn credit(&self) -> u64 {
        self.sending().map_or(0, |sending| sending.link.room(self.sent_count()))
    }

    /// Whether [`Session::take_unsettled`] has been called.
    pub fn is_recovered(&self) -> bool {
        matches!(self.settling, Some(Settling::Over))
    }

    pub fn unsettled_count(&self) -> u64 {
        self.sending().map_or(0, |sending| sending.link.unsettled_count(self.sent_count()))
    }

    /// The next messages, up to `count`, are `run`'s. `is_block`: they are written together, when the caller is about to
    /// sleep or by the flush tick.
    pub fn grant(&mut self, run: TaskRun, count: u64, is_block: bool) {
        let sent = self.sent_count();
        let Some(sending) = self.sending_mut() else { return };
        (sending.granted, sending.is_block) = (sent + count, is_block);
        let mut bytes = Vec::new();
        sending.link.begin(sent, run, &mut bytes);
        if !bytes.is_empty() {
            self.push_command(&bytes);
        }
        self.refresh_gathering();
    }

    /// Takes back what was granted and not used. Returns the task that would have come next.
    pub fn take_grant(&mut self) -> Option<TaskRun> {
        let sent = self.sent_count();
        let sending = self.sending_mut()?;
        sending.granted = sent;
        let next = sending.link.next_task(sent);
        self.refresh_gathering();
        next
    }

    /// The first task that is not settled.
    pub fn first_unsettled(&self) -> Option<TaskId> {
        let sent = self.sent_count();
        self.sending()?.link.unsettled(sent).map(|(_, run)| run.id).min()
    }

    /// Whether a message that is not settled is this task.
    pub fn has_unsettled(&self, task: TaskId) -> bool {
        self.sending().is_some_and(|sending| sending.link.has_unsettled(task, self.sent_count()))
    }

    /// The tasks that are not settled: the first of each run, and how many follow in sequence with it.
    pub fn unsettled_tasks(&self) -> Vec<(TaskId, u64)> {
        let sent = self.sent_count();
        let unsettled = self.sending().into_iter().flat_map(|sending| sending.link.unsettled(sent));
        unsettled.map(|(range, run)| (run.id, range.end - range.start)).collect()
    }

    /// Tells the receiver that no message follows, if that is wanted by this side or asked for by the receiver. Returns
    /// whether there is something to be written for it.
    pub fn end_sending(&mut self, is_wanted: bool) -> bool {
        let sent = self.sent_count();
        let Some(sending) = self.sending_mut() else { return false };
        let mut bytes = Vec::new();
        if is_wanted || sending.link.drains() {
            // What is left of a grant would come behind the end.
            sending.granted = sent;
            sending.link.end(sent, &mut bytes);
            self.refresh_gathering();
            self.push_commands(&bytes);
        }
        !bytes.is_empty()
    }

    /// Which task the next message would be.
    pub fn next_task(&self) -> Option<TaskRun> {
        self.sending()?.link.next_task(self.sent_count())
    }

    /// How many messages of the grant are left.
    pub fn granted(&self) -> u64 {
        self.sending().map_or(0, |sending| sending.granted.saturating_sub(self.sent_count()))
    }

    /// Whether others follow that a message is written together with.
    pub(super) fn is_in_block(&self) -> bool {
        self.granted() > 0 && self.sending().is_some_and(|sending| sending.is_block)
    }

    /// Short messages gather without further ado up to the grant.
    pub(super) fn refresh_gathering(&mut self) {
        let left = self.sent_count() - self.connection.output.queued_count() as u64;
        let count_max = self.limits.send_count_max;
        if self.cipher.is_none()
            && let Some(sending) = self.sending_mut()
        {
            self.gather_count_max = count_max.min(sending.granted.saturating_sub(left) as usize);
        }
    }

    /// Takes the command if it is one of settlement, and that was agreed upon.
    pub(super) fn on_settlement(&mut self, command: &Command<'_>) -> Result<(), SessionError> {
        if self.settling.is_none() {
            return Ok(());
        }
        let Some(command) = command::parse(command)? else { return Ok(()) };
        let received = self.handed + self.ahead.len() as u64;
        let sent = self.sent_count();
        match &mut self.settling {
            None | Some(Settling::Over) => {}
            Some(Settling::Receiving(receiving)) => {
                receiving.link.handle(command, received)?;
                if let SettlementCommand::Done(tasks) = command {
                    receiving.done.extend(tasks);
                }
            }
            Some(Settling::Sending(sending)) => {
                let settled = sending.link.handle(command, sent)?;
                if let SettlementCommand::Done(tasks) = command {
                    sending.news.done.extend(tasks);
                }
                sending.news.count += settled.count;
                sending.news.accepted.extend(settled.accepted);
                let returned = self.collect_refused(settled.refused);
                self.release_settled(returned);
            }
        }
        Ok(())
    }

    /// Whether the sender keeps to its credit, and has said which tasks its messages are.
    pub(super) fn check_sender(&self) -> Result<(), SessionError> {
        match &self.settling {
            Some(Settling::Receiving(receiving)) => {
                Ok(receiving.link.check(self.handed + self.ahead.len() as u64)?)
            }
            _ => Ok(()),
        }
    }

    /// What is settled need not be retained, now that those to be sent again have been taken from it.
    fn release_settled(&mut self, returned: Vec<Returned<Message>>) {
        if let Some(Settling::Sending(sending)) = &mut self.settling {
            sending.news.returned.extend(returned);
            let link = &sending.link;
            let retaining = sending.plain.as_mut().unwrap_or(&mut self.connection.output);
            retaining.release_through(link.settled_through() as usize);
            if link.has_gaps() {
                let unsettled = |Range { start, end }| link.unsettled_in(start as u64..end as u64);
                retaining.compact::<ZmtpFraming>(|numbers| unsettled(numbers).map(|n| n as usize).collect());
            }
        }
    }

    fn collect_refused(&self, refused: Vec<Refused>) -> Vec<Returned<Message>> {
        if refused.is_empty() {
            return Vec::new();
        }
        let mut wanted = Ranges::new();
        for Refused { numbers, .. } in &refused {
            wanted.insert(numbers.clone());
        }
        let mut messages = self.retained_messages(&wanted);
        // In the order of their numbers, as the ranges may not be.
        let mut returned = Vec::new();
        for Refused { numbers, run, outcome, reason } in refused {
            for (offset, number) in numbers.enumerate() {
                if let Ok(at) = messages.binary_search_by_key(&number, |(number, _)| *number) {
                    let message = std::mem::take(&mut messages[at].1);
                    let task = run.plus(offset as u64);
                    returned.push(Returned { task, message, outcome, reason: reason.clone() });
                }
            }
        }
        returned
    }

    /// What was settled since the last call.
    pub fn take_settled(&mut self) -> SettledNews {
        self.sending_mut().map_or(SettledNews::default(), |sending| std::mem::take(&mut sending.news))
    }

    /// The messages of tasks that are `overdue` and not settled: they are not waited for any more, nor sent again.
    pub fn take_expired(&mut self, overdue: impl Fn(TaskId) -> bool) -> Vec<(TaskRun, Message)> {
        let (sent, begun) = (self.sent_count(), self.connection.output.begun_count() as u64);
        let expired =
            self.sending_mut().map_or(Vec::new(), |sending| sending.link.expire(sent, begun, overdue));
        if expired.is_empty() {
            return Vec::new();
        }
        let messages = self.messages_of(expired);
        self.release_settled(Vec::new());
        messages
    }

    /// Whether the receiver has still to settle a task that had its time.
    pub fn is_stuck(&self) -> bool {
        self.sending().is_some_and(|sending| sending.link.is_stuck())
    }

    /// The connection is over: what is not settled, in the order of its numbers. Of what was begun to be written the
    /// peer may have seen all.
    pub fn take_unsettled(&mut self) -> Vec<(TaskRun, Message)> {
        let sent = self.sent_count();
        let begun = self.connection.output.begun_count() as u64;
        let Some(sending) = self.sending() else { return Vec::new() };
        let lost = sending.link.lost(sent, begun).collect::<Vec<_>>();
        let messages = self.messages_of(lost);
        self.settling = Some(Settling::Over);
        messages
    }

    /// Tells the sender what it does not know; all of it, or only when it is due. Returns whether something is to be
    /// written.
    pub fn tell_settled(&mut self, all: bool) -> bool {
        let Some(Settling::Receiving(receiving)) = &mut self.settling else { return false };
        let Receiving { link, told_at_bytes, .. } = &mut **receiving;
        let all = all || self.connection.read_bytes().saturating_sub(*told_at_bytes) >= UNTOLD_BYTES_MAX;
        if !(link.is_due() || all && link.has_news()) {
            return false;
        }
        *told_at_bytes = self.connection.read_bytes();
        let mut commands = Vec::new();
        link.tell(&mut commands);
        self.push_commands(&commands);
        true
    }

    /// Tells the peer that these tasks are done, in sequence each.
    pub fn tell_done(&mut self, tasks: &[(TaskId, u64)]) {
        for tasks in tasks.chunks(DONE_COUNT_MAX) {
            let mut bytes = Vec::new();
            command::encode_done(&mut bytes, tasks);
            self.push_command(&bytes);
        }
    }

    /// Whether the receiver wants to hear what is done.
    pub fn informs(&self) -> bool {
        self.sending().is_some_and(|sending| sending.link.informs())
    }

    /// Whether the sender has said that no message follows.
    pub fn has_heard_end(&mut self) -> bool {
        self.receiving().is_some_and(|receiving| receiving.has_ended())
    }

    /// What the sender has told to be done since the last call.
    pub fn take_heard_done(&mut self) -> Vec<(TaskId, u64)> {
        match &mut self.settling {
            Some(Settling::Receiving(receiving)) => std::mem::take(&mut receiving.done),
            _ => Vec::new(),
        }
    }

    /// Tells the sender that a message takes so long.
    pub fn tell_pace(&mut self, nanos: u64) {
        let mut bytes = Vec::new();
        command::encode_pace(&mut bytes, nanos);
        self.push_command(&bytes);
    }

    /// The most messages that are not done the receiver says it wants.
    pub fn wanted_ahead(&self) -> Option<u64> {
        self.sending()?.link.ahead()
    }

    /// Nanoseconds that the receiver says it takes for a message.
    pub fn told_pace(&self) -> Option<u64> {
        self.sending()?.link.pace()
    }

    /// Tasks, `count` in sequence from `first` on, are done: those of them that were sent here need not be retained, nor
    /// sent again. Returns how many that were.
    pub fn settle_done(&mut self, first: TaskId, count: u64) -> u64 {
        let sent = self.sent_count();
        let done = self.sending_mut().map_or(0, |sending| sending.link.settle_tasks(first, count, sent));
        if done > 0 {
            self.release_settled(Vec::new());
        }
        done
    }

    fn push_commands(&mut self, mut commands: &[u8]) {
        while let Ok(Some(header)) = frame::decode_header(commands, usize::MAX) {
            let (command, rest) = commands.split_at(header.header_size + header.body_size);
            self.push_command(command);
            commands = rest;
        }
    }

    /// Whether the peer has still to settle something.
    pub fn awaits_settlement(&self) -> bool {
        self.unsettled_count() > 0
    }
}
