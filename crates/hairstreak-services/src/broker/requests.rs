//! `Request`: a request that was taken and not answered.

use std::time::Duration;

use hairstreak_base::{Body, Bytes};
use hairstreak_wire::hsn1::RequestId;
use slab::Slab;

use super::workers::WorkerRef;

/// Requests by their keys.
#[derive(Debug, Default)]
pub(super) struct Requests {
    slab: Slab<Request>,
    /// Serial number of the next request. It tells apart requests that had the same key.
    next_serial: u32,
    /// Next run of a worker that names none.
    next_run: u64,
    /// Bytes of all requests.
    pub bytes: usize,
    /// Start of the next sweep over the requests.
    cursor: usize,
    /// New requests since the last sweep whose bodies hold on to much more memory than they need.
    wasteful: Vec<RequestRef>,
}

/// A key that can be checked: its request may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestRef {
    pub key: usize,
    serial: u32,
}

#[derive(Debug)]
pub(super) struct Request {
    pub id: RequestId,
    /// The client's first open number at the time of the send.
    pub first: u64,
    pub service: usize,
    pub client: usize,
    pub body: Body,
    pub state: RequestState,
    /// Workers that had the request.
    pub deliveries: u16,
    /// Set if the request counts among the suspects of its worker.
    pub suspicion: Option<usize>,
    /// The last of these workers.
    pub last_worker: Option<WorkerRef>,
    /// Another worker that has the request from before. It is asked if the current worker does not answer.
    pub other_holder: Option<WorkerRef>,
    /// The client has sent the request to another broker: a worker may have it and not have reported it yet.
    pub is_from_elsewhere: bool,
    /// A worker may have done the request.
    pub is_repeated: bool,
    pub arrived: Duration,
    /// Start of the wait for a worker: the arrival, or the time when the last worker lost the request.
    pub waits_since: Duration,
    /// Time at which the client stops waiting.
    pub expires: Option<Duration>,
    /// Received parts of the reply.
    pub parts: RunParts,
    /// Parts for a client that takes one message only.
    pub gathered: Vec<Bytes>,
    /// Accounted bytes of the request.
    size: usize,
    gathered_bytes: usize,
    serial: u32,
}

/// Parts received from the worker that has a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunParts {
    /// Parts of the reply.
    pub count: u32,
    /// Name of the run, for a worker that gives none.
    pub run: u64,
}

/// Position of a part, as far as its worker gives one.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Index among the parts. Parts of plain MDP are counted here.
    pub index: Option<u32>,
    /// Run that the part belongs to. If absent, the broker names the run.
    pub run: Option<u64>,
}

impl Place {
    /// Position of the only part.
    pub const WHOLE: Place = Place { index: Some(0), run: None };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    /// The request is on its way from one state to another.
    Moving,
    /// The request waits in the queue of its service.
    Queued,
    /// The request waits for a worker of its service with few other requests. `step` is the degree of suspicion.
    Suspect { step: usize },
    /// The request waits for the worker that already has it, if there is one.
    Holding,
    /// The request waits until the worker that already has it has room.
    Kept { worker: WorkerRef },
    /// The request waits for its client to read.
    Parked,
    /// A worker has the request.
    Dispatched { worker: WorkerRef, since: Duration },
}

/// Known facts about an arriving request.
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

/// Returns the accounted size of frames. Each frame has a fixed cost, so that many empty frames are not free.
pub(super) fn size_of_frames(frames: &[Bytes]) -> usize {
    frames.iter().map(|frame| size_of::<Bytes>() + frame.size()).sum()
}

/// Returns the accounted size of a request with this body.
pub(super) fn size_of_request(body: &Body) -> usize {
    size_of::<Request>() + size_of_frames(body.frames())
}

impl Request {
    /// Returns whether the worker has the request, or the request waits for room at this worker.
    pub fn is_with(&self, worker: WorkerRef) -> bool {
        match self.state {
            RequestState::Dispatched { worker: has, .. } | RequestState::Kept { worker: has } => {
                has == worker
            }
            _ => false,
        }
    }

    /// Returns whether parts before this one are missing.
    pub fn is_behind_gap(&self, place: Place) -> bool {
        place.index.is_some_and(|index| index != self.parts.count)
    }

    /// Returns the accounted bytes of the request.
    pub fn size(&self) -> usize {
        self.size
    }
}

impl Requests {
    /// Returns an empty table. `runs_from` is a random number.
    pub fn new(runs_from: u64) -> Requests {
        Requests { next_run: runs_from, ..Requests::default() }
    }

    /// Begins a run: a worker does the request from the start, and no part has come yet.
    pub fn begin_run(&mut self, key: usize) {
        let Some(request) = self.slab.get_mut(key) else { return };
        request.parts = RunParts { count: 0, run: self.next_run };
        self.next_run = self.next_run.wrapping_add(1);
        self.take_gathered(key);
    }

    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Adds a request. It is in no list yet.
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

    /// Returns the request of the reference, unless it is gone.
    pub fn find(&self, reference: RequestRef) -> Option<&Request> {
        self.slab.get(reference.key).filter(|request| request.serial == reference.serial)
    }

    /// Returns whether the request of the reference exists and is in this state.
    pub fn is(&self, reference: RequestRef, state: RequestState) -> bool {
        self.find(reference).is_some_and(|request| request.state == state)
    }

    pub fn reference(&self, key: usize) -> Option<RequestRef> {
        self.slab.get(key).map(|request| RequestRef { key, serial: request.serial })
    }

    /// Frees surplus memory of recent requests that are still open.
    pub fn compact(&mut self) {
        for reference in std::mem::take(&mut self.wasteful) {
            if let Some(request) = self.slab.get_mut(reference.key).filter(|r| r.serial == reference.serial) {
                request.body.compact();
            }
        }
    }

    /// Keeps parts of a reply until the last one arrives.
    pub fn gather(&mut self, key: usize, body: &[Bytes]) {
        let Some(request) = self.slab.get_mut(key) else { return };
        let size = size_of_frames(body);
        request.gathered.extend(body.iter().map(Bytes::compacted));
        request.gathered_bytes += size;
        self.bytes += size;
    }

    /// Takes the gathered parts out.
    pub fn take_gathered(&mut self, key: usize) -> Vec<Bytes> {
        let Some(request) = self.slab.get_mut(key) else { return Vec::new() };
        self.bytes -= std::mem::take(&mut request.gathered_bytes);
        std::mem::take(&mut request.gathered)
    }

    /// Returns the keys of the next occupied slots, from the end of the last sweep on.
    pub fn look(&mut self) -> Vec<usize> {
        look(&self.slab, &mut self.cursor)
    }
}

/// Number of sweeps that cover all slots.
const LOOKS_OF_ALL: usize = 8;
/// Least number of slots in one sweep.
const LOOK_COUNT_MIN: usize = 256;

/// Returns the occupied slots from `cursor` on, and advances the cursor.
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
