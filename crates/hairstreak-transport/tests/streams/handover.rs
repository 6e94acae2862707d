//! The agreement on shared memory, with strangers on the other side: they do no harm and leave no descriptor behind.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use hairstreak_testkit::until;
use hairstreak_transport::shm::{HandoverError, RING_SIZE_MIN, Refusal, Segment};
use hairstreak_transport::{ClientLayer, Established, ServerLayer, Stream};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

const PREAMBLE: &[u8; 16] = b"hsrings\x01\0\0\0\0\0\0\x10\0";

/// A side that takes rings, and the socket of a stranger at its other end.
fn taker() -> (Stream, UnixStream) {
    end_of(|stream| stream.with_server_layer(&ServerLayer::Rings { ring_size_max: RING_SIZE_MIN }))
}

/// A side that gives rings, and the socket of a stranger at its other end.
fn giver() -> (Stream, UnixStream) {
    end_of(|stream| stream.with_client_layer(&ClientLayer::Rings { ring_size: RING_SIZE_MIN }))
}

fn end_of(layered: impl FnOnce(Stream) -> Stream) -> (Stream, UnixStream) {
    let (stream, stranger) = Stream::pair().unwrap();
    let stranger = stranger.readiness_source().unwrap().try_clone_to_owned().unwrap();
    rustix::fs::fcntl_setfl(&stranger, rustix::fs::OFlags::empty()).unwrap();
    (layered(stream), stranger.into())
}

fn pass(stranger: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)));
    assert_eq!(
        sendmsg(stranger, &[IoSlice::new(bytes)], &mut control, SendFlags::empty()).unwrap(),
        bytes.len()
    );
}

/// The error caused by the last action of the stranger. A process that another test is about to start has a copy of the stranger's
/// descriptor for an instant, so that an end may be seen late.
fn error_of(stream: &mut Stream) -> HandoverError {
    let error = until("an error", || match stream.establish() {
        Err(error) => Ok(error),
        Ok(established) => Err(established),
    });
    *error.into_inner().unwrap().downcast().unwrap()
}

fn is_waiting(stream: &mut Stream) -> bool {
    stream.establish().unwrap() == Established::WaitsToRead
}

/// A descriptor that shows whether copies of it are left.
struct Marked {
    descriptor: UnixStream,
    other: UnixStream,
}

impl Marked {
    fn new() -> Marked {
        let (descriptor, other) = UnixStream::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        Marked { descriptor, other }
    }

    /// Closes this side's descriptor, and waits until no copy is left. A process that is about to start may have one for an instant.
    fn sees_the_end(self) -> bool {
        drop(self.descriptor);
        until("an end", || (&self.other).read(&mut [0])) == 0
    }
}

#[test]
fn garbage_ends_the_connection_at_its_first_byte() {
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"X", b"hsringz\x01", &[0xff; 1000]] {
        let (mut taker, mut stranger) = taker();
        assert!(is_waiting(&mut taker));
        stranger.write_all(garbage).unwrap();
        assert!(matches!(error_of(&mut taker), HandoverError::Stranger));
    }
}

#[test]
fn a_stranger_that_says_nothing_or_too_little_is_waited_for_until_it_goes() {
    for count in 0..PREAMBLE.len() {
        let (mut taker, mut stranger) = taker();
        let marked = Marked::new();
        if count > 0 {
            pass(&stranger, &PREAMBLE[..1], &[marked.descriptor.as_fd()]);
            stranger.write_all(&PREAMBLE[1..count]).unwrap();
        }
        assert!(is_waiting(&mut taker) && is_waiting(&mut taker));
        drop(stranger);
        assert!(matches!(error_of(&mut taker), HandoverError::Ended));
        drop(taker);
        assert!(marked.sees_the_end());
    }
}

/// The result of the taker for a preamble and descriptors, which is also its answer.
fn refusal(preamble: &[u8; 16], descriptors: &[BorrowedFd<'_>]) -> Refusal {
    let (mut taker, mut stranger) = taker();
    if descriptors.is_empty() {
        stranger.write_all(preamble).unwrap();
    } else {
        pass(&stranger, preamble, descriptors);
    }
    let HandoverError::Refuses(refusal) = error_of(&mut taker) else { panic!("not refused") };
    drop(taker);
    let mut answer = Vec::new();
    stranger.read_to_end(&mut answer).unwrap();
    assert_eq!(answer.len(), 1, "{refusal}");
    // The giver's side understands it.
    let (mut giver, mut stranger) = giver();
    assert!(is_waiting(&mut giver));
    stranger.write_all(&answer).unwrap();
    let error = giver.establish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(error.to_string().ends_with(&refusal.to_string()), "{error}");
    refusal
}

#[test]
fn what_is_no_segment_of_the_announced_size_is_refused_with_the_reason() {
    let (_segment, file) = Segment::create(RING_SIZE_MIN).unwrap();
    let (_larger, larger_file) = Segment::create(2 * RING_SIZE_MIN).unwrap();
    let marked = Marked::new();
    assert_eq!(refusal(PREAMBLE, &[]), Refusal::Descriptor);
    assert_eq!(refusal(PREAMBLE, &[marked.descriptor.as_fd()]), Refusal::Descriptor);
    assert_eq!(refusal(PREAMBLE, &[larger_file.as_fd()]), Refusal::Descriptor);
    let larger = b"hsrings\x01\0\0\0\0\0\0\x20\0";
    assert_eq!(refusal(larger, &[larger_file.as_fd()]), Refusal::RingSize);
    assert_eq!(refusal(b"hsrings\x01\0\0\0\0\0\0\x0f\xff", &[file.as_fd()]), Refusal::RingSize);
    assert_eq!(refusal(b"hsrings\x02\0\0\0\0\0\0\x10\0", &[file.as_fd()]), Refusal::Version);
    assert!(marked.sees_the_end());
}

#[test]
fn of_several_descriptors_none_is_left_behind() {
    let marked = [(); 5].map(|()| Marked::new());
    let (mut taker, mut stranger) = taker();
    pass(&stranger, &PREAMBLE[..8], &[0, 1, 2].map(|index| marked[index].descriptor.as_fd()));
    pass(&stranger, &PREAMBLE[8..], &[3, 4].map(|index| marked[index].descriptor.as_fd()));
    assert!(matches!(error_of(&mut taker), HandoverError::Refuses(Refusal::Descriptor)));
    drop(taker);
    let mut answer = Vec::new();
    stranger.read_to_end(&mut answer).unwrap();
    drop(stranger);
    assert!(marked.into_iter().all(Marked::sees_the_end));
}

#[test]
fn descriptors_that_come_beside_doorbells_are_not_taken() {
    let (mut taker, stranger) = taker();
    let (_segment, file) = Segment::create(RING_SIZE_MIN).unwrap();
    pass(&stranger, PREAMBLE, &[file.as_fd()]);
    assert_eq!(taker.establish().unwrap(), Established::Done);
    let marked = Marked::new();
    pass(&stranger, b"bell", &[marked.descriptor.as_fd()]);
    // Enough empty reads for the stream to take the doorbell's bytes off the socket.
    for _ in 0..100 {
        assert!(taker.read(&mut [MaybeUninit::uninit(); 10]).is_err());
    }
    assert!(marked.sees_the_end());
}

#[test]
fn an_answer_without_meaning_or_none_is_an_error() {
    let (mut giver, mut stranger) = giver();
    assert!(is_waiting(&mut giver));
    stranger.write_all(b"M").unwrap();
    assert!(matches!(error_of(&mut giver), HandoverError::Answer(b'M')));
    let (mut giver, mut stranger) = self::giver();
    assert!(is_waiting(&mut giver));
    assert_eq!(stranger.read(&mut [0; 100]).unwrap(), PREAMBLE.len());
    drop(stranger);
    assert!(matches!(error_of(&mut giver), HandoverError::Ended));
}

#[test]
fn rings_that_no_host_can_give_are_an_error_of_the_giver() {
    let (stream, _stranger) = Stream::pair().unwrap();
    let mut giver = stream.with_client_layer(&ClientLayer::Rings { ring_size: 5000 });
    assert_eq!(giver.establish().unwrap_err().kind(), ErrorKind::InvalidInput);
}
