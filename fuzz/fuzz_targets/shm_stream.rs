//! A stream in shared memory whose peer writes what it wants, where it wants, at any moment: no panic, nothing
//! touched outside of the segment (the sanitizer tells), every call returns, counts stay within what was asked for.
#![no_main]

use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;

use arbitrary::Arbitrary;
use hairstreak_transport::shm::{RING_SIZE_MIN, Segment, Side};
use hairstreak_transport::{IpcAddress, Listener, Stream};
use libfuzzer_sys::{arbitrary, fuzz_target};

#[derive(Arbitrary, Debug)]
enum Step {
    Read(u16),
    Write(u16),
    WriteTwo(u16, u16),
    /// One of the words: ring, line, value.
    Word(bool, u8, u64),
    /// A position near the ring's size.
    Near(bool, u8, u16),
    Bytes(u16, Vec<u8>),
    Forgo,
    Leave,
    End,
    PeerGone,
}

fuzz_target!(|input: (bool, Vec<Step>)| {
    let (gives, steps) = input;
    let (mut stream, _peer, file) = shared(if gives { Side::Giver } else { Side::Taker });
    for step in steps {
        match step {
            Step::Read(size) => {
                let mut room = vec![MaybeUninit::uninit(); size.into()];
                let _ = stream.read(&mut room).map(|bytes| assert!(bytes.len() <= size.into()));
            }
            Step::Write(size) => write(&mut stream, size, 0),
            Step::WriteTwo(first, second) => write(&mut stream, first, second),
            Step::Word(ring, line, value) => put_word(&file, ring, line, value),
            Step::Near(ring, line, value) => put_word(&file, ring, line, value.into()),
            Step::Bytes(at, bytes) => {
                let at = usize::from(at) % (4096 + 2 * RING_SIZE_MIN);
                let size = bytes.len().min(4096 + 2 * RING_SIZE_MIN - at);
                file.write_all_at(&bytes[..size], at as u64).expect("within the segment");
            }
            Step::Forgo => stream.forgo_event(),
            Step::Leave => drop(stream.leave_event()),
            Step::End => stream.shutdown_write(),
            Step::PeerGone => stream.on_peer_ended(),
        }
        let _ = stream.has_news();
    }
});

fn write(stream: &mut Stream, first: u16, second: u16) {
    let bytes = vec![7; usize::from(u16::MAX)];
    let slices = [IoSlice::new(&bytes[..first.into()]), IoSlice::new(&bytes[..second.into()])];
    let asked = usize::from(first) + usize::from(second);
    let _ = stream.write(&slices).map(|count| assert!(count <= asked));
}

fn put_word(file: &File, ring: bool, line: u8, value: u64) {
    let at = u64::from(ring) * 2048 + u64::from(line % 4) * 128;
    file.write_all_at(&value.to_ne_bytes(), at).expect("within the segment");
}

/// A stream on this side of a segment, its peer's socket, and the segment's file.
fn shared(side: Side) -> (Stream, Stream, File) {
    let address = IpcAddress::Abstract(format!("hairstreak-fuzz-{}", std::process::id()));
    let listener = Listener::bind_ipc(&address).expect("a name of its own");
    let mut stream = Stream::connect_ipc(&address).expect("a listener");
    let peer = listener.accept().expect("a socket").expect("a connection");
    let (segment, file) = Segment::create(RING_SIZE_MIN).expect("a segment");
    stream.go_on_in(segment, side);
    (stream, peer, file.into())
}
