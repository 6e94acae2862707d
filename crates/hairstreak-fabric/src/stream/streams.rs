//! `Streams`: all streams of one card.
//!
//! Words of the FIFO may overtake each other. What follows from that:
//!
//! - Each [`Control::Want`] is answered by one grant, and each grant by one `Filled`, which may have no bytes. `Filled` words are numbered.
//! - An end says how many there were, and is sent when no want and no grant is open. So whoever has the end, and as many `Filled` words, has
//!   all that will ever come for the stream, and its number can be used again once both ends have ended.
//! - A chunk that was announced is filled to its last word, whatever becomes of the stream.
//!
//! A card that is gone takes its streams with it: nothing more of it arrives, and its chunks are free at once.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::chunks::{CHUNK_BYTES, Chunks, address, counter};
use super::control::{Control, PLACE_COUNT, SIZE_MAX};
use crate::card::{PutWord, Vic};

/// Bytes that a stream holds and has not sent.
const OUTGOING_MAX: usize = 64 * 1024;
/// Chunks that a stream wants at a time.
const GRANTS_MAX: usize = 4;
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
    /// Nobody listens at the port, or the other card has too many streams.
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
    /// Both ends have ended. The number may become another stream's.
    Gone(StreamId),
    /// The other card is gone, and the stream with it. The number may become another stream's.
    Lost(StreamId),
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The other end has ended, and all of its bytes were read.
    End,
    /// The other end has given the stream up.
    Reset,
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
/// assert_eq!(server.read(accepted, &two, &mut bytes), Found::Bytes(5));
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
    /// Chunks that are granted and not announced, with their streams.
    granted: BTreeMap<u8, u16>,
    /// Streams whose senders want a chunk, one entry for each chunk.
    wanting: VecDeque<u16>,
    /// What is to be said to other cards.
    said: BTreeMap<u32, VecDeque<Control>>,
    /// Streams that have something to send.
    sending: BTreeSet<u16>,
    /// Streams whose next chunk is announced and not whole.
    awaiting: BTreeSet<u16>,
    events: VecDeque<StreamEvent>,
}

#[derive(Debug)]
struct Stream {
    peer: u32,
    /// The other end's number, once it is known.
    there: Option<u16>,
    outgoing: VecDeque<u8>,
    /// Chunks that are wanted and not granted.
    wants: usize,
    grants: VecDeque<u8>,
    /// The chunk that is being filled: the words that are not under way.
    filling: VecDeque<PutWord>,
    /// Chunks that were announced.
    filled: u32,
    /// No more bytes come from this side; whether the stream was given up.
    ending: Option<bool>,
    is_end_said: bool,
    is_writer_told: bool,
    /// Announced chunks by place, with their sizes.
    arrived: HashMap<u32, (u8, u16)>,
    next: u32,
    /// Bytes of the next chunk that were read.
    offset: usize,
    /// How many chunks the other end has announced, and whether it has given up.
    end: Option<(u32, bool)>,
    /// The application has been told of the end.
    has_read_end: bool,
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
            granted: BTreeMap::new(),
            wanting: VecDeque::new(),
            said: BTreeMap::new(),
            sending: BTreeSet::new(),
            awaiting: BTreeSet::new(),
            events: VecDeque::new(),
        }
    }

    /// How many streams there are, whose numbers are not free.
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// Chunks that are granted to nobody.
    pub fn free_chunk_count(&self) -> usize {
        self.chunks.count()
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

    /// Hands bytes over. Returns how many were taken.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8]) -> usize {
        let Some(found) = self.streams.get_mut(&stream.0).filter(|found| found.ending.is_none()) else {
            return 0;
        };
        let count = bytes.len().min(OUTGOING_MAX - found.outgoing.len());
        found.outgoing.extend(&bytes[..count]);
        found.is_writer_told = count == bytes.len();
        self.sending.insert(stream.0);
        count
    }

    /// Takes bytes that have come, in order.
    pub fn read(&mut self, stream: StreamId, card: &(impl Vic + ?Sized), into: &mut [u8]) -> Found {
        let Some(found) = self.streams.get_mut(&stream.0) else { return Found::Reset };
        let mut count = 0;
        while count < into.len()
            && let Some(&(chunk, size)) = found.arrived.get(&found.next)
        {
            if !is_whole(card, chunk) {
                self.awaiting.insert(stream.0);
                break;
            }
            let part = (usize::from(size) - found.offset).min(into.len() - count);
            copy_bytes(card, chunk, found.offset, &mut into[count..count + part]);
            count += part;
            found.offset += part;
            if found.offset == usize::from(size) {
                found.consume(&mut self.chunks);
            }
        }
        if count > 0 {
            return Found::Bytes(count);
        }
        match found.end {
            Some((_, true)) => Found::Reset,
            Some((place, false)) if place == found.next => {
                found.has_read_end = true;
                self.awaiting.insert(stream.0);
                Found::End
            }
            _ => Found::Nothing,
        }
    }

    /// No more bytes come from this side. What was written still goes out.
    pub fn close(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream.0) {
            found.ending = found.ending.or(Some(false));
            self.sending.insert(stream.0);
        }
    }

    /// Gives the stream up: what was written and not sent is dropped, and so is what comes.
    pub fn reset(&mut self, stream: StreamId) {
        if let Some(found) = self.streams.get_mut(&stream.0) {
            found.give_up();
            self.sending.insert(stream.0);
            self.awaiting.insert(stream.0);
        }
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
        self.look_at_awaited(card);
        self.grant();
        for number in std::mem::take(&mut self.sending) {
            has_acted |= self.send(number, card);
        }
        has_acted | self.speak(card)
    }

    /// The streams of a card that is gone are over.
    fn lose(&mut self, rank: u32, card: &mut (impl Vic + ?Sized)) {
        self.said.remove(&rank);
        let lost: BTreeMap<u16, Stream> =
            self.streams.extract_if(.., |_, stream| stream.peer == rank).collect();
        let granted =
            self.granted.extract_if(.., |_, number| lost.contains_key(number)).map(|(chunk, _)| chunk);
        let arrived = lost.values().flat_map(|stream| stream.arrived.values().map(|(chunk, _)| *chunk));
        for chunk in granted.chain(arrived) {
            if let Some(counter) = counter(chunk) {
                card.clear(counter);
            }
            self.chunks.give_back(chunk);
        }
        self.wanting.retain(|number| !lost.contains_key(number));
        for number in lost.keys() {
            self.sending.remove(number);
            self.awaiting.remove(number);
            self.events.push_back(StreamEvent::Lost(StreamId(*number)));
        }
    }

    fn hear(&mut self, from: u32, control: Control, card: &mut (impl Vic + ?Sized)) {
        match control {
            Control::Open { port, here } => self.accept(from, port, here),
            Control::Accept { there, here } => {
                if let Some(stream) = self.of(there, from) {
                    stream.there = Some(here);
                    self.events.push_back(StreamEvent::Opened(StreamId(there)));
                    self.sending.insert(there);
                }
            }
            Control::Refuse { there } => {
                if self.of(there, from).is_some() {
                    self.streams.remove(&there);
                    self.events.push_back(StreamEvent::Refused(StreamId(there)));
                }
            }
            Control::Want { there } => {
                if self.of(there, from).is_some() {
                    self.wanting.push_back(there);
                }
            }
            Control::Grant { there, chunk } => {
                if let Some(stream) = self.of(there, from) {
                    stream.wants = stream.wants.saturating_sub(1);
                    stream.grants.push_back(chunk);
                    self.sending.insert(there);
                }
            }
            Control::Filled { there, chunk, size, place } => {
                if let Some(counter) = counter(chunk) {
                    card.expect_words(counter, u32::from(size).div_ceil(8));
                }
                self.granted.remove(&chunk);
                if let Some(stream) = self.of(there, from) {
                    stream.arrived.insert(place, (chunk, size));
                    self.awaiting.insert(there);
                }
            }
            Control::End { there, place } => self.end(from, there, (place, false)),
            Control::Reset { there, place } => self.end(from, there, (place, true)),
        }
    }

    fn accept(&mut self, from: u32, port: u16, there: u16) {
        let number = self.listening.contains(&port).then(|| self.add(from, Some(there))).flatten();
        let Some(here) = number else { return self.say(from, Control::Refuse { there }) };
        self.say(from, Control::Accept { there, here });
        self.events.push_back(StreamEvent::Accepted { stream: StreamId(here), port, from });
    }

    fn end(&mut self, from: u32, number: u16, end: (u32, bool)) {
        let Some(stream) = self.of(number, from) else { return };
        stream.end = Some(end);
        if end.1 {
            stream.give_up();
        }
        self.awaiting.insert(number);
        self.sending.insert(number);
    }

    /// Streams whose next chunk may be whole by now, or that may be gone.
    fn look_at_awaited(&mut self, card: &(impl Vic + ?Sized)) {
        for number in std::mem::take(&mut self.awaiting) {
            let Some(stream) = self.streams.get_mut(&number) else { continue };
            let mut is_readable = false;
            let mut waits = false;
            while let Some(&(chunk, size)) = stream.arrived.get(&stream.next) {
                if !is_whole(card, chunk) {
                    waits = true;
                    break;
                }
                if size > 0 && !stream.is_given_up() {
                    is_readable = true;
                    break;
                }
                stream.consume(&mut self.chunks);
            }
            is_readable |= stream.end.is_some_and(|(place, is_reset)| is_reset || place == stream.next);
            if is_readable {
                self.events.push_back(StreamEvent::Readable(StreamId(number)));
            }
            if waits {
                self.awaiting.insert(number);
            }
            self.remove_if_over(number);
        }
    }

    /// Gives chunks to those who want them, in the order in which they came.
    fn grant(&mut self) {
        let mut unknown = VecDeque::new();
        while self.chunks.count() > 0
            && let Some(number) = self.wanting.pop_front()
        {
            let Some(stream) = self.streams.get(&number) else { continue };
            let Some(there) = stream.there else {
                unknown.push_back(number);
                continue;
            };
            let Some(chunk) = self.chunks.take() else { break };
            let peer = stream.peer;
            self.granted.insert(chunk, number);
            self.say(peer, Control::Grant { there, chunk });
        }
        self.wanting.append(&mut unknown);
    }

    /// Sends what a stream has. Returns whether anything was done.
    fn send(&mut self, number: u16, card: &mut (impl Vic + ?Sized)) -> bool {
        let Some(stream) = self.streams.get_mut(&number) else { return false };
        let (peer, Some(there)) = (stream.peer, stream.there) else { return false };
        let said = self.said.entry(peer).or_default();
        let mut has_acted = false;
        loop {
            if !stream.filling.is_empty() {
                let taken = card.put(peer, stream.filling.make_contiguous());
                stream.filling.drain(..taken);
                has_acted |= taken > 0;
                if !stream.filling.is_empty() {
                    self.sending.insert(number);
                    return has_acted;
                }
            }
            let is_idle = stream.outgoing.is_empty() && stream.ending.is_none();
            let Some(chunk) = stream.next_grant(!is_idle) else { break };
            let size = stream.outgoing.len().min(CHUNK_BYTES);
            stream.fill(chunk, size);
            said.push_back(Control::Filled { there, chunk, size: size as u16, place: stream.filled });
            stream.filled = (stream.filled + 1) % PLACE_COUNT;
            has_acted = true;
        }
        let wanted = stream.outgoing.len().div_ceil(CHUNK_BYTES).min(GRANTS_MAX);
        while stream.wants + stream.grants.len() < wanted {
            stream.wants += 1;
            said.push_back(Control::Want { there });
        }
        let is_done = stream.outgoing.is_empty() && stream.wants == 0 && stream.grants.is_empty();
        if let Some(is_reset) = stream.ending
            && is_done
            && !std::mem::replace(&mut stream.is_end_said, true)
        {
            let place = stream.filled;
            said.push_back(match is_reset {
                true => Control::Reset { there, place },
                false => Control::End { there, place },
            });
        }
        if !stream.is_writer_told && stream.outgoing.len() <= OUTGOING_MAX / 2 {
            stream.is_writer_told = true;
            self.events.push_back(StreamEvent::Writable(StreamId(number)));
        }
        self.remove_if_over(number);
        has_acted
    }

    /// Says what there is credit for.
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
        let is_over = self.streams.get(&number).is_some_and(|stream| {
            let is_done = stream.has_read_end || stream.is_given_up();
            is_done && stream.is_end_said && stream.end.is_some_and(|(place, _)| place == stream.next)
        });
        if is_over {
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
        self.streams.insert(number, Stream::new(peer, there));
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

impl Stream {
    fn new(peer: u32, there: Option<u16>) -> Stream {
        Stream {
            peer,
            there,
            outgoing: VecDeque::new(),
            wants: 0,
            grants: VecDeque::new(),
            filling: VecDeque::new(),
            filled: 0,
            ending: None,
            is_end_said: false,
            is_writer_told: true,
            arrived: HashMap::new(),
            next: 0,
            offset: 0,
            end: None,
            has_read_end: false,
        }
    }

    fn is_given_up(&self) -> bool {
        self.ending == Some(true)
    }

    fn give_up(&mut self) {
        self.outgoing.clear();
        // One that has said its end has nothing more to say.
        self.ending = Some(true);
    }

    /// The next chunk to be filled, if the stream has use for one.
    fn next_grant(&mut self, has_use: bool) -> Option<u8> {
        if has_use { self.grants.pop_front() } else { None }
    }

    /// The next chunk is done with.
    fn consume(&mut self, chunks: &mut Chunks) {
        if let Some((chunk, _)) = self.arrived.remove(&self.next) {
            chunks.give_back(chunk);
        }
        self.next = (self.next + 1) % PLACE_COUNT;
        self.offset = 0;
    }

    /// Makes words of the first bytes.
    fn fill(&mut self, chunk: u8, size: usize) {
        let bytes: Vec<u8> = self.outgoing.drain(..size).collect();
        let words = bytes.chunks(8).zip(address(chunk)..).map(|(bytes, address)| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            PutWord { address, word: u64::from_le_bytes(word), counter: counter(chunk) }
        });
        self.filling.extend(words);
    }
}

fn is_whole(card: &(impl Vic + ?Sized), chunk: u8) -> bool {
    counter(chunk).is_some_and(|counter| card.missing(counter) == 0)
}

/// Copies bytes of a chunk from `offset` on.
fn copy_bytes(card: &(impl Vic + ?Sized), chunk: u8, offset: usize, into: &mut [u8]) {
    let (first, end) = (offset / 8, (offset + into.len()).div_ceil(8));
    let mut words = vec![0; end - first];
    card.read(address(chunk) + first as u32, &mut words);
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).skip(offset % 8);
    into.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
}
