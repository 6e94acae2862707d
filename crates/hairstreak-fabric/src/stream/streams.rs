//! `Streams`: all streams of one card.
//!
//! Words of the FIFO may overtake each other. The rules follow from that:
//!
//! - Each [`Control::Want`] is answered by one grant, and each grant by one `Filled`, which may have no bytes. `Filled` words are numbered.
//! - An end carries the number of its `Filled` words, and is sent when no want and no grant is open. So a card that has
//!   the end, and as many `Filled` words, has all bytes that will ever come for the stream.
//! - Each card announces once that it takes no more bytes: `Done`, or a `Reset` in place of its end. When a card has
//!   announced that and its end, and has received both, no word for the stream is under way, and its number can be used
//!   again.
//!   has heard both, no word for the stream is under way, and its number can be used again.
//! - A chunk that was announced is filled to its last word, even if the stream ends.
//!
//! A card that is gone takes its streams with it: nothing more of it arrives, and its chunks are free at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::chunks::{CHUNK_BYTES, Chunks, counter};
use super::control::{Control, SIZE_MAX};
use super::receiving::{Found, Receiving};
use super::sending::{Ending, Sending};
use super::turns::Turns;
use crate::card::Vic;

/// Words that wait until a card takes others. A card that leaves this number waiting opens no further stream.
const SAID_MAX: usize = 1 << 16;
/// Streams of a card.
const STREAMS_MAX: usize = 1 << 16;

const _: () = assert!(CHUNK_BYTES <= SIZE_MAX as usize);

/// The number of a stream at its card, until [`StreamEvent::Gone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(u16);

/// A stream that cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The card has as many as it may.
    #[error("a card has at most {STREAMS_MAX} streams")]
    TooMany,
    /// There is no such card.
    #[error("there is no rank {0}")]
    Rank(u32),
}

/// News of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The other card has accepted the stream.
    Opened(StreamId),
    /// The port has no listener, or the other card has too many streams.
    Refused(StreamId),
    /// Another card has opened a stream to this one.
    Accepted {
        /// The stream.
        stream: StreamId,
        /// The port that the other card asked for.
        port: u16,
        /// The other card.
        from: u32,
    },
    /// Bytes are there, or the stream has ended.
    Readable(StreamId),
    /// There is room for bytes again.
    Writable(StreamId),
    /// The other end takes no more bytes: it has all of them, or has given up.
    Done(StreamId),
    /// Both ends have ended. The number may become another stream's.
    Gone(StreamId),
    /// The other card is gone, and the stream with it. The number may become another stream's.
    Lost(StreamId),
}

/// All streams of one card. The card's memory is theirs, and its counters and FIFO.
///
/// ```
/// use hairstreak_fabric::card::{CardLimits, SharedCards};
/// use hairstreak_fabric::stream::{Found, StreamEvent, Streams};
///
/// let cards = SharedCards::in_process(2, CardLimits::default())?;
/// let (mut one, mut two) = (cards.card(0), cards.card(1));
/// let (mut client, mut server) = (Streams::new(&one), Streams::new(&two));
/// server.listen(5672);
/// let stream = client.open(1, 5672)?;
/// client.write(stream, b"hello");
/// let accepted = loop {
///     client.poll(&mut one);
///     server.poll(&mut two);
///     if let Some(StreamEvent::Readable(accepted)) = server.next_event() {
///         break accepted;
///     }
/// };
/// let mut bytes = [0; 16];
/// assert_eq!(server.read(accepted, &mut bytes), Found::Bytes(5));
/// assert_eq!(&bytes[..5], b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Streams {
    size: u32,
    streams: BTreeMap<u16, Stream>,
    next_number: u16,
    listening: BTreeSet<u16>,
    chunks: Chunks,
    /// Streams whose senders want a chunk.
    wanting: Turns,
    /// Control words that wait to be sent, by card.
    said: BTreeMap<u32, VecDeque<Control>>,
    /// Streams that have something to send.
    sending: BTreeSet<u16>,
    /// Streams that may have received something.
    receiving: BTreeSet<u16>,
    events: VecDeque<StreamEvent>,
}

#[derive(Debug)]
struct Stream {
    peer: u32,
    /// The other end's number, once it is known.
    there: Option<u16>,
    sending: Sending,
    receiving: Receiving,
}

impl Streams {
    /// No streams yet.
    pub fn new(card: &(impl Vic + ?Sized)) -> Streams {
        Streams {
            size: card.size(),
            streams: BTreeMap::new(),
            next_number: 0,
            listening: BTreeSet::new(),
            chunks: Chunks::new(card.memory_words()),
            wanting: Turns::default(),
            said: BTreeMap::new(),
            sending: BTreeSet::new(),
            receiving: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the number of streams, whose numbers are not free.
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// Returns the number of free chunks.
    pub fn free_chunk_count(&self) -> usize {
        self.chunks.free_count()
    }

    /// Returns `true` if words wait for room at the card: poll the streams again even if nothing has come.
    pub fn has_unsent(&self) -> bool {
        !self.said.is_empty() || !self.sending.is_empty()
    }

    /// Accepts streams to this port.
    pub fn listen(&mut self, port: u16) {
        self.listening.insert(port);
    }

    /// Refuses streams to this port.
    pub fn stop_listening(&mut self, port: u16) {
        self.listening.remove(&port);
    }

    /// Opens a stream. Bytes may be written at once.
    ///
    /// # Errors
    ///
    /// See [`OpenError`].
    pub fn open(&mut self, rank: u32, port: u16) -> Result<StreamId, OpenError> {
        if rank >= self.size {
            return Err(OpenError::Rank(rank));
        }
        let number = self.add(rank, None).ok_or(OpenError::TooMany)?;
        self.say(rank, Control::Open { port, here: number });
        Ok(StreamId(number))
    }

    /// Hands bytes over. Returns the number of bytes taken.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8]) -> usize {
        let Some(found) = self.streams.get_mut(&stream.0) else { return 0 };
        self.sending.insert(stream.0);
        found.sending.write(bytes)
    }

    /// Returns the number of bytes that a write would take now. After 0, [`StreamEvent::Writable`] reports new room.
    pub fn room(&self, stream: StreamId) -> usize {
        self.streams.get(&stream.0).map_or(0, |found| found.sending.room())
    }

    /// Takes bytes that have come, in order.
    pub fn read(&mut self, stream: StreamId, into: &mut [u8]) -> Found {
        let Some(found) = self.streams.get_mut(&stream.0) else { return Found::Reset };
        let read = found.receiving.read(into);
        if matches!(read, Found::End | Found::Reset) {
            self.sending.insert(stream.0);
        }
        self.list(stream.0);
        read
    }

    /// Ends this side of the stream. Written bytes still go out.
    pub fn close(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream.0) {
            found.sending.close();
            self.sending.insert(stream.0);
        }
    }

    /// Abandons the stream: the application reads no more, and bytes that come are dropped. Written bytes still go out.
    pub fn abandon(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream.0) {
            found.sending.abandon();
            found.receiving.give_up();
            self.sending.insert(stream.0);
            self.receiving.insert(stream.0);
            self.list(stream.0);
        }
    }

    /// Abandons the stream as [`Streams::abandon`] does, and drops the written bytes that were not sent.
    pub fn reset(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream.0) {
            found.sending.reset();
        }
        self.abandon(stream);
    }

    /// The next news.
    pub fn next_event(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    /// Does all that can be done now. Returns whether anything was.
    pub fn poll(&mut self, card: &mut (impl Vic + ?Sized)) -> bool {
        let mut has_acted = false;
        for rank in card.notice_replaced() {
            self.lose(rank, card);
        }
        while let Some((from, word)) = card.take_surprise() {
            has_acted = true;
            if let Some(control) = Control::decode(word) {
                self.hear(from, control, card);
            }
        }
        for number in std::mem::take(&mut self.receiving) {
            has_acted |= self.receive(number, card);
        }
        self.grant();
        for number in std::mem::take(&mut self.sending) {
            has_acted |= self.send(number, card);
        }
        has_acted | self.speak(card)
    }

    /// The streams of a card that is gone are over.
    fn lose(&mut self, rank: u32, card: &mut (impl Vic + ?Sized)) {
        self.said.remove(&rank);
        self.wanting.forget(rank);
        for chunk in self.chunks.held_by(rank) {
            if let Some(counter) = counter(chunk) {
                card.clear(counter);
            }
            self.chunks.give_back(chunk);
        }
        for (number, _) in self.streams.extract_if(.., |_, stream| stream.peer == rank) {
            self.events.push_back(StreamEvent::Lost(StreamId(number)));
        }
    }

    fn hear(&mut self, from: u32, control: Control, card: &mut (impl Vic + ?Sized)) {
        match control {
            Control::Open { port, here } => self.accept(from, port, here),
            Control::Accept { there, here } => {
                if let Some(stream) = self.of(there, from).filter(|stream| stream.there.is_none()) {
                    stream.there = Some(here);
                    self.events.push_back(StreamEvent::Opened(StreamId(there)));
                    self.sending.insert(there);
                    self.list(there);
                }
            }
            Control::Refuse { there } => {
                if self.of(there, from).is_some_and(|stream| stream.there.is_none()) {
                    self.streams.remove(&there);
                    self.events.push_back(StreamEvent::Refused(StreamId(there)));
                }
            }
            Control::Want { there } => {
                if let Some(stream) = self.of(there, from) {
                    stream.receiving.ask();
                    self.list(there);
                }
            }
            Control::Grant { there, chunk } => {
                let exists = self.chunks.exists(chunk);
                if let Some(stream) = self.of(there, from).filter(|_| exists)
                    && stream.sending.grant(chunk)
                {
                    self.sending.insert(there);
                }
            }
            Control::Filled { there, chunk, size, place } => {
                let is_small = usize::from(size) <= CHUNK_BYTES;
                if is_small
                    && self.chunks.announce(chunk, from, there)
                    && let Some(stream) = self.of(there, from)
                    && let Some(counter) = counter(chunk)
                {
                    stream.receiving.announce(place, chunk, size);
                    card.expect_words(counter, u32::from(size).div_ceil(8));
                    self.receiving.insert(there);
                }
            }
            Control::End { there, place } => self.end(from, there, place, Ending::Close),
            Control::Reset { there, place } => {
                self.end(from, there, place, Ending::Reset);
                self.end_receiver(from, there);
            }
            Control::Done { there } => self.end_receiver(from, there),
        }
    }

    fn accept(&mut self, from: u32, port: u16, there: u16) {
        if self.said.get(&from).is_some_and(|said| said.len() >= SAID_MAX) {
            return;
        }
        let number = self.listening.contains(&port).then(|| self.add(from, Some(there))).flatten();
        let Some(here) = number else { return self.say(from, Control::Refuse { there }) };
        self.say(from, Control::Accept { there, here });
        self.events.push_back(StreamEvent::Accepted { stream: StreamId(here), port, from });
    }

    /// The other end has ended, `place` chunks after its beginning.
    fn end(&mut self, from: u32, number: u16, place: u32, ending: Ending) {
        let Some(stream) = self.of(number, from) else { return };
        stream.receiving.end(place, ending == Ending::Reset);
        self.receiving.insert(number);
    }

    /// The other end takes no more bytes.
    fn end_receiver(&mut self, from: u32, number: u16) {
        if let Some(stream) = self.of(number, from)
            && stream.sending.end_receiver()
        {
            self.events.push_back(StreamEvent::Done(StreamId(number)));
            self.sending.insert(number);
        }
    }

    /// Takes the bytes that have come for a stream. Returns whether there were any.
    fn receive(&mut self, number: u16, card: &(impl Vic + ?Sized)) -> bool {
        let Some(stream) = self.streams.get_mut(&number) else { return false };
        let free = self.chunks.free_count();
        if stream.receiving.empty_chunks(card, &mut self.chunks) {
            self.receiving.insert(number);
        }
        if stream.receiving.tells_reader() {
            self.events.push_back(StreamEvent::Readable(StreamId(number)));
        }
        self.list(number);
        self.remove_if_over(number);
        self.chunks.free_count() > free
    }

    /// Lists a stream that may be granted a chunk.
    fn list(&mut self, number: u16) {
        if let Some(stream) = self.streams.get_mut(&number)
            && stream.there.is_some()
            && stream.receiving.may_grant()
            && !std::mem::replace(&mut stream.receiving.is_listed, true)
        {
            self.wanting.add(stream.peer, number);
        }
    }

    /// Grants chunks to streams in turn. A stream whose card has its share is passed over.
    fn grant(&mut self) {
        while self.chunks.free_count() > 0
            && let Some(number) = self.wanting.next(|peer| self.chunks.has_share_left(peer))
        {
            let Some(stream) = self.streams.get_mut(&number) else { continue };
            stream.receiving.is_listed = false;
            let (peer, Some(there)) = (stream.peer, stream.there) else { continue };
            if stream.receiving.may_grant()
                && let Some(chunk) = self.chunks.grant(peer, number)
            {
                stream.receiving.note_granted();
                self.list(number);
                self.say(peer, Control::Grant { there, chunk });
            }
        }
    }

    /// Sends the output of a stream. Returns whether anything was done.
    fn send(&mut self, number: u16, card: &mut (impl Vic + ?Sized)) -> bool {
        let Some(stream) = self.streams.get_mut(&number) else { return false };
        let (peer, Some(there)) = (stream.peer, stream.there) else { return false };
        let said = self.said.entry(peer).or_default();
        let mut has_acted = false;
        loop {
            said.extend((0..stream.sending.want_more()).map(|_| Control::Want { there }));
            let filling = &mut stream.sending.filling;
            if !filling.is_empty() {
                let taken = card.put(peer, filling.make_contiguous());
                filling.drain(..taken);
                has_acted |= taken > 0;
                if !filling.is_empty() {
                    self.sending.insert(number);
                    return has_acted;
                }
            }
            let Some(next) = stream.sending.fill_next() else { break };
            said.push_back(Control::Filled { there, chunk: next.chunk, size: next.size, place: next.place });
            has_acted = true;
        }
        // An end that is sent as a reset stands for this word.
        let is_done = !stream.sending.will_reset() && stream.receiving.say_done();
        said.extend(is_done.then_some(Control::Done { there }));
        match stream.sending.say_end() {
            Some((Ending::Reset, place)) if stream.receiving.say_done() => {
                said.push_back(Control::Reset { there, place });
            }
            Some((_, place)) => said.push_back(Control::End { there, place }),
            None => {}
        }
        if stream.sending.tells_writer() {
            self.events.push_back(StreamEvent::Writable(StreamId(number)));
        }
        self.remove_if_over(number);
        has_acted
    }

    /// Sends as many control words as there is credit for.
    fn speak(&mut self, card: &mut (impl Vic + ?Sized)) -> bool {
        let mut has_spoken = false;
        self.said.retain(|rank, said| {
            while let Some(control) = said.front()
                && card.surprise(*rank, control.encode())
            {
                said.pop_front();
                has_spoken = true;
            }
            !said.is_empty()
        });
        has_spoken
    }

    fn remove_if_over(&mut self, number: u16) {
        let is_over = |stream: &Stream| stream.sending.is_over() && stream.receiving.is_over();
        if self.streams.get(&number).is_some_and(is_over) {
            self.streams.remove(&number);
            self.events.push_back(StreamEvent::Gone(StreamId(number)));
        }
    }

    /// A new stream's number; none if there are too many.
    fn add(&mut self, peer: u32, there: Option<u16>) -> Option<u16> {
        if self.streams.len() >= STREAMS_MAX {
            return None;
        }
        while self.streams.contains_key(&self.next_number) {
            self.next_number = self.next_number.wrapping_add(1);
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        let stream = Stream { peer, there, sending: Sending::new(), receiving: Receiving::default() };
        self.streams.insert(number, stream);
        Some(number)
    }

    /// The stream of that number, if it is one of that card.
    fn of(&mut self, number: u16, peer: u32) -> Option<&mut Stream> {
        self.streams.get_mut(&number).filter(|stream| stream.peer == peer)
    }

    fn say(&mut self, rank: u32, control: Control) {
        self.said.entry(rank).or_default().push_back(control);
    }
}
