//! The agreement on shared memory below any protocol, with a stranger on the other side of either role: no panic, every
//! call returns, and the stream is established, waits, or has an error. A stream that was established can be used.
#![no_main]

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use arbitrary::Arbitrary;
use hairstreak_transport::shm::{RING_SIZE_MIN, Segment};
use hairstreak_transport::{ClientLayer, Established, ServerLayer, Stream};
use libfuzzer_sys::{arbitrary, fuzz_target};

#[derive(Arbitrary, Debug)]
enum Step {
    Bytes(Vec<u8>),
    /// The beginning of a good preamble.
    Preamble(u8),
    /// The descriptor of a segment of the smallest size, of a larger one, or of none, beside bytes.
    Descriptor(Which, Vec<u8>),
    Establish,
}

#[derive(Arbitrary, Debug)]
enum Which {
    Fit,
    Larger,
    Other,
}

fuzz_target!(|input: (bool, Vec<Step>)| {
    let (gives, steps) = input;
    let (stream, mut stranger) = Stream::pair().expect("sockets");
    let mut stream = if gives {
        stream.with_client_layer(&ClientLayer::Rings { ring_size: RING_SIZE_MIN })
    } else {
        stream.with_server_layer(&ServerLayer::Rings { ring_size_max: RING_SIZE_MIN })
    };
    for step in steps {
        match step {
            Step::Bytes(bytes) => drop(stranger.write(&[IoSlice::new(&bytes)])),
            Step::Preamble(count) => {
                let preamble = b"hsrings\x01\0\0\0\0\0\0\x10\0";
                let _ = stranger.write(&[IoSlice::new(&preamble[..usize::from(count).min(16)])]);
            }
            Step::Descriptor(which, bytes) => pass(&mut stranger, which, &bytes),
            Step::Establish => match stream.establish() {
                Ok(Established::Done) => return go_on(stream),
                Ok(Established::WaitsToRead | Established::WaitsToWrite) => {}
                Err(_) => return,
            },
        }
    }
});

fn pass(stranger: &mut Stream, which: Which, bytes: &[u8]) {
    let segment = |size| Segment::create(size).expect("a segment").1;
    let _ = match which {
        Which::Fit => stranger.write_with(bytes, segment(RING_SIZE_MIN).as_fd()),
        Which::Larger => stranger.write_with(bytes, segment(2 * RING_SIZE_MIN).as_fd()),
        Which::Other => stranger.write_with(bytes, std::io::stderr().as_fd()),
    };
}

fn go_on(mut stream: Stream) {
    let _ = stream.write(&[IoSlice::new(b"bytes")]);
    let _ = stream.read(&mut [MaybeUninit::uninit(); 100]);
    stream.shutdown_write();
}
