//! Tests of encoding and decoding. Commands that are cut, too long or for the other side are rejected.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const REQUEST: RequestId = RequestId { client: ClientId([7; 16]), number: 9 };

fn every_header() -> Vec<Header> {
    vec![
        Header::Welcome { broker: [1; 16], heartbeat_ms: 2500 },
        Header::Request {
            request: REQUEST,
            first: 3,
            lifetime_ms: 30_000,
            deliveries: 2,
            is_repeated: true,
            takes_runs: false,
        },
        Header::Partial { request: REQUEST, index: 4, run: None },
        Header::Final { request: REQUEST, index: 5, run: None },
        Header::Refused { request: REQUEST, refusal: Refusal::Full },
        Header::Cancel { request: REQUEST },
        Header::Ready { capacity: 64 },
        Header::Held,
        Header::Drain,
        Header::Disconnect,
        Header::Partial { request: REQUEST, index: 4, run: Some(u64::MAX) },
        Header::Final { request: REQUEST, index: 5, run: Some(0) },
    ]
}

#[test]
fn every_header_comes_back_as_it_was_written_and_in_no_other_size() {
    for header in every_header() {
        let encoded = header.encode();
        let bytes = encoded.as_ref();
        assert!(bytes.len() <= HEADER_SIZE_MAX);
        assert_eq!(Header::parse(bytes), Ok((header, &[][..])));
        for size in 0..bytes.len() {
            assert!(Header::parse(&bytes[..size]).is_err(), "{header:?} cut to {size}");
        }
        let more = [bytes, b"x"].concat();
        match header {
            Header::Request { .. } | Header::Partial { .. } | Header::Final { .. } => {
                assert_eq!(Header::parse(&more), Ok((header, &b"x"[..])));
            }
            _ => assert!(Header::parse(&more).is_err(), "{header:?} and more"),
        }
    }
    assert_eq!(Header::parse(b"HSN1\x0d"), Err(Hsn1Error::UnknownCommand(13)));
    assert_eq!(Header::parse(b"HSN2\x09"), Err(Hsn1Error::OtherProtocol));
}

#[test]
fn the_bytes_of_a_request_are_those_of_the_documentation() {
    let header = every_header()[1];
    let bytes = [
        &b"HSN1\x02"[..],
        &[7; 16],
        &9_u64.to_be_bytes(),
        &3_u64.to_be_bytes(),
        &30_000_u32.to_be_bytes(),
        &2_u16.to_be_bytes(),
        &[1],
    ];
    assert_eq!(header.encode().as_ref(), bytes.concat());
    let to_broker = [&bytes.concat()[..], b"\x04echobody"].concat();
    assert_eq!(with_body(header, Some(b"echo"), &[b"body"], owned), vec![to_broker]);
    let to_worker = [&bytes.concat()[..], b"body"].concat();
    assert_eq!(with_body(header, None, &[b"body"], owned), vec![to_worker]);
    for (flags, is_repeated, takes_runs) in [(0, false, false), (2, false, true), (3, true, true)] {
        let (request, first, lifetime_ms, deliveries) = (REQUEST, 3, 30_000, 2);
        let header = Header::Request { request, first, lifetime_ms, deliveries, is_repeated, takes_runs };
        assert_eq!(header.encode().as_ref().last(), Some(&flags));
    }
}

#[test]
fn parts_that_name_their_run_are_commands_of_their_own() {
    let [.., partial, last] = every_header()[..] else { unreachable!() };
    for (header, command, index, run) in [(partial, 11, 4_u32, u64::MAX), (last, 12, 5, 0)] {
        let bytes = [
            &b"HSN1"[..],
            &[command],
            &[7; 16],
            &9_u64.to_be_bytes(),
            &index.to_be_bytes(),
            &run.to_be_bytes(),
        ];
        assert_eq!(header.encode().as_ref(), bytes.concat());
    }
}

fn owned<F: AsRef<[u8]>>(first: &[u8], behind: &[F]) -> Vec<Vec<u8>> {
    std::iter::once(first).chain(behind.iter().map(AsRef::as_ref)).map(<[u8]>::to_vec).collect()
}

#[test]
fn bodies_of_any_shape_come_back() {
    let long = [b'x'; INLINE_BODY_SIZE_MAX + 1];
    let bodies: [&[&[u8]]; 5] = [&[b""], &[b"short"], &[&long[1..]], &[&long], &[b"", b"two"]];
    for (body, frame_count) in bodies.into_iter().zip([1, 1, 1, 2, 3]) {
        let check = |frames: Vec<Vec<u8>>, place: BodyPlace| {
            assert_eq!(frames.len(), frame_count);
            assert_eq!(place.body(&frames).collect::<Vec<_>>(), body);
        };
        let [_, request, partial, last, ..] = every_header()[..] else { unreachable!() };
        let frames = with_body(request, Some(b"echo"), body, owned);
        match parse_to_broker(&frames) {
            Ok(ToBroker::Request { service: b"echo", body, .. }) => check(frames.clone(), body),
            other => panic!("{other:?}"),
        }
        let frames = with_body(request, None, body, owned);
        match parse_from_broker(&frames) {
            Ok(FromBroker::Request { body, .. }) => check(frames.clone(), body),
            other => panic!("{other:?}"),
        }
        let [.., partial_of_run, last_of_run] = every_header()[..] else { unreachable!() };
        for header in [partial, last, partial_of_run, last_of_run] {
            let frames = with_body(header, None, body, owned);
            let (Ok(ToBroker::Reply(part)), Ok(FromBroker::Reply(same))) =
                (parse_to_broker(&frames), parse_from_broker(&frames))
            else {
                panic!("{frames:?}");
            };
            assert_eq!(part, same);
            check(frames, part.body);
        }
    }
}

#[test]
fn refusals_keep_their_codes() {
    for code in 0..=u16::MAX {
        assert_eq!(Refusal::from(code).code(), code);
    }
}

#[test]
fn a_request_whose_first_open_number_is_behind_it_is_refused() {
    for (number, first) in [(3, 4), (3, 0), (0, 0)] {
        let request = RequestId { number, ..REQUEST };
        let header = Header::Request {
            request,
            first,
            lifetime_ms: 0,
            deliveries: 0,
            is_repeated: false,
            takes_runs: false,
        };
        let frames = with_body(header, Some(b"echo"), &[b"body"], owned);
        assert_eq!(parse_to_broker(&frames), Err(Hsn1Error::Number { number, first }));
    }
}

#[test]
fn commands_want_their_frames_and_no_others() {
    let parse = |first: &[u8], behind: &[&[u8]]| {
        let frames: Vec<&[u8]> = [first].into_iter().chain(behind.iter().copied()).collect();
        parse_to_broker(&frames).map(|_| ()).map_err(|error| error.to_string())
    };
    let command = |header: Header, behind: &[&[u8]]| parse(header.encode().as_ref(), behind);
    let fails = |header, behind: &[&[u8]]| command(header, behind).unwrap_err();
    let with_more = |header: Header, more: &[u8], behind: &[&[u8]]| {
        parse(&[header.encode().as_ref(), more].concat(), behind)
    };
    let [_, request, partial, _, refused, cancel, ready, held, drain, ..] = every_header()[..] else {
        unreachable!()
    };
    assert_eq!(with_more(request, b"\x04echo", &[b""]), Ok(()));
    assert_eq!(with_more(request, b"\x04echo", &[]), Ok(()));
    assert_eq!(fails(request, &[b"body"]), "there is no service");
    assert_eq!(with_more(request, b"\x04ech", &[]), Err("there is no service".into()));
    assert_eq!(
        with_more(request, b"\0body", &[]),
        Err("a service's name of 0 bytes: it must have 1 to 255".into())
    );
    assert_eq!(
        with_more(partial, b"body", &[b"body"]),
        Err("4 bytes stand behind the header in its frame, and frames follow".into())
    );
    assert_eq!(with_more(cancel, b"body", &[]), Err("a header of 33 bytes for command 6".into()));
    assert_eq!(command(refused, &[]), Ok(()));
    assert_eq!(fails(refused, &[b"", b""]), "1 frames stand behind a command that ends before them");
    assert_eq!(fails(cancel, &[b""]), "1 frames stand behind a command that ends before them");
    assert_eq!(fails(drain, &[b""]), "1 frames stand behind a command that ends before them");
    assert_eq!(command(ready, &[b"echo", b""]), Ok(()));
    assert_eq!(fails(ready, &[b"echo"]), "there is no list of requests");
    assert!(fails(held, &[b"123"]).contains("3 bytes"));
    assert_eq!(fails(every_header()[0], &[]), "WELCOME is no command for this side");
}

#[test]
fn a_range_that_ends_before_it_begins_is_refused_and_so_are_too_many() {
    let range = |first, last| Held { client: REQUEST.client, first, last };
    let list = |ranges: &[Held]| {
        let bytes = encode_held(ranges.iter().copied());
        parse_held(&bytes).map(|held| held.collect::<Vec<_>>())
    };
    assert_eq!(list(&[range(1, 1), range(3, 9)]), Ok(vec![range(1, 1), range(3, 9)]));
    assert_eq!(list(&[range(2, 1)]), Err(Hsn1Error::Held { size: 32 }));
    assert_eq!(list(&[range(0, 1)]), Err(Hsn1Error::Held { size: 32 }));
    let bytes = encode_held(vec![range(1, 1); HELD_COUNT_MAX]);
    assert_eq!(parse_held(&bytes).unwrap().count(), HELD_COUNT_MAX);
    assert!(parse_held(&[&bytes[..], &bytes[..32]].concat()).is_err());
}

#[test]
fn peers_that_number_requests_say_so_and_others_do_not() {
    let (name, value) = property();
    let with = |name: String, value: &[u8]| is_spoken_by(&[(name, value.to_vec())]);
    assert!(with(name.clone(), &value) && with(name.to_lowercase(), &[9, 9]));
    assert!(!with(name.clone(), &[0]) && !with(name, &[]) && !is_spoken_by(&[]));
}

proptest! {
    #[test]
    fn nothing_that_comes_panics(frames in vec(vec(any::<u8>(), 0..60), 0..5), command in 0..15_u8) {
        let mut frames = frames;
        let _ = (parse_to_broker(&frames), parse_from_broker(&frames));
        if let Some(first) = frames.first_mut() {
            let size = first.len();
            // Valid numbers, so that the parser reads the data behind them.
            let start = [&b"HSN1"[..], &[command], &[1; 16], &9_u64.to_be_bytes(), &1_u64.to_be_bytes(), &[0; 7]];
            first.splice(..0, start.concat());
            for cut in 0..=size {
                let _ = (parse_to_broker(&frames), parse_from_broker(&frames));
                if let Some(first) = frames.first_mut() {
                    first.truncate(first.len() - usize::from(cut < size));
                }
            }
        }
    }
}
