//! Tests of HSD1 with literal frames, at its limits, and with arbitrary requests and bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const OWNER: &[u8] = b"0123456789abcdef";

fn slices(frames: &[Vec<u8>]) -> Vec<&[u8]> {
    frames.iter().map(Vec::as_slice).collect()
}

/// Decodes fields behind `HSD1` and the id `7`.
fn decode(verb_and_fields: &[&[u8]]) -> Result<Request, String> {
    let frames = [&[b"HSD1".as_slice(), b"7"], verb_and_fields].concat();
    let (envelope, request) = Request::decode(&frames).map_err(|refused| refused.error.to_string())?;
    assert_eq!(envelope.request_id.as_bytes(), b"7");
    Ok(request)
}

fn check_refused(verb_and_fields: &[&[u8]], text: &str) {
    assert_eq!(decode(verb_and_fields), Err(text.to_owned()));
}

#[test]
fn a_request_is_these_frames() {
    let mut attributes = Attributes::new();
    attributes.add("kind", b"queue").unwrap();
    let request = Request::Register(Registration {
        name: Name::new("SYNC_IN").unwrap(),
        owner: Owner(*b"0123456789abcdef"),
        lease_ms: 5000,
        endpoint: Endpoint::new("tcp://10.0.0.1:4000").unwrap(),
        attributes,
    });
    let frames: [&[u8]; 9] = [
        b"HSD1",
        b"7",
        b"REGISTER",
        b"SYNC_IN",
        OWNER,
        b"\x00\x00\x13\x88",
        b"tcp://10.0.0.1:4000",
        b"kind",
        b"queue",
    ];
    let envelope = Envelope { delimited: false, request_id: RequestId::new(b"7").unwrap() };
    assert_eq!(slices(&request.encode(&envelope)), frames);
    assert_eq!(Request::decode(&frames), Ok((envelope, request)));
}

#[test]
fn the_delimiter_of_a_req_socket_is_repeated() {
    let (envelope, request) = Request::decode(&[b"", b"HSD1", b"", b"PING"]).unwrap();
    assert_eq!(request, Request::Ping);
    let reply = Reply::Ok { lease_ms: 0 }.encode(&envelope);
    assert_eq!(slices(&reply), [b"".as_slice(), b"HSD1", b"", b"OK", &[0; 4]]);
}

#[test]
fn what_is_not_hsd1_is_told_so_with_its_own_envelope() {
    let check = |frames: &[&[u8]], id: &[u8], code: ErrorCode, text: &str| {
        let refused = Request::decode(frames).unwrap_err();
        assert_eq!(refused.envelope.request_id.as_bytes(), id);
        assert_eq!(refused.reply(), Reply::error(code, text));
    };
    check(&[], b"", ErrorCode::Protocol, "the first frame is \"\", not \"HSD1\"");
    check(&[b"", b"\x03x"], b"", ErrorCode::Protocol, "the first frame is \"\\x03x\", not \"HSD1\"");
    check(&[b"HSD1"], b"", ErrorCode::Malformed, "the request id is missing");
    check(&[b"HSD1", b"7"], b"7", ErrorCode::Malformed, "the verb is missing");
    check(&[b"HSD1", b"7", b"ping"], b"7", ErrorCode::Malformed, "unknown verb \"ping\"");
    let text = "request id has 17 bytes, the limit is 16";
    check(&[b"HSD1", &[b'x'; 17], b"PING"], b"", ErrorCode::Malformed, text);
}

#[test]
fn a_refusal_names_the_field() {
    check_refused(&[b"PING", b"x"], "PING has 1 fields where none belong");
    check_refused(&[b"LOOKUP", b"x"], "LOOKUP has 1 fields where name, wait_ms belong");
    check_refused(&[b"LOOKUP", b"", &[0; 4]], "LOOKUP: name is empty");
    check_refused(&[b"LOOKUP", b"a\nb", &[0; 4]], "LOOKUP: name \"a\\nb\" is not printable text");
    check_refused(&[b"LOOKUP", b"\xff", &[0; 4]], "LOOKUP: name \"\\xff\" is not printable text");
    check_refused(&[b"LOOKUP", b"x", &[0; 3]], "LOOKUP: wait_ms has 3 bytes, not 4");
    check_refused(&[b"UNREGISTER", b"x", b"short"], "UNREGISTER: owner has 5 bytes, not 16");
    check_refused(&[b"LIST", &[b'x'; 256], b""], "LIST: prefix has 256 bytes, the limit is 255");
}

fn check_register(endpoint: &[u8], attributes: &[&[u8]], expected: Result<(), &str>) {
    let fields: [&[u8]; 5] = [b"REGISTER", b"x", OWNER, &[0; 4], endpoint];
    let got = decode(&[&fields, attributes].concat()).map(drop);
    assert_eq!(
        got.as_ref().map_err(|text| text.strip_prefix("REGISTER: ").unwrap()),
        expected.as_ref().map_err(|e| *e)
    );
}

#[test]
fn an_endpoint_is_one_that_can_be_connected_to() {
    for good in ["tcp://10.0.0.1:1", "tcp://[::1]:4000", "tcp://host:65535", "ipc:///tmp/x", "ipc://@x"] {
        check_register(good.as_bytes(), &[], Ok(()));
    }
    for wild in
        ["tcp://*:5", "tcp://0.0.0.0:5", "tcp://[::]:5", "tcp://:5", "tcp://h", "tcp://h:*", "tcp://h:0"]
    {
        let text = format!("endpoint \"{wild}\" is a wildcard, nobody can connect to it");
        check_register(wild.as_bytes(), &[], Err(&text));
    }
    for bad in ["host:5", "://x", "tcp://"] {
        let text = format!("endpoint \"{bad}\" is not of the form transport://address");
        check_register(bad.as_bytes(), &[], Err(&text));
    }
}

#[test]
fn every_limit_holds_at_it_and_one_past_it() {
    let lookup = |size: usize| decode(&[b"LOOKUP", &vec![b'x'; size], &[0; 4]]).is_ok();
    assert!(lookup(NAME_SIZE_MAX) && !lookup(NAME_SIZE_MAX + 1));

    let endpoint = |size: usize| Endpoint::new(&format!("ipc://{}", "x".repeat(size - 6))).is_ok();
    assert!(endpoint(ENDPOINT_SIZE_MAX) && !endpoint(ENDPOINT_SIZE_MAX + 1));

    let one = |key: usize, value: usize| Attributes::new().add(&"k".repeat(key), &vec![0; value]).is_ok();
    assert!(one(ATTRIBUTE_KEY_SIZE_MAX, ATTRIBUTE_VALUE_SIZE_MAX));
    assert!(!one(ATTRIBUTE_KEY_SIZE_MAX + 1, 0) && !one(1, ATTRIBUTE_VALUE_SIZE_MAX + 1) && !one(0, 0));

    let keys: Vec<Vec<u8>> = (0..=ATTRIBUTE_COUNT_MAX).map(|i| format!("key{i}").into_bytes()).collect();
    let pairs: Vec<&[u8]> = keys.iter().flat_map(|key| [key.as_slice(), b""]).collect();
    check_register(b"ipc://x", &pairs[..2 * ATTRIBUTE_COUNT_MAX], Ok(()));
    check_register(b"ipc://x", &pairs, Err("17 attributes, the limit is 16"));

    let entry = (Name::new("x").unwrap(), Endpoint::new("ipc://x").unwrap());
    let list = |count| {
        let reply = Reply::List { more: true, entries: vec![entry.clone(); count] };
        Reply::decode(&slices(&reply.encode(&Envelope::default()))).is_ok()
    };
    assert!(list(LIST_ENTRY_COUNT_MAX) && !list(LIST_ENTRY_COUNT_MAX + 1));
}

#[test]
fn attributes_have_one_value_per_key() {
    check_register(b"ipc://x", &[b"a", b"1", b"a", b"2"], Err("attribute \"a\" is there twice"));
    check_register(b"ipc://x", &[b"a", b"1", b"b"], Err("attribute \"b\" has no value"));
}

#[test]
fn an_error_text_is_one_line_within_its_limit() {
    let reply = Reply::error(ErrorCode::Limit, &"é\n".repeat(200));
    let frames = reply.encode(&Envelope::default());
    assert_eq!(Reply::decode(&slices(&frames)), Ok((Envelope::default(), reply)));
}

fn name() -> impl Strategy<Value = Name> {
    "[ -~é]{1,40}".prop_map(|text| Name::new(&text).unwrap())
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    "ipc://[!-~]{1,60}".prop_map(|text| Endpoint::new(&text).unwrap())
}

fn attributes() -> impl Strategy<Value = Attributes> {
    vec(("[a-z]{1,9}", vec(any::<u8>(), 0..40)), 0..ATTRIBUTE_COUNT_MAX).prop_map(|pairs| {
        let mut attributes = Attributes::new();
        for (key, value) in pairs {
            let twice = attributes.find(&key).is_some();
            assert_eq!(attributes.add(&key, &value).is_err(), twice);
        }
        attributes
    })
}

fn envelope() -> impl Strategy<Value = Envelope> {
    (any::<bool>(), vec(any::<u8>(), 0..=REQUEST_ID_SIZE_MAX))
        .prop_map(|(delimited, id)| Envelope { delimited, request_id: RequestId::new(&id).unwrap() })
}

fn request() -> impl Strategy<Value = Request> {
    let owner = || any::<[u8; OWNER_SIZE]>().prop_map(Owner);
    prop_oneof![
        (name(), owner(), any::<u32>(), endpoint(), attributes()).prop_map(
            |(name, owner, lease_ms, endpoint, attributes)| Request::Register(Registration {
                name,
                owner,
                lease_ms,
                endpoint,
                attributes
            })
        ),
        (name(), owner()).prop_map(|(name, owner)| Request::Unregister { name, owner }),
        (name(), any::<u32>()).prop_map(|(name, wait_ms)| Request::Lookup { name, wait_ms }),
        ("[ -~]{0,20}", "[ -~]{0,20}").prop_map(|(prefix, after)| Request::List { prefix, after }),
        Just(Request::Ping),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        any::<u32>().prop_map(|lease_ms| Reply::Ok { lease_ms }),
        (name(), endpoint(), attributes()).prop_map(|(name, endpoint, attributes)| Reply::Found {
            name,
            endpoint,
            attributes
        }),
        name().prop_map(|name| Reply::NotFound { name }),
        (name(), endpoint()).prop_map(|(name, endpoint)| Reply::Duplicate { name, endpoint }),
        (any::<bool>(), vec((name(), endpoint()), 0..9))
            .prop_map(|(more, entries)| Reply::List { more, entries }),
        "[ -~]{0,300}".prop_map(|text| Reply::error(ErrorCode::Malformed, &text)),
    ]
}

/// Frames that resemble HSD1 more often than random ones.
fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let verb = prop::sample::select(vec![
        "",
        "HSD1",
        "REGISTER",
        "UNREGISTER",
        "LOOKUP",
        "LIST",
        "PING",
        "OK",
        "FOUND",
        "ERROR",
        "tcp://h:1",
    ]);
    let frame = prop_oneof![verb.prop_map(|text| text.as_bytes().to_vec()), vec(any::<u8>(), 0..30)];
    (any::<bool>(), vec(frame, 0..12)).prop_map(|(hsd1, mut frames)| {
        if hsd1 {
            frames.insert(0, PROTOCOL.to_vec());
        }
        frames
    })
}

proptest! {
    #[test]
    fn requests_survive_the_wire(envelope in envelope(), request in request()) {
        let frames = request.encode(&envelope);
        prop_assert_eq!(Request::decode(&slices(&frames)), Ok((envelope, request)));
    }

    #[test]
    fn replies_survive_the_wire(envelope in envelope(), reply in reply()) {
        let frames = reply.encode(&envelope);
        prop_assert_eq!(Reply::decode(&slices(&frames)), Ok((envelope, reply)));
    }

    #[test]
    fn arbitrary_frames_are_decoded_or_refused(frames in frames()) {
        let frames = slices(&frames);
        match Request::decode(&frames) {
            Ok((envelope, request)) => {
                let again = request.encode(&envelope);
                prop_assert_eq!(slices(&again), frames.as_slice());
            }
            Err(refused) => {
                let reply = refused.reply();
                let again = reply.encode(&refused.envelope);
                prop_assert_eq!(Reply::decode(&slices(&again)), Ok((refused.envelope, reply)));
            }
        }
        if let Ok((envelope, reply)) = Reply::decode(&frames) {
            let again = reply.encode(&envelope);
            prop_assert_eq!(slices(&again), frames.as_slice());
        }
    }
}
