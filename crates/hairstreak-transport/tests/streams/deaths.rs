//! Peers that disappear: at every step of the handshake, or killed in the middle of traffic.

use std::io::{ErrorKind, Read};
use std::process::{Command, Stdio};

use hairstreak_testkit::BoundedChild;
use hairstreak_transport::{Endpoint, IpcAddress, Stream};

use crate::end::{End, pattern};
use crate::kind::Kind;

/// The largest number of steps of an end before it goes.
const STEPS: usize = 6;

/// The error of an end whose peer goes after `steps` steps. `None` if both ends were established by then.
fn error_after(kind: Kind, steps: usize, client_goes: bool) -> Option<ErrorKind> {
    let (client, server) = kind.listen().ends();
    let (mut goes, mut stays) = if client_goes { (client, server) } else { (server, client) };
    for step in 0..steps {
        let end = if step % 2 == 0 { &mut goes } else { &mut stays };
        end.establish().unwrap();
    }
    drop(goes);
    match stays.establish_by_events() {
        Err(error) => Some(error.kind()),
        Ok(()) => {
            // Both sides were established before one of them went. The stream ends.
            let _ = stays.read_to_end();
            None
        }
    }
}

#[test]
fn a_peer_that_goes_while_establishing_leaves_an_error_and_no_one_waiting() {
    for kind in [Kind::Rings, Kind::Tls] {
        for client_goes in [false, true] {
            let errors: Vec<_> = (0..STEPS).map(|steps| error_after(kind, steps, client_goes)).collect();
            assert!(errors[0].is_some(), "{kind:?}: {errors:?}");
            assert!(errors.last().unwrap().is_none(), "{kind:?}: {errors:?}");
        }
    }
}

/// The variable with the place to connect to.
const PLACE: &str = "HAIRSTREAK_TEST_PLACE";
/// The number of bytes that the victim writes.
const WRITTEN: usize = 3000;

/// Connects to the place in the environment, writes, reports that, and waits for its end. Without the variable it does nothing.
#[test]
fn a_victim() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let (kind, name) = place.split_once(' ').unwrap();
    let kind = Kind::ALL.into_iter().find(|known| format!("{known:?}") == kind).unwrap();
    let stream = match kind {
        Kind::Tcp | Kind::Tls => Stream::connect_tcp(name.parse().unwrap()),
        Kind::Vortex => match name.parse().unwrap() {
            Endpoint::Vortex(address) => Stream::connect_vortex(&address),
            other => panic!("{other}"),
        },
        _ => Stream::connect_ipc(&IpcAddress::Abstract(name.to_owned())),
    };
    let mut end = End::new(stream.unwrap().with_client_layer(&kind.client_layer()));
    end.establish_by_events().unwrap();
    assert_eq!(end.write(&pattern(0, WRITTEN)).unwrap(), WRITTEN);
    end.flush_all();
    println!("written");
    let _ = std::io::stdin().read(&mut [0]);
}

/// Kills a process that has written. Returns the number of bytes read, and the event after them.
fn killed(kind: Kind) -> (usize, std::io::Result<()>) {
    let place = kind.listen();
    let name = match place.listener.endpoint() {
        Endpoint::Tcp(address) => format!("{kind:?} {}:{}", address.host, address.port),
        Endpoint::Ipc(IpcAddress::Abstract(name)) => format!("{kind:?} {name}"),
        endpoint => format!("{kind:?} {endpoint}"),
    };
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["deaths::a_victim", "--exact", "--nocapture"])
        .env(PLACE, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = End::new(place.accept());
    server.establish_by_events().unwrap();
    let mut said = Vec::new();
    let stdout = victim.stdout.as_mut().unwrap();
    while !said.ends_with(b"written\n") {
        let mut byte = [0];
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "the victim said {}", String::from_utf8_lossy(&said));
        said.extend(byte);
    }
    victim.kill().unwrap();
    victim.end();
    server.read_to_end()
}

#[test]
fn what_a_killed_process_wrote_is_read_and_then_its_end() {
    for kind in Kind::ALL {
        let (received, end) = killed(kind);
        assert_eq!(received, WRITTEN, "{kind:?}");
        match kind {
            // The process did not announce its end: further bytes may have been intended.
            Kind::Tls => assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof),
            Kind::Tcp | Kind::Ipc | Kind::Rings | Kind::Vortex => end.unwrap(),
        }
    }
}
