//! Fabrics: their refusals, their death and return, and their clock. `streams/` has the tests of all kinds of streams, including fabrics.

use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use hairstreak_testkit::{BoundedChild, until};
use hairstreak_transport::vortex::{
    Fabric, FabricClock, FabricError, FabricOptions, FabricStopper, VortexAddress,
};
use hairstreak_transport::{Endpoint, Established, Interest, Listener, Poller, Stream};

/// A time limit that only a hanging test reaches.
const LONG: Duration = Duration::from_secs(60);

/// A running fabric of eight ranks.
struct Running {
    stopper: FabricStopper,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(name: &str) -> Running {
        let mut fabric = Fabric::bind(&options(name)).unwrap();
        let stopper = fabric.stopper();
        Running { stopper, thread: Some(std::thread::spawn(move || fabric.run().unwrap())) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn options(name: &str) -> FabricOptions {
    FabricOptions { heights: 4, angles: 2, ..FabricOptions::new(name) }
}

fn name(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

fn address(text: &str) -> VortexAddress {
    match format!("vortex://{text}").parse().unwrap() {
        Endpoint::Vortex(address) => address,
        other => panic!("{other}"),
    }
}

/// Waits until a connection is established or has failed.
fn established(stream: std::io::Result<Stream>) -> std::io::Result<Stream> {
    let mut stream = stream?;
    until("a connection, or a failure", || match stream.establish() {
        Ok(Established::Done) => Ok(Ok(())),
        Ok(other) => Err(other),
        Err(error) => Ok(Err(error)),
    })?;
    Ok(stream)
}

/// The next connection of a listener. Another thread establishes the other end.
fn accept(listener: &Listener) -> std::io::Result<Stream> {
    let poller = Poller::new().unwrap();
    poller.add(listener, 0, Interest::Readable).unwrap();
    loop {
        if let Some(stream) = listener.accept()? {
            return established(Ok(stream));
        }
        assert!(poller.wait(Some(LONG), |_| {}).unwrap(), "no event");
    }
}

fn read(stream: &mut Stream) -> Vec<u8> {
    let mut room = [MaybeUninit::uninit(); 100];
    until("bytes", || match stream.read(&mut room) {
        Ok(bytes) => Some(bytes.to_vec()),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
            None
        }
    })
}

#[test]
fn options_that_make_no_fabric_are_refused_by_name() {
    let said = |options: FabricOptions| Fabric::bind(&options).unwrap_err().to_string();
    let name = name("options");
    assert!(said(options("a b")).contains("\"a b\" is no name"));
    assert!(said(options("")).contains("is no name"));
    assert!(said(FabricOptions { heights: 5, ..options(&name) }).contains("5 heights"));
    assert!(said(FabricOptions { angles: 0, ..options(&name) }).contains("0 angles"));
    assert!(said(FabricOptions { networks: 0, ..options(&name) }).contains("0 networks"));
    assert!(said(FabricOptions { heights: 4_096, angles: 2, ..options(&name) }).contains("8192 cards"));
    // A size is refused before memory of this size is allocated.
    let huge = FabricOptions { heights: 1 << 16, angles: 4_096, networks: 64, ..options(&name) };
    assert!(said(huge).contains("268435456 cards"));
    let first = Fabric::bind(&options(&name)).unwrap();
    assert!(matches!(Fabric::bind(&options(&name)), Err(FabricError::InUse(_))));
    drop(first);
    Fabric::bind(&options(&name)).unwrap();
}

#[test]
fn listeners_and_connections_that_cannot_be_are_refused() {
    let name = name("refused");
    let _fabric = Running::start(&name);
    let bound = Listener::bind_vortex(&address(&format!("{name}/3:5555"))).unwrap();
    assert_eq!(bound.endpoint().to_string(), format!("vortex://{name}/3:5555"));
    let bind = |text: String| Listener::bind_vortex(&address(&text)).unwrap_err();
    for (place, kind, said) in [
        ("3:5555", ErrorKind::AddrInUse, "a listener already"),
        ("8:5555", ErrorKind::InvalidInput, "ranks 0 to 7"),
        ("1;3:5556", ErrorKind::InvalidInput, "for connecting, not for binding"),
    ] {
        let error = bind(format!("{name}/{place}"));
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    let connect = |text: String| established(Stream::connect_vortex(&address(&text))).unwrap_err();
    for (place, kind, said) in [
        ("3:5556", ErrorKind::ConnectionRefused, "nobody listens"),
        ("2:5555", ErrorKind::ConnectionRefused, "nobody listens"),
        ("8:5555", ErrorKind::InvalidInput, "ranks 0 to 7"),
        ("8;3:5555", ErrorKind::InvalidInput, "ranks 0 to 7"),
        ("*:5555", ErrorKind::InvalidInput, "not a wildcard"),
        ("3:*", ErrorKind::InvalidInput, "not a wildcard"),
    ] {
        let error = connect(format!("{name}/{place}"));
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    for error in [bind("no-fabric/1:1".into()), connect("no-fabric/1:1".into())] {
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains("hairstreak fabric serve no-fabric"), "{error}");
    }
}

#[test]
fn wildcards_are_given_ranks_and_ports_of_their_own() {
    let name = name("wildcards");
    let _fabric = Running::start(&name);
    let listeners: Vec<_> =
        (0..3).map(|_| Listener::bind_vortex(&address(&format!("{name}/*:*"))).unwrap()).collect();
    let places: Vec<String> = listeners.iter().map(|listener| listener.endpoint().to_string()).collect();
    // One process has one rank.
    let expected = [49_152, 49_153, 49_154].map(|port| format!("vortex://{name}/0:{port}"));
    assert_eq!(places, expected);
    drop(listeners);
    // A peer may still look for ranks that are gone.
    let later = Listener::bind_vortex(&address(&format!("{name}/*:*"))).unwrap();
    assert_eq!(later.endpoint().to_string(), format!("vortex://{name}/0:49155"));
}

/// A socket to a fabric, with these bytes sent in place of a hello.
fn stranger(name: &str, bytes: &[u8]) -> UnixStream {
    let place = SocketAddr::from_abstract_name(format!("hairstreak-fabric-{name}")).unwrap();
    let mut socket = UnixStream::connect_addr(&place).unwrap();
    socket.write_all(bytes).unwrap();
    socket
}

/// Sends these bytes to a fabric. Returns the answer.
fn say(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut socket = stranger(name, bytes);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    answer
}

#[test]
fn strangers_are_hung_up_on_and_hurt_nobody() {
    let name = name("strangers");
    let _fabric = Running::start(&name);
    let listener = Listener::bind_vortex(&address(&format!("{name}/1:1"))).unwrap();
    assert_eq!(say(&name, b"GET / HTTP/1.1\r\n\r\n"), b"");
    let mut hello = *b"hsvortex\x01\x00\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0";
    hello[9] = 9;
    assert_eq!(say(&name, &hello), b"", "an unknown wish");
    (hello[8], hello[9]) = (2, 0);
    assert_eq!(say(&name, &hello)[0], 1, "another version");
    // A connection that is answered, and continues with bytes that are no agreement about rings.
    hello[8] = 1;
    let mut bytes = hello.to_vec();
    bytes.extend([b'x'; 100]);
    assert_eq!(say(&name, &bytes)[0], 0);
    assert!(accept(&listener).is_ok_and(|mut stream| read(&mut stream).is_empty()));
    let client = established(Stream::connect_vortex(&address(&format!("{name}/2;1:1"))));
    let (mut client, mut server) = (client.unwrap(), accept(&listener).unwrap());
    client.write(&[IoSlice::new(b"hello")]).unwrap();
    assert_eq!(read(&mut server), b"hello");
}

#[test]
fn a_listener_that_dies_with_its_hello_leaves_nothing() {
    let name = name("hello");
    let mut fabric = Fabric::bind(&options(&name)).unwrap();
    for port in 1..=20 {
        // The fabric sees the hello and the end at once: it does not run yet.
        let mut hello = *b"hsvortex\x01\x01\0\0\xff\xff\xff\xff\0\0\0\x01\0\0\0\0";
        hello[11] = port;
        drop(stranger(&name, &hello));
    }
    let stopper = fabric.stopper();
    let running = std::thread::spawn(move || fabric.run().unwrap());
    for port in 1..=20 {
        let place = address(&format!("{name}/2;1:{port}"));
        let error = established(Stream::connect_vortex(&place)).unwrap_err();
        assert!(error.to_string().contains("nobody listens"), "{error}");
    }
    stopper.stop();
    running.join().unwrap();
}

#[test]
fn a_fabric_that_ends_is_one_error_and_its_listeners_come_back_with_it() {
    let name = name("ends");
    let place = address(&format!("{name}/5:7"));
    let fabric = Running::start(&name);
    let epoch = FabricClock::attach(&name).unwrap().facts().epoch;
    let listener = Listener::bind_vortex(&place).unwrap();
    let (client, server) = (Stream::connect_vortex(&place), accept(&listener));
    let (mut client, mut server) = (established(client).unwrap(), server.unwrap());
    client.write(&[IoSlice::new(b"before")]).unwrap();
    assert_eq!(read(&mut server), b"before");
    drop(fabric);

    let gone = accept(&listener).unwrap_err();
    assert_eq!(
        (gone.kind(), gone.to_string()),
        (ErrorKind::ConnectionReset, format!("the fabric \"{name}\" is gone"))
    );
    assert!(listener.accept().unwrap().is_none(), "told once");
    for stream in [&mut client, &mut server] {
        stream.on_peer_ended();
        assert_eq!(read(stream), b"", "the end");
    }
    let error = FabricClock::attach(&name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);

    let _fabric = Running::start(&name);
    assert_ne!(FabricClock::attach(&name).unwrap().facts().epoch, epoch);
    // The listener connects on its own. Until then there is no listener.
    std::thread::scope(|scope| {
        let accepted = scope.spawn(|| accept(&listener).unwrap());
        let mut client = until("the listener is back", || {
            established(Stream::connect_vortex(&place)).inspect_err(|error| {
                assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
            })
        });
        let mut server = accepted.join().unwrap();
        server.write(&[IoSlice::new(b"after")]).unwrap();
        assert_eq!(read(&mut client), b"after");
    });
}

#[test]
fn the_clock_passes_while_cells_are_under_way_and_stands_while_none_is() {
    let name = name("clock");
    let _fabric = Running::start(&name);
    let clock = FabricClock::attach(&name).unwrap();
    let facts = clock.facts();
    assert_eq!((facts.heights, facts.angles, facts.networks), (4, 2, 16));
    let place = address(&format!("{name}/4:1"));
    let listener = Listener::bind_vortex(&place).unwrap();
    let (client, server) = (Stream::connect_vortex(&place), accept(&listener).unwrap());
    let (mut client, mut server) = (established(client).unwrap(), server);
    let mut last = (clock.slots(), clock.cells());
    for _ in 0..20 {
        client.write(&[IoSlice::new(&[7; 80])]).unwrap();
        assert_eq!(read(&mut server), [7; 80]);
        // Messages of flow control are under way for a while. No reader waits for them.
        let now = until("the clock stands", || {
            let now = (clock.slots(), clock.cells());
            std::thread::sleep(Duration::from_millis(5)); // tidy: allow(sleeps) that a clock stands is seen only after a while
            if now == (clock.slots(), clock.cells()) { Ok(now) } else { Err(now) }
        });
        let (slots, cells) = (now.0 - last.0, now.1 - last.1);
        assert!((10..1_000).contains(&slots) && (10..100).contains(&cells), "{slots} slots, {cells} cells");
        last = now;
    }
    assert_eq!(clock.time().as_nanos(), u128::from(last.0) * 30);
}

/// The variable with the place to listen at.
const PLACE: &str = "HAIRSTREAK_TEST_PLACE";

/// Listens at the place in the environment, reports that, and answers each connection with its process id. Without the variable it
/// does nothing.
#[test]
fn a_process() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let listener = Listener::bind_vortex(&address(&place)).unwrap();
    println!("\nat {}", listener.endpoint());
    loop {
        let mut stream = accept(&listener).unwrap();
        stream.write(&[IoSlice::new(&std::process::id().to_be_bytes())]).unwrap();
        stream.shutdown_write();
        read(&mut stream);
    }
}

/// Another process that listens, and its place.
fn process(place: &str) -> (Child, VortexAddress) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["a_process", "--exact", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let place = lines.filter_map(|line| line.strip_prefix("at vortex://").map(address)).next();
    (child, place.unwrap())
}

#[test]
fn several_processes_share_a_rank_and_one_that_is_killed_takes_only_its_own() {
    let name = name("shared");
    let _fabric = Running::start(&name);
    let place = format!("{name}/3:*");
    let mut processes: Vec<_> = (0..3).map(|_| process(&place)).collect();
    let asked = |address: &VortexAddress| {
        let mut stream =
            established(Stream::connect_vortex(&VortexAddress { from: Some(1), ..address.clone() }))?;
        std::io::Result::Ok(u32::from_be_bytes(read(&mut stream).try_into().unwrap()))
    };
    for (child, address) in &processes {
        assert_eq!((address.rank, asked(address).unwrap()), (Some(3), child.id()));
    }
    let (mut killed, place) = processes.remove(0);
    killed.kill().unwrap();
    killed.end();
    // Its port is free at once.
    let again = Listener::bind_vortex(&place).unwrap();
    assert_eq!(again.endpoint(), &Endpoint::Vortex(place));
    for (child, address) in &mut processes {
        assert_eq!(asked(address).unwrap(), child.id());
        child.kill().unwrap();
        child.end();
    }
}

#[test]
fn a_fabric_whose_processes_are_silent_sleeps() {
    let name = name("silent");
    let mut fabric = Fabric::bind(&options(&name)).unwrap();
    let (stopper, (tell, told)) = (fabric.stopper(), mpsc::channel());
    let thread = std::thread::spawn(move || {
        tell.send(rustix::thread::gettid()).unwrap();
        fabric.run().unwrap();
    });
    let used = format!("/proc/self/task/{}/schedstat", told.recv().unwrap().as_raw_nonzero());
    let place = address(&format!("{name}/4:1"));
    let listener = Listener::bind_vortex(&place).unwrap();
    let streams: Vec<_> = (0..20)
        .map(|_| {
            let client = Stream::connect_vortex(&place);
            let mut server = accept(&listener).unwrap();
            let mut client = established(client).unwrap();
            client.write(&[IoSlice::new(b"hello")]).unwrap();
            assert_eq!(read(&mut server), b"hello");
            (client, server)
        })
        .collect();
    let waits = || {
        let mut text = String::new();
        std::fs::File::open(&used).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    // Cells under way arrive. After that the thread does not run at all.
    until("the fabric sleeps", || {
        let before = waits();
        std::thread::sleep(Duration::from_millis(200)); // tidy: allow(sleeps) that a thread sleeps is seen only after a while
        waits() == before
    });
    drop(streams);
    stopper.stop();
    thread.join().unwrap();
}
