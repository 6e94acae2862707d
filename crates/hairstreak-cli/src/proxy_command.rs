//! `hairstreak proxy`: passes messages between two sockets until a signal or a command ends it.

use std::collections::HashSet;
use std::{io, thread};

use hairstreak_socket::monitor::{EventKind, Monitor};
use hairstreak_socket::pair::PairPattern;
use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::pubsub::{PubPattern, SubPattern, XPubPattern, XSubPattern};
use hairstreak_socket::reqrep::{DealerPattern, RepPattern, RouterPattern};
use hairstreak_socket::{
    ConnectError, Context, Options, Pattern, Proxy, ProxyControl, ProxyEnd, ProxyError, ProxySocket,
    ProxyStats, ProxyTraffic, Socket,
};
use serde_json::json;
use signal_hook::iterator::{Handle, Signals};

use crate::arguments::ProxyArguments;
use crate::failure::Failure;
use crate::line::one_line;
use crate::output::{announce, note, print};
use crate::output::{row, table};
use crate::place::Place;
use crate::signals;

/// Runs until a signal or a command ends it, which is the normal end.
pub fn proxy(arguments: &ProxyArguments) -> Result<(), Failure> {
    // The signals are set up before the announcement: its reader may send a signal at once.
    let signals = Signals::new(signals::ending()).map_err(Failure::failed)?;
    let opener = Opener {
        context: Context::new(),
        options: Options {
            linger_ms: u64::try_from(arguments.linger.as_millis()).unwrap_or(u64::MAX),
            ..Options::default()
        },
    };
    let frontend = opener.open(ProxyEnd::Frontend, &arguments.frontend)?;
    let backend = opener.open(ProxyEnd::Backend, &arguments.backend)?;
    let mut proxy = Proxy::new(frontend, backend).map_err(unfit)?;
    if !arguments.capture.is_empty() {
        proxy.capture(opener.open(ProxyEnd::Capture, &arguments.capture)?).map_err(unfit)?;
    }
    if !arguments.control.is_empty() {
        proxy.control_socket(opener.open(ProxyEnd::Control, &arguments.control)?).map_err(unfit)?;
    }
    let _signals = end_on_signal(signals, proxy.control()).map_err(Failure::failed)?;
    let statistics = proxy.run().map_err(Failure::failed)?;
    print(&if arguments.json { json(&statistics) } else { text(&statistics) })
}

fn unfit(error: ProxyError) -> Failure {
    match error {
        ProxyError::Unfit { .. } | ProxyError::NoWay { .. } => Failure::usage(error),
        ProxyError::System(_) | ProxyError::Add(_) => Failure::failed(error),
    }
}

/// Makes a signal end the proxy.
fn end_on_signal(mut signals: Signals, control: ProxyControl) -> io::Result<Handle> {
    let handle = signals.handle();
    thread::Builder::new().name("signals".into()).spawn(move || {
        if signals.forever().next().is_some() {
            control.terminate();
        }
    })?;
    Ok(handle)
}

/// Opens the sockets, all in one engine.
struct Opener {
    context: Context,
    options: Options,
}

impl Opener {
    fn open(&self, end: ProxyEnd, places: &[Place]) -> Result<ProxySocket, Failure> {
        // INVARIANT: called with at least one place.
        let socket_type = places.first().expect("a place").socket_type;
        if let Some(other) = places.iter().find(|place| place.socket_type != socket_type) {
            let types = format!("{socket_type} and {}", other.socket_type);
            return Err(Failure::usage(format!("--{end}: {types}: it is one socket, of one type")));
        }
        match socket_type {
            "ROUTER" => self.open_as::<RouterPattern>(end, places),
            "DEALER" => self.open_as::<DealerPattern>(end, places),
            "XSUB" => self.open_as::<XSubPattern>(end, places),
            "XPUB" => self.open_as::<XPubPattern>(end, places),
            "PUB" => self.open_as::<PubPattern>(end, places),
            "PULL" => self.open_as::<PullPattern>(end, places),
            "PUSH" => self.open_as::<PushPattern>(end, places),
            "PAIR" => self.open_as::<PairPattern>(end, places),
            "REP" => self.open_as::<RepPattern>(end, places),
            _ => {
                let socket = self.new_socket::<SubPattern>()?;
                socket.subscribe("").map_err(Failure::failed)?;
                self.join(&socket, end, places)
            }
        }
    }

    fn open_as<P: Pattern>(&self, end: ProxyEnd, places: &[Place]) -> Result<ProxySocket, Failure> {
        self.join(&self.new_socket::<P>()?, end, places)
    }

    fn new_socket<P: Pattern>(&self) -> Result<Socket<P>, Failure> {
        Socket::with_options(&self.context, self.options.clone()).map_err(Failure::failed)
    }

    fn join<P: Pattern>(
        &self,
        socket: &Socket<P>,
        end: ProxyEnd,
        places: &[Place],
    ) -> Result<ProxySocket, Failure> {
        if places.iter().any(|place| place.connects) {
            let monitor = socket.monitor().map_err(Failure::failed)?;
            complain_of_failures(end, monitor).map_err(Failure::failed)?;
        }
        for place in places {
            if place.connects {
                socket.connect(&place.endpoint).map_err(|error| match error {
                    ConnectError::Endpoint(_) | ConnectError::Resolve(_) => Failure::usage(error),
                    _ => Failure::failed(error),
                })?;
            } else {
                let bound = socket.bind(&place.endpoint).map_err(Failure::failed)?;
                announce(format!("{end} at {bound}\n"))?;
            }
        }
        Ok(socket.into())
    }
}

/// Reports, once for each endpoint, a failed connect; the socket keeps trying.
fn complain_of_failures(end: ProxyEnd, monitor: Monitor) -> io::Result<()> {
    let mut told = HashSet::new();
    let complain = move || {
        while let Ok(event) = monitor.recv() {
            let (EventKind::ConnectFailed { reason }, Some(endpoint)) = (event.kind, event.endpoint) else {
                continue;
            };
            let endpoint = endpoint.to_string();
            if !told.contains(&endpoint) {
                let line = format!("{end}: cannot connect to {endpoint}: {reason}; trying again");
                note(&format!("{}\n", one_line(&line)));
                told.insert(endpoint);
            }
        }
    };
    thread::Builder::new().name(format!("{end} monitor")).spawn(complain).map(drop)
}

fn text(statistics: &ProxyStats) -> String {
    let numbers = |name: &str, traffic: &ProxyTraffic| {
        let [received, received_bytes, sent, sent_bytes] =
            [traffic.received, traffic.received_bytes, traffic.sent, traffic.sent_bytes]
                .map(|number| number.to_string());
        row([name, &received, &received_bytes, &sent, &sent_bytes])
    };
    let mut text = table(&[
        row(["side", "received", "bytes", "sent", "bytes"]),
        numbers("frontend", &statistics.frontend),
        numbers("backend", &statistics.backend),
    ]);
    for (count, what) in [(statistics.refused, "refused"), (statistics.in_hand, "not passed on")] {
        if count > 0 {
            text.push_str(&format!("{count} {what}\n"));
        }
    }
    text
}

fn json(statistics: &ProxyStats) -> String {
    let numbers = |traffic: &ProxyTraffic| {
        json!({
            "received": traffic.received,
            "received_bytes": traffic.received_bytes,
            "sent": traffic.sent,
            "sent_bytes": traffic.sent_bytes,
        })
    };
    let object = json!({
        "frontend": numbers(&statistics.frontend),
        "backend": numbers(&statistics.backend),
        "refused": statistics.refused,
        "in_hand": statistics.in_hand,
    });
    format!("{object}\n")
}
