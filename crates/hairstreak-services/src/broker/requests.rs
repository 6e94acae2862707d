//! `Request`: one request that was taken and not answered.

use std::time::Duration;

use hairstreak_base::{Body, Bytes};
use hairstreak_wire::hsn1::RequestId;
use slab::Slab;

use super::workers::WorkerRef;

/// Requests by their keys.
#[derive(Debug, Default)]
pub(super) struct Requests {
    slab: Slab<Request>,
    /// Of the next one: tells apart those that had the same key.
    next_serial: u32,
    /// The next run of a worker that names none.
    next_run: u64,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Where the next look at the old ones begins.
    cursor: usize,
    /// Those that share much memory with others, and have come since the last look.
    wasteful: Vec<RequestRef>,
}

/// A key that says whether what it stood for is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestRef {
    pub key: usize,
    serial: u32,
}

#[derive(Debug)]
pub(super) struct Request {
    pub id: RequestId,
    /// The client's first open number when it was sent.
    pub first: u64,
    pub service: usize,
    pub client: usize,
    pub body: Body,
    pub state: RequestState,
    /// Workers that had it.
    pub deliveries: u16,
    /// It counts among the suspects of the worker that has it.
    pub suspicion: Option<usize>,
    /// The last of them.
    pub last_worker: Option<WorkerRef>,
    /// Who has it from before, too, and is asked if the one that has it now does not answer.
    pub other_holder: Option<WorkerRef>,
    /// Its client has sent it to another broker: a worker may have it without having said so yet.
    pub is_from_elsewhere: bool,
    /// A worker may have done it.
    pub is_repeated: bool,
    pub arrived: Duration,
    /// Since when it has waited for a worker: since it came, or since the last one that had it had it no more.
    pub waits_since: Duration,
    /// When its client waits no more.
    pub expires: Option<Duration>,
    /// What has come of the reply.
    pub parts: RunParts,
    /// Parts for a client that takes one message only.
    pub gathered: Vec<Bytes>,
    /// Bytes that it is counted with.
    size: usize,
    gathered_bytes: usize,
    serial: u32,
}

/// What has come from the worker that has a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunParts {
    /// Parts of the reply.
    pub count: u32,
    /// What names the run, where its worker does not.
    pub run: u64,
}

/// Where a part belongs, as far as its worker says so.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its place among the parts; of plain MDP they are counted here.
    pub index: Option<u32>,
    /// The run that says it; else it is named here.
    pub run: Option<u64>,
}

impl Place {
    /// The only part.
    pub const WHOLE: Place = Place { index: Some(0), run: None };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    /// It is on its way from one of the others to another one.
    Moving,
    /// It waits in its service's queue.
    Queued,
    /// It waits for a worker of its service that has few others: how suspect it is.
    Suspect { step: usize },
    /// It waits for the worker that has it already, if there is one.
    Holding,
    /// It waits until the worker that has it already has room for it.
    Kept { worker: WorkerRef },
    /// It waits for its client to read.
    Parked,
    /// A worker has it.
    Dispatched { worker: WorkerRef, since: Duration },
}

/// What is known of a request when it comes.
pub(super) struct Arrival {
    pub id: RequestId,
    pub first: u64,
    pub service: usize,
    pub client: usize,
    pub body: Body,
    pub is_repeated: bool,
    pub is_from_elsewhere: bool,
    pub arrived: Duration,
    pub expires: Option<Duration>,
}

/// What frames are counted with, so that many empty ones are not for nothing.
pub(super) fn size_of_frames(frames: &[Bytes]) -> usize {
    frames.iter().map(|frame| size_of::<Bytes>() + frame.size()).sum()
}

/// What a request with this body is counted with.
pub(super) fn size_of_request(body: &Body) -> usize {
    size_of::<Request>() + size_of_frames(body.frames())
}

impl Request {
    /// Whether the worker has it, or it waits for that one's room.
    pub fn is_with(&self, worker: WorkerRef) -> bool {
        match self.state {
            RequestState::Dispatched { worker: has, .. } | RequestState::Kept { worker: has } => {
                has == worker
            }
            _ => false,
        }
    }

    /// Whether parts before that one are missing.
    pub fn is_behind_gap(&self, place: Place) -> bool {
        place.index.is_some_and(|index| index != self.parts.count)
    }

    /// Bytes that it is counted with.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Requests {
    /// None. `runs_from`: a random number.
    pub fn new(runs_from: u64) -> Requests {
        Requests { next_run: runs_from, ..Requests::default() }
    }

    /// A worker is about to do the request from its beginning: no part has come of it.
    pub fn begin_run(&mut self, key: usize) {
        let Some(request) = self.slab.get_mut(key) else { return };
        request.parts = RunParts { count: 0, run: self.next_run };
        self.next_run = self.next_run.wrapping_add(1);
        self.take_gathered(key);
    }

    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// The request is in no list yet.
    pub fn insert(&mut self, arrival: Arrival) -> usize {
        self.next_serial = self.next_serial.wrapping_add(1);
        let Arrival { id, first, service, client, body, is_repeated, is_from_elsewhere, arrived, expires } =
            arrival;
        let size = size_of_request(&body);
        self.bytes += size;
        let is_wasteful = body.is_wasteful();
        let key = self.slab.insert(Request {
            id,
            first,
            service,
            client,
            body,
            state: RequestState::Moving,
            deliveries: 0,
            suspicion: None,
            last_worker: None,
            other_holder: None,
            is_from_elsewhere,
            is_repeated,
            arrived,
            waits_since: arrived,
            expires,
            parts: RunParts::default(),
            gathered: Vec::new(),
            size,
            gathered_bytes: 0,
            serial: self.next_serial,
        });
        if is_wasteful {
            self.wasteful.push(RequestRef { key, serial: self.next_serial });
        }
        key
    }

    pub fn remove(&mut self, key: usize) -> Option<Request> {
        let request = self.slab.try_remove(key)?;
        self.bytes -= request.size + request.gathered_bytes;
        Some(request)
    }

    pub fn get(&self, key: usize) -> Option<&Request> {
        self.slab.get(key)
    }

    pub fn get_mut(&mut self, key: usize) -> Option<&mut Request> {
        self.slab.get_mut(key)
    }

    /// What the reference stood for when it was made.
    pub fn find(&self, reference: RequestRef) -> Option<&Request> {
        self.slab.get(reference.key).filter(|request| request.serial == reference.serial)
    }

    /// Whether the reference stands for a request in this state.
    pub fn is(&self, reference: RequestRef, state: RequestState) -> bool {
        self.find(reference).is_some_and(|request| request.state == state)
    }

    pub fn reference(&self, key: usize) -> Option<RequestRef> {
        self.slab.get(key).map(|request| RequestRef { key, serial: request.serial })
    }

    /// Requests that are still here are kept without what came with them.
    pub fn compact(&mut self) {
        for reference in std::mem::take(&mut self.wasteful) {
            if let Some(request) = self.slab.get_mut(reference.key).filter(|r| r.serial == reference.serial) {
                request.body.compact();
            }
        }
    }

    /// Keeps parts of a reply until the last one comes.
    pub fn gather(&mut self, key: usize, body: &[Bytes]) {
        let Some(request) = self.slab.get_mut(key) else { return };
        let size = size_of_frames(body);
        request.gathered.extend(body.iter().map(Bytes::compacted));
        request.gathered_bytes += size;
        self.bytes += size;
    }

    /// What was gathered, which is kept no more.
    pub fn take_gathered(&mut self, key: usize) -> Vec<Bytes> {
        let Some(request) = self.slab.get_mut(key) else { return Vec::new() };
        self.bytes -= std::mem::take(&mut request.gathered_bytes);
        std::mem::take(&mut request.gathered)
    }

    /// The keys of the next places, from where the last look ended, as far as they are taken.
    pub fn look(&mut self) -> Vec<usize> {
        look(&self.slab, &mut self.cursor)
    }
}

/// All places have been looked at in so many looks.
const LOOKS_OF_ALL: usize = 8;
/// Places in one look at least.
const LOOK_COUNT_MIN: usize = 256;

/// Of the places from `cursor` on, those that are taken; the cursor goes on.
pub(super) fn look<T>(slab: &Slab<T>, cursor: &mut usize) -> Vec<usize> {
    let size = slab.capacity();
    if slab.is_empty() {
        return Vec::new();
    }
    let count = (size / LOOKS_OF_ALL).max(LOOK_COUNT_MIN).min(size);
    let places = (0..count).map(|offset| (*cursor + offset) % size);
    let found = places.filter(|key| slab.contains(*key)).collect();
    *cursor = (*cursor + count) % size;
    found
}
