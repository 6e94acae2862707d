//! `OpenRequests`: the requests without a reply, by number, and their partial replies. No I/O.
//!
//! Numbers count from 1. Each number from the first open one on has a slot, so that any request is found at once. A
//! number below the first has had its reply, and repeated replies to it are dropped.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use foldhash::quality::RandomState;
use hairstreak_base::Bytes;
use hairstreak_socket::Message;
use hairstreak_wire::hsn1::{ClientId, Header, Part, PartPlace, PartStep, ReplyParts, RequestId};

use super::error::RequestError;

/// Margin by which the broker's deadline is later: the client's own clock ends a request. The broker's clock is for
/// clients that are gone.
const LIFETIME_MARGIN_MS: u128 = 1_000;
/// Most bytes of unread parts of one reply. A reply with more is given up.
const STREAM_BYTES_MAX: usize = 64 << 20;
/// Most bytes of unreceived replies. With more, replies in parts are given up, and no further request is sent.
const INBOX_BYTES_MAX: usize = 256 << 20;

/// A reply, or a part of one, to a request that was sent without waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The number of the request, from [`Client::send`](super::Client::send).
    pub number: u64,
    /// A part of the reply, or the reason that there is none.
    pub result: Result<Message, RequestError>,
    /// Set for the last item of this request.
    pub is_last: bool,
}

/// Receiver of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    /// A later call of `recv`.
    Inbox,
    /// A caller that gets each part as it arrives.
    Stream,
    /// A caller that gets the whole reply.
    Call,
}

/// One open request.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub service: Arc<[u8]>,
    pub body: Message,
    /// Last broker that the request was sent to.
    pub sent_to: Option<[u8; 16]>,
    /// Set if another broker may have the request, or may have given it to a worker.
    is_repeated: bool,
    /// Parts of the reply so far.
    parts: ReplyParts,
    pub expires: Option<Instant>,
    taker: Taker,
}

/// Reply parts collected for a caller.
#[derive(Debug, Default)]
struct Collected {
    parts: VecDeque<Message>,
    bytes: usize,
    /// Set if the reply begins again. The caller drops the parts that it has taken.
    begins_anew: bool,
    end: Option<Result<(), RequestError>>,
    waker: Option<Waker>,
}

#[derive(Debug)]
pub(super) struct OpenRequests {
    client: ClientId,
    first: u64,
    slots: VecDeque<Option<OpenRequest>>,
    open_count: usize,
    collected: HashMap<u64, Collected>,
    inbox: VecDeque<Reply>,
    inbox_bytes: usize,
    /// Name of the last service used, which is likely to be used next.
    last_service: Arc<[u8]>,
    /// Hash keys for parts, to compare them with repeated ones.
    hashes: RandomState,
}

/// Follow-up that a received part requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// Missing parts will not come: the request is to be sent again.
    Again,
    /// The reply is unread or its rest is lost: the request is to be withdrawn.
    Withdraw,
}

/// Result of a caller's look at its reply.
pub(super) enum Found {
    /// A part of the reply.
    Part(Message),
    /// The earlier parts are dropped, because the reply begins again. Only for a call.
    Anew,
    /// The reply has ended.
    End(Result<(), RequestError>),
    /// No part has arrived yet.
    Nothing,
}

impl OpenRequests {
    pub fn new(client: ClientId) -> OpenRequests {
        OpenRequests {
            client,
            first: 1,
            slots: VecDeque::new(),
            open_count: 0,
            collected: HashMap::new(),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            last_service: Arc::from([]),
            hashes: RandomState::default(),
        }
    }

    pub fn open_count(&self) -> usize {
        self.open_count
    }

    /// Returns the count of numbers from the first open one to the last.
    pub fn span(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of replies that were not received.
    pub fn inbox_count(&self) -> usize {
        self.inbox.len()
    }

    /// Returns whether the unreceived replies have reached `count_max` or the limit of bytes.
    pub fn inbox_is_full(&self, count_max: usize) -> bool {
        self.inbox.len() >= count_max || self.inbox_bytes >= INBOX_BYTES_MAX
    }

    pub fn add(&mut self, service: &[u8], body: Message, expires: Option<Instant>, taker: Taker) -> u64 {
        let number = self.first + self.slots.len() as u64;
        if *self.last_service != *service {
            self.last_service = service.into();
        }
        let service = Arc::clone(&self.last_service);
        let parts = ReplyParts::default();
        let request = OpenRequest { service, body, sent_to: None, is_repeated: false, parts, expires, taker };
        self.slots.push_back(Some(request));
        self.open_count += 1;
        if taker != Taker::Inbox {
            self.collected.insert(number, Collected::default());
        }
        number
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut OpenRequest> {
        let index = self.index_of(number)?;
        self.slots.get_mut(index)?.as_mut()
    }

    /// Returns the first open number from this one on.
    pub fn next_from(&self, number: u64) -> Option<u64> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let mut slots = self.slots.iter().enumerate().skip(skipped);
        slots.find(|(_, slot)| slot.is_some()).map(|(index, _)| self.first + index as u64)
    }

    /// Returns the header of the request for this broker, and the request.
    pub fn prepare(
        &mut self,
        number: u64,
        broker: [u8; 16],
        now: Instant,
    ) -> Option<(Header, &mut OpenRequest)> {
        let (client, first) = (self.client, self.first);
        let request = self.get_mut(number)?;
        request.is_repeated |= request.sent_to.is_some_and(|before| before != broker);
        let left = request.expires.map(|expires| expires.saturating_duration_since(now).as_millis());
        let header = Header::Request {
            request: RequestId { client, number },
            first,
            lifetime_ms: left.map_or(0, |left| u32::try_from(left + LIFETIME_MARGIN_MS).unwrap_or(u32::MAX)),
            deliveries: 0,
            is_repeated: request.is_repeated,
            takes_runs: true,
        };
        Some((header, request))
    }

    /// Returns whether the request belongs to this client.
    pub fn is_ours(&self, request: RequestId) -> bool {
        request.client == self.client
    }

    /// Takes a part of a reply. Repeated parts are dropped, and so are parts after a gap.
    pub fn take_part(&mut self, part: Part, body: &[Bytes]) -> Next {
        let Part { request, index, run, is_final, .. } = part;
        if !self.is_ours(request) {
            return Next::Nothing;
        }
        let place = PartPlace { run: run.unwrap_or_default(), index, is_final };
        self.take_at(request.number, place, body)
    }

    /// Takes a part of the reply to a request by its number. For a broker without numbers, `run` tells one attempt from
    /// another. Such a broker has one request in progress per connection, and the connection counts the parts.
    pub fn take_at(&mut self, number: u64, place: PartPlace, body: &[Bytes]) -> Next {
        let hashes = self.hashes.clone();
        let Some(request) = self.get_mut(number) else { return Next::Nothing };
        let may_begin_anew = request.taker == Taker::Call;
        match request.parts.take(place, may_begin_anew, |before| hash_of(&hashes, before, body)) {
            PartStep::Take => {}
            PartStep::TakeAnew => self.begin_anew(number),
            PartStep::Drop => return Next::Nothing,
            PartStep::AskAgain => return Next::Again,
            PartStep::Differ => {
                self.fail(number, RequestError::RepliesDiffer);
                return Next::Withdraw;
            }
        }
        self.deliver_part(number, body, place.is_final)
    }

    /// Drops the parts collected for a call, including the parts that it has already taken.
    fn begin_anew(&mut self, number: u64) {
        if let Some(collected) = self.collected.get_mut(&number) {
            collected.parts.clear();
            (collected.bytes, collected.begins_anew) = (0, true);
        }
    }

    fn deliver_part(&mut self, number: u64, body: &[Bytes], is_final: bool) -> Next {
        let is_unread = !is_final
            && match self.collected.get(&number) {
                Some(collected) => collected.bytes >= STREAM_BYTES_MAX,
                None => self.inbox_bytes >= INBOX_BYTES_MAX,
            };
        if is_unread {
            let count = self.collected.get(&number).map_or(self.inbox.len(), |found| found.parts.len());
            self.fail(number, RequestError::Unread(count));
            return Next::Withdraw;
        }
        self.deliver(number, Ok(body.iter().cloned().collect()), is_final);
        Next::Nothing
    }

    /// Marks sent requests as repeated: the broker may have forgotten them, and another worker may do them.
    pub fn distrust(&mut self) {
        for request in self.slots.iter_mut().flatten() {
            request.is_repeated |= request.sent_to.is_some();
        }
    }

    /// Ends a request without a reply.
    pub fn fail(&mut self, number: u64, error: RequestError) {
        self.deliver(number, Err(error), true);
    }

    fn deliver(&mut self, number: u64, result: Result<Message, RequestError>, is_last: bool) {
        let Some(request) = self.get_mut(number) else { return };
        match request.taker {
            Taker::Inbox => {
                self.inbox_bytes += size_of_reply(&result);
                self.inbox.push_back(Reply { number, result, is_last });
            }
            Taker::Stream | Taker::Call => {
                if let Some(collected) = self.collected.get_mut(&number) {
                    let end = match result {
                        Ok(message) => {
                            collected.bytes += message.size();
                            collected.parts.push_back(message);
                            is_last.then_some(Ok(()))
                        }
                        Err(error) => Some(Err(error)),
                    };
                    collected.end = end;
                    if let Some(waker) = collected.waker.take() {
                        waker.wake();
                    }
                }
            }
        }
        if is_last {
            self.close(number);
        }
    }

    /// Closes the number.
    fn close(&mut self, number: u64) {
        let Some(index) = self.index_of(number) else { return };
        if let Some(slot) = self.slots.get_mut(index)
            && slot.take().is_some()
        {
            self.open_count -= 1;
        }
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Withdraws a request. Returns whether it was open.
    pub fn withdraw(&mut self, number: u64) -> bool {
        self.collected.remove(&number);
        let was_open = self.get_mut(number).is_some();
        self.close(number);
        was_open
    }

    /// Returns the next item for a caller.
    pub fn collect(&mut self, number: u64) -> Found {
        let Some(collected) = self.collected.get_mut(&number) else { return Found::End(Ok(())) };
        if std::mem::take(&mut collected.begins_anew) {
            return Found::Anew;
        }
        if let Some(part) = collected.parts.pop_front() {
            collected.bytes -= part.size();
            return Found::Part(part);
        }
        match collected.end.take() {
            Some(end) => {
                self.collected.remove(&number);
                Found::End(end)
            }
            None => Found::Nothing,
        }
    }

    /// Returns whether a caller has an item to take.
    pub fn has_come(&self, number: u64) -> bool {
        let has_come = |found: &Collected| !found.parts.is_empty() || found.end.is_some();
        self.collected.get(&number).is_none_or(has_come)
    }

    /// Sets the waker of the task that waits for the number.
    pub fn wake_for(&mut self, number: u64, waker: &Waker) {
        if let Some(collected) = self.collected.get_mut(&number) {
            match &mut collected.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
    }

    /// Removes the waker of a task that no longer waits for the number.
    pub fn forget_waker(&mut self, number: u64) {
        if let Some(collected) = self.collected.get_mut(&number) {
            collected.waker = None;
        }
    }

    /// Wakes one of the waiting tasks. Returns whether there was one.
    pub fn wake_any(&mut self) -> bool {
        let waker = self.collected.values_mut().find_map(|collected| collected.waker.take());
        waker.map(Waker::wake).is_some()
    }

    pub fn pop_inbox(&mut self) -> Option<Reply> {
        let reply = self.inbox.pop_front()?;
        self.inbox_bytes -= size_of_reply(&reply.result);
        Some(reply)
    }

    /// Gives up overdue requests, and returns their numbers.
    pub fn expire(&mut self, now: Instant, timeout: Duration) -> Vec<u64> {
        let is_over = |slot: &Option<OpenRequest>| {
            slot.as_ref().is_some_and(|request| request.expires.is_some_and(|expires| expires <= now))
        };
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| is_over(slot));
        let numbers: Vec<u64> = slots.map(|(index, _)| self.first + index as u64).collect();
        for number in &numbers {
            self.fail(*number, RequestError::TimedOut(timeout));
        }
        numbers
    }
}

/// Returns the hash of this part and all parts before. `before` is the hash of the parts before.
fn hash_of(hashes: &RandomState, before: u64, body: &[Bytes]) -> u64 {
    let mut hasher = hashes.build_hasher();
    hasher.write_u64(before);
    hasher.write_usize(body.len());
    for frame in body {
        hasher.write_usize(frame.size());
        hasher.write(frame.as_bytes());
    }
    hasher.finish()
}

fn size_of_reply(result: &Result<Message, RequestError>) -> usize {
    result.as_ref().map_or(0, Message::size)
}

#[cfg(test)]
mod tests {
    use hairstreak_wire::hsn1::BodyPlace;

    use super::*;

    const CLIENT: ClientId = ClientId([1; 16]);
    const ONE: [u8; 16] = [1; 16];
    const OTHER: [u8; 16] = [2; 16];

    fn part(number: u64, index: u32, is_final: bool) -> Part {
        Part {
            request: RequestId { client: CLIENT, number },
            index,
            run: None,
            is_final,
            body: BodyPlace { index: 1, start: 0 },
        }
    }

    fn body(text: &str) -> [Bytes; 1] {
        [Bytes::copy_of(text.as_bytes())]
    }

    /// Returns `count` requests, sent to this broker.
    fn sent(count: u64, broker: [u8; 16]) -> OpenRequests {
        let mut open = OpenRequests::new(CLIENT);
        for _ in 0..count {
            let number = open.add(b"echo", Message::new(), None, Taker::Inbox);
            open.get_mut(number).unwrap().sent_to = Some(broker);
        }
        open
    }

    /// Returns the first open number and the repeat mark in the header of a request.
    fn header(open: &mut OpenRequests, number: u64, broker: [u8; 16]) -> (u64, bool) {
        match open.prepare(number, broker, Instant::now()) {
            Some((Header::Request { first, is_repeated, .. }, _)) => (first, is_repeated),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_open_number_follows_the_replies_in_whichever_order_they_come() {
        let mut open = sent(4, ONE);
        for (number, first) in [(2, 1), (1, 3), (3, 4)] {
            assert_eq!(open.take_part(part(number, 0, true), &body("reply")), Next::Nothing);
            assert_eq!(header(&mut open, 4, ONE).0, first);
        }
        assert_eq!((open.open_count(), open.span()), (1, 1));
    }

    #[test]
    fn a_request_is_marked_as_repeated_for_another_broker_and_for_one_that_forgets() {
        let mut open = sent(2, ONE);
        assert_eq!(header(&mut open, 1, ONE), (1, false));
        assert_eq!(header(&mut open, 1, OTHER), (1, true));
        assert_eq!(header(&mut open, 1, ONE), (1, true), "the other may have it");
        open.distrust();
        assert_eq!(header(&mut open, 2, ONE), (1, true));
        let unsent = open.add(b"echo", Message::new(), None, Taker::Inbox);
        assert_eq!(header(&mut open, unsent, ONE), (1, false));
    }

    #[test]
    fn each_reply_is_delivered_once_and_those_of_others_never() {
        let mut open = sent(1, ONE);
        let mut stranger = part(1, 0, true);
        stranger.request.client = ClientId([9; 16]);
        open.take_part(stranger, &body("stranger's"));
        open.take_part(part(1, 0, true), &body("mine"));
        open.take_part(part(1, 0, true), &body("again"));
        let reply = Reply { number: 1, result: Ok("mine".into()), is_last: true };
        assert_eq!((open.pop_inbox(), open.pop_inbox()), (Some(reply), None));
    }

    #[test]
    fn parts_that_come_again_are_dropped_and_missing_ones_are_asked_for() {
        let mut open = sent(1, ONE);
        open.take_part(part(1, 0, false), &body("a"));
        // The worker died, and another one begins again.
        open.take_part(part(1, 0, false), &body("a"));
        assert_eq!(
            open.take_part(part(1, 2, false), &body("c")),
            Next::Nothing,
            "a gap: it waits for the end"
        );
        assert_eq!(open.take_part(part(1, 3, true), &body("d")), Next::Again, "parts are missing");
        for (index, text) in ["a", "b", "c"].into_iter().enumerate() {
            open.take_part(part(1, index as u32, false), &body(text));
        }
        open.take_part(part(1, 3, true), &body("d"));
        let said: Vec<_> =
            std::iter::from_fn(|| open.pop_inbox()).map(|reply| reply.result.unwrap()).collect();
        assert_eq!(said, ["a", "b", "c", "d"].map(Message::from));
    }

    fn part_of(run: u64, index: u32, is_final: bool) -> Part {
        Part { run: Some(run), ..part(1, index, is_final) }
    }

    /// Returns the parts of the first request that a caller gets without waiting, and the end if it came.
    fn collect(open: &mut OpenRequests) -> (Vec<Message>, Option<Result<(), RequestError>>) {
        let mut parts = Vec::new();
        loop {
            match open.collect(1) {
                Found::Part(part) => parts.push(part),
                Found::Anew => parts.clear(),
                Found::End(end) => return (parts, Some(end)),
                Found::Nothing => return (parts, None),
            }
        }
    }

    #[test]
    fn a_call_has_nothing_of_a_worker_that_died_in_the_middle() {
        for is_waiting in [false, true] {
            let mut open = OpenRequests::new(CLIENT);
            open.add(b"echo", Message::new(), None, Taker::Call);
            open.take_part(part_of(7, 0, false), &body("first half, "));
            if is_waiting {
                assert_eq!(collect(&mut open), (vec!["first half, ".into()], None));
            }
            open.take_part(part(1, 0, true), &body("first half, second half"));
            assert_eq!(collect(&mut open), (vec!["first half, second half".into()], Some(Ok(()))));
        }
    }

    #[test]
    fn who_has_seen_parts_gets_the_rest_of_the_same_reply_or_an_error() {
        for taker in [Taker::Stream, Taker::Inbox] {
            for (again, next) in [("one", Next::Nothing), ("another", Next::Withdraw)] {
                let mut open = OpenRequests::new(CLIENT);
                open.add(b"echo", Message::new(), None, taker);
                open.take_part(part_of(7, 0, false), &body("one"));
                assert_eq!(open.take_part(part_of(8, 0, false), &body(again)), next);
                open.take_part(part_of(8, 1, true), &body("two"));
                let (result, is_last) = match next {
                    Next::Nothing => (Ok("two".into()), true),
                    _ => (Err(RequestError::RepliesDiffer), true),
                };
                if taker == Taker::Inbox {
                    let first = Reply { number: 1, result: Ok("one".into()), is_last: false };
                    let second = Reply { number: 1, result, is_last };
                    assert_eq!([open.pop_inbox(), open.pop_inbox()], [Some(first), Some(second)]);
                } else {
                    let (parts, end) = match result {
                        Ok(two) => (vec!["one".into(), two], Ok(())),
                        Err(error) => (vec!["one".into()], Err(error)),
                    };
                    assert_eq!(collect(&mut open), (parts, Some(end)));
                }
            }
        }
    }

    #[test]
    fn frames_that_are_cut_otherwise_are_another_part() {
        let mut open = OpenRequests::new(CLIENT);
        open.add(b"echo", Message::new(), None, Taker::Stream);
        let frames = |texts: [&str; 2]| texts.map(|text| Bytes::copy_of(text.as_bytes()));
        open.take_part(part_of(7, 0, false), &frames(["ab", "c"]));
        assert_eq!(open.take_part(part_of(8, 0, false), &frames(["a", "bc"])), Next::Withdraw);
    }

    #[test]
    fn a_reply_in_parts_that_nobody_reads_is_given_up() {
        let part_bytes = Bytes::from_vec(vec![0; STREAM_BYTES_MAX / 4]);
        for (taker, count_max) in [(Taker::Stream, 4), (Taker::Inbox, 16)] {
            let mut open = OpenRequests::new(CLIENT);
            open.add(b"echo", Message::new(), None, taker);
            for index in 0..count_max {
                assert_eq!(
                    open.take_part(part(1, index, false), std::slice::from_ref(&part_bytes)),
                    Next::Nothing
                );
            }
            let next = open.take_part(part(1, count_max, false), std::slice::from_ref(&part_bytes));
            assert_eq!((next, open.open_count()), (Next::Withdraw, 0));
        }
    }

    #[test]
    fn what_waits_for_too_long_fails_and_what_is_withdrawn_is_dropped() {
        let now = Instant::now();
        let mut open = OpenRequests::new(CLIENT);
        let short = open.add(b"echo", Message::new(), Some(now), Taker::Stream);
        let long = open.add(b"echo", Message::new(), Some(now + Duration::from_secs(9)), Taker::Inbox);
        assert_eq!(open.expire(now, Duration::from_secs(1)), [short]);
        let timed_out = RequestError::TimedOut(Duration::from_secs(1));
        assert!(matches!(open.collect(short), Found::End(Err(error)) if error == timed_out));
        assert!(open.withdraw(long) && !open.withdraw(long));
        open.take_part(part(long, 0, true), &body("late"));
        assert_eq!((open.pop_inbox(), open.open_count(), open.span()), (None, 0, 0));
    }
}
