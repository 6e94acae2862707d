//! Streams that continue in shared memory: bytes, waits, ends, and peers that write arbitrary bytes.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use hairstreak_testkit::rng;
use hairstreak_transport::shm::{RING_SIZE_MIN, Segment, Side};
use hairstreak_transport::{Interest, IpcAddress, Listener, Poller, Readiness, Stream};

/// Both ends of a unix connection.
fn sockets() -> (Stream, Stream) {
    let name = format!("hairstreak-test-{}-{}", std::process::id(), fastrand::u64(..));
    let address = IpcAddress::Abstract(name);
    let listener = Listener::bind_ipc(&address).unwrap();
    let connected = Stream::connect_ipc(&address).unwrap();
    (listener.accept().unwrap().unwrap(), connected)
}

/// Both ends of a connection in shared memory, and the file of the memory, through which a test writes arbitrary bytes.
fn shared(ring_size: usize) -> (Stream, Stream, std::fs::File) {
    let (mut giver, mut taker) = sockets();
    taker.expect_segment();
    let (segment, file) = Segment::create(ring_size).unwrap();
    let file = std::fs::File::from(file);
    assert_eq!(giver.write_with(b"here", file.as_fd()).unwrap(), 4);
    giver.go_on_in(segment, Side::Giver);
    assert_eq!(read(&mut taker, 100).unwrap(), b"here");
    let segment = taker.take_segment(ring_size).unwrap();
    taker.go_on_in(segment, Side::Taker);
    (giver, taker, file)
}

fn read(stream: &mut Stream, size: usize) -> io::Result<Vec<u8>> {
    let mut room = vec![MaybeUninit::uninit(); size];
    stream.read(&mut room).map(|bytes| bytes.to_vec())
}

fn write(stream: &mut Stream, bytes: &[u8]) -> io::Result<usize> {
    stream.write(&[IoSlice::new(bytes)])
}

fn is_waiting<T>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A poller that watches one stream.
struct Watch(Poller);

impl Watch {
    fn new(stream: &Stream) -> Watch {
        let poller = Poller::new().unwrap();
        poller.add(stream.readiness_source().unwrap(), 1, Interest::Edges).unwrap();
        let watch = Watch(poller);
        watch.events(Duration::ZERO);
        watch
    }

    fn events(&self, timeout: Duration) -> Vec<Readiness> {
        let mut events = Vec::new();
        self.0.wait(Some(timeout), |event| events.push(event)).unwrap();
        events
    }

    fn is_quiet(&self) -> bool {
        self.events(Duration::ZERO).is_empty()
    }

    fn wait(&self) -> Vec<Readiness> {
        self.events(Duration::from_secs(60))
    }
}

#[test]
fn bytes_cross_both_ways_however_they_are_torn() {
    let (mut giver, mut taker, _) = shared(RING_SIZE_MIN);
    let mut rng = rng();
    for is_turned in [false, true] {
        let (from, to) = if is_turned { (&mut taker, &mut giver) } else { (&mut giver, &mut taker) };
        let (mut sent, mut got) = (0usize, 0usize);
        while got < 1_000_000 {
            let bytes: Vec<u8> = (0..rng.usize(1..9000)).map(|i| (sent + i) as u8).collect();
            let (head, tail) = bytes.split_at(bytes.len() / 3);
            sent += from.write(&[IoSlice::new(head), IoSlice::new(tail)]).unwrap_or(0);
            let taken = read(to, rng.usize(1..9000)).unwrap_or_default();
            assert!(taken.iter().enumerate().all(|(i, byte)| *byte == (got + i) as u8), "at {got}");
            got += taken.len();
        }
        while let Ok(left) = read(to, 9000) {
            got += left.len();
        }
        assert_eq!(sent, got);
    }
}

#[test]
fn a_waiting_reader_has_one_event_and_one_that_does_not_wait_has_none() {
    let (mut giver, mut taker, _) = shared(RING_SIZE_MIN);
    let watch = Watch::new(&taker);
    write(&mut giver, b"nobody waits").unwrap();
    assert!(watch.is_quiet());
    assert_eq!(read(&mut taker, 100).unwrap(), b"nobody waits");
    for _ in 0..1000 {
        assert!(is_waiting(read(&mut taker, 100)));
        write(&mut giver, b"a").unwrap();
        write(&mut giver, b"b").unwrap();
        assert!(watch.wait()[0].readable);
        assert!(watch.is_quiet());
        assert_eq!(read(&mut taker, 100).unwrap(), b"ab");
    }
}

#[test]
fn a_writer_that_was_cut_short_has_an_event_when_half_is_free() {
    let (mut giver, mut taker, _) = shared(RING_SIZE_MIN);
    let watch = Watch::new(&giver);
    let bytes = vec![7; RING_SIZE_MIN + 1];
    assert_eq!(write(&mut giver, &bytes).unwrap(), RING_SIZE_MIN);
    assert!(is_waiting(write(&mut giver, b"x")));
    read(&mut taker, RING_SIZE_MIN / 2 - 1).unwrap();
    assert!(watch.is_quiet(), "too little is free");
    read(&mut taker, 1).unwrap();
    assert!(watch.wait()[0].writable);
    assert!(write(&mut giver, b"x").is_ok());
}

#[test]
fn the_end_of_writing_comes_behind_the_bytes_and_leaves_the_other_way_open() {
    let (mut giver, mut taker, _) = shared(RING_SIZE_MIN);
    write(&mut giver, b"last").unwrap();
    assert!(!is_waiting(read(&mut taker, 2)));
    giver.shutdown_write();
    assert_eq!(read(&mut taker, 100).unwrap(), b"st");
    assert_eq!(read(&mut taker, 100).unwrap(), b"");
    assert!(is_waiting(read(&mut giver, 100)));
    let watch = Watch::new(&giver);
    write(&mut taker, b"answer").unwrap();
    assert!(watch.wait()[0].readable);
    assert_eq!(read(&mut giver, 100).unwrap(), b"answer");
}

#[test]
fn a_peer_that_is_gone_is_told_of_at_once_and_what_it_wrote_is_read() {
    let (mut giver, mut taker, _) = shared(RING_SIZE_MIN);
    write(&mut giver, b"last").unwrap();
    let watch = Watch::new(&taker);
    drop(giver);
    assert!(watch.wait()[0].ended);
    taker.on_peer_ended();
    assert_eq!(read(&mut taker, 100).unwrap(), b"last");
    assert_eq!(read(&mut taker, 100).unwrap(), b"");
    assert_eq!(write(&mut taker, b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn what_was_laid_before_a_reader_that_left_is_written_and_nothing_after_it() {
    let (mut giver, mut taker, _) = shared(RING_SIZE_MIN);
    assert!(is_waiting(read(&mut taker, 100)));
    // The reader may have read the bytes and left before the wake-up.
    drop(taker);
    assert_eq!(write(&mut giver, b"last").unwrap(), 4);
    let error = write(&mut giver, b"more").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn of_many_descriptors_the_last_is_kept_and_none_where_none_is_expected() {
    let (mut giver, mut taker) = sockets();
    let (_, file) = Segment::create(RING_SIZE_MIN).unwrap();
    giver.write_with(b"x", file.as_fd()).unwrap();
    assert_eq!(read(&mut taker, 100).unwrap(), b"x");
    taker.expect_segment();
    assert!(taker.take_segment(RING_SIZE_MIN).is_err());
    let plain = std::fs::File::open("/proc/self/exe").unwrap();
    for _ in 0..50 {
        giver.write_with(b"x", plain.as_fd()).unwrap();
    }
    giver.write_with(b"y", file.as_fd()).unwrap();
    let mut got = Vec::new();
    while got.last() != Some(&b'y') {
        got.extend(read(&mut taker, 100).unwrap());
    }
    assert_eq!(got.len(), 51);
    taker.take_segment(RING_SIZE_MIN).unwrap();
    assert!(taker.take_segment(RING_SIZE_MIN * 2).is_err());
    taker.stay_on_socket();
    assert!(taker.take_segment(RING_SIZE_MIN).is_err());
}

#[test]
fn a_peer_that_scribbles_over_everything_ends_no_more_than_its_connection() {
    let mut rng = rng();
    for _ in 0..300 {
        let (mut giver, mut taker, file) = shared(RING_SIZE_MIN);
        for _ in 0..40 {
            let noise: Vec<u8> = (0..rng.usize(1..700)).map(|_| rng.u8(..)).collect();
            // Often a control word, and often a small number: such values are nearly valid.
            let at = if rng.bool() { 128 * rng.u64(0..32) } else { rng.u64(0..12_000) };
            let near = rng.u64(0..9000).to_ne_bytes();
            file.write_all_at(if rng.bool() { &near } else { &noise }, at.min(11_000)).unwrap();
            for stream in [&mut giver, &mut taker] {
                let _ = write(stream, &noise).map(|count| assert!(count <= noise.len()));
                let _ = read(stream, 5000).map(|bytes| assert!(bytes.len() <= 5000));
                let _ = (stream.has_news(), stream.leave_event());
                stream.forgo_event();
            }
        }
    }
}
