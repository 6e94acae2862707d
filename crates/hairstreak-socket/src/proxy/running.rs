//! `Proxy`: its sockets, and the loop.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

use hairstreak_wire::zmtp::SocketType;

use super::control::{ProxyControl, Wish};
use super::port::{ProxyEnd, ProxySocket};
use super::statistics::ProxyStats;
use super::way::{Ended, Ports, Way};
use super::words;
use crate::errors::{ProxyError, RunError, WaitError};
use crate::poller::{Interest, Poller, Ready};

/// Passes messages between two sockets; see the module's description.
///
/// It holds handles of its sockets. Whoever else receives from them takes messages away; whoever else sends takes
/// room.
pub struct Proxy {
    /// Frontend, backend, capture, control.
    ports: [Option<ProxySocket>; 4],
    ways: Vec<Way>,
    poller: Poller,
    control: ProxyControl,
    statistics: ProxyStats,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<_> = self.ports.iter().flatten().map(|port| port.socket_type.as_str()).collect();
        f.debug_struct("Proxy").field("sockets", &types).field("statistics", &self.statistics).finish()
    }
}

impl Proxy {
    /// A proxy between two sockets. Messages go from each to the other as far as the one receives and the other
    /// sends; one way at least there must be.
    pub fn new(
        frontend: impl Into<ProxySocket>,
        backend: impl Into<ProxySocket>,
    ) -> Result<Proxy, ProxyError> {
        let (front, back) = (frontend.into(), backend.into());
        let ends = [(ProxyEnd::Frontend, &front), (ProxyEnd::Backend, &back)];
        for (end, port) in ends {
            if port.is_lockstep() {
                return Err(ProxyError::Unfit { end, socket_type: port.socket_type.as_str() });
            }
        }
        let mut ways = Vec::new();
        if front.receives() && back.sends() {
            ways.push(Way::new(ProxyEnd::Frontend, ProxyEnd::Backend));
        }
        if back.receives() && front.sends() {
            ways.push(Way::new(ProxyEnd::Backend, ProxyEnd::Frontend));
        }
        if ways.is_empty() {
            let (frontend, backend) = (front.socket_type.as_str(), back.socket_type.as_str());
            return Err(ProxyError::NoWay { frontend, backend });
        }
        let mut poller = Poller::new()?;
        for (end, port) in ends {
            poller.add_handle(&port.handle, end.index(), Interest::NONE)?;
        }
        let control = ProxyControl::new(poller.waker());
        let ports = [Some(front), Some(back), None, None];
        Ok(Proxy { ports, ways, poller, control, statistics: ProxyStats::default() })
    }

    /// Gives a copy of every message, of both ways, to this socket too: a PUB, PUSH, PAIR or DEALER. One that waits
    /// for room has the proxy wait; a PUB drops and counts.
    pub fn capture(&mut self, socket: impl Into<ProxySocket>) -> Result<(), ProxyError> {
        let socket = socket.into();
        let fits = matches!(
            socket.socket_type,
            SocketType::Pub | SocketType::XPub | SocketType::Push | SocketType::Pair | SocketType::Dealer
        );
        self.add(ProxyEnd::Capture, socket, fits, Interest::NONE)
    }

    /// Obeys the words that this socket receives: a REP, PAIR, DEALER, PULL or SUB.
    pub fn control_socket(&mut self, socket: impl Into<ProxySocket>) -> Result<(), ProxyError> {
        let socket = socket.into();
        let fits = matches!(
            socket.socket_type,
            SocketType::Rep | SocketType::Pair | SocketType::Dealer | SocketType::Pull | SocketType::Sub
        );
        self.add(ProxyEnd::Control, socket, fits, Interest::READABLE)
    }

    fn add(
        &mut self,
        end: ProxyEnd,
        port: ProxySocket,
        fits: bool,
        interest: Interest,
    ) -> Result<(), ProxyError> {
        if !fits {
            return Err(ProxyError::Unfit { end, socket_type: port.socket_type.as_str() });
        }
        self.poller.remove(end.index());
        self.poller.add_handle(&port.handle, end.index(), interest)?;
        self.ports[end.index()] = Some(port);
        Ok(())
    }

    /// A handle to steer by.
    pub fn control(&self) -> ProxyControl {
        self.control.clone()
    }

    /// Passes messages until it is told to end, or a socket of it is closed. Returns what has passed, in all runs.
    pub fn run(&mut self) -> Result<ProxyStats, RunError> {
        let run = Run(self);
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            match run.0.step()? {
                Step::End => break,
                Step::GoOn => {}
                Step::Wait => {
                    run.0.poller.wait(&mut ready)?;
                    run.0.check_open(&ready)?;
                }
            }
        }
        Ok(run.end())
    }

    /// As [`Proxy::run`], in a task of any executor: it gives way to others between two bursts, and while it waits
    /// the background thread drives its engines, as for all async calls. Cancel safe: dropped, it has ended, and
    /// every message is where it was or has been passed on; the next run goes on from there. What the control was
    /// told holds for this run.
    pub async fn run_async(&mut self) -> Result<ProxyStats, RunError> {
        let run = Run(self);
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            match run.0.step()? {
                Step::End => break,
                Step::GoOn => give_way().await,
                Step::Wait => {
                    run.0.poller.wait_async(&mut ready).await?;
                    run.0.check_open(&ready)?;
                }
            }
        }
        Ok(run.end())
    }

    /// Does what there is to be done at once.
    fn step(&mut self) -> Result<Step, RunError> {
        if self.poller.is_forked() {
            // A thread that the child does not have may hold its engine's lock.
            return Err(WaitError::Forked.into());
        }
        self.obey();
        let interests = match self.control.wish() {
            Wish::Terminate => return Ok(Step::End),
            Wish::Pause => Some([Interest::NONE; 4]),
            Wish::Run => self.move_bursts()?,
        };
        self.settle_statistics();
        let Some(mut interests) = interests else { return Ok(Step::GoOn) };
        interests[ProxyEnd::Control.index()] = Interest::READABLE;
        for end in ProxyEnd::ALL {
            if self.ports[end.index()].is_some() {
                // INVARIANT: every port is registered under its own key.
                self.poller.modify(end.index(), interests[end.index()]).expect("a port is registered");
            }
        }
        Ok(Step::Wait)
    }

    /// A burst of each way. Returns what to wait for; nothing if there may be more at once.
    fn move_bursts(&mut self) -> Result<Option<[Interest; 4]>, RunError> {
        let mut interests = [Interest::NONE; 4];
        let mut has_more = false;
        for way in &mut self.ways {
            // INVARIANT: a proxy is made with both.
            let port = |end: ProxyEnd| self.ports[end.index()].as_ref().expect("both ends are there");
            let capture = self.ports[ProxyEnd::Capture.index()].as_ref();
            let ports = Ports { from: port(way.from), to: port(way.to), capture };
            let ended = way.burst(&ports, &mut self.statistics);
            self.poller.address(way.to.index(), way.addressee(ports.to));
            match ended {
                Ended::Burst => has_more = true,
                Ended::Dry => interests[way.from.index()].readable = true,
                Ended::NoRoom(end) => interests[end.index()].writable = true,
                Ended::Closed(end) => return Err(RunError::Closed(end)),
            }
            ports.from.rest();
            ports.to.rest();
        }
        Ok((!has_more).then_some(interests))
    }

    fn obey(&mut self) {
        let place = &mut self.ports[ProxyEnd::Control.index()];
        if let Some(port) = place
            && !words::obey(port, &self.control, &self.statistics)
        {
            // It is steered by its handles from here on.
            *place = None;
            self.poller.remove(ProxyEnd::Control.index());
        }
    }

    fn check_open(&self, ready: &[Ready]) -> Result<(), RunError> {
        let is_closed = |end: &ProxyEnd| ready.iter().any(|found| found.key == end.index() && found.closed);
        let mut ends = [ProxyEnd::Frontend, ProxyEnd::Backend, ProxyEnd::Capture].into_iter();
        ends.find(is_closed).map_or(Ok(()), |end| Err(RunError::Closed(end)))
    }

    fn settle_statistics(&mut self) {
        self.statistics.in_hand = self.ways.iter().filter(|way| way.is_in_hand()).count() as u64;
        self.control.publish(&self.statistics);
    }
}

/// What is to be done next.
enum Step {
    /// There may be more at once.
    GoOn,
    /// Nothing, until something is ready.
    Wait,
    /// It was told to end.
    End,
}

/// A run, which is settled however it ends.
struct Run<'a>(&'a mut Proxy);

impl Run<'_> {
    fn end(self) -> ProxyStats {
        self.0.settle_statistics();
        self.0.statistics
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // What it shares with other threads may be locked for ever in a forked child.
        if !self.0.poller.is_forked() {
            self.0.settle_statistics();
            self.0.control.has_ended();
        }
    }
}

/// Lets the executor's other tasks have their turn.
async fn give_way() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
