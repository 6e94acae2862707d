//! The phases of a run: check, open, start, connect, flow, end.

use std::iter::once;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_process::descendants::{self, Bystanders};
use rustix::process::Signal;

use super::boundary::{Boundary, Downstream, Ends, Event, Upstream};
use super::command::check_command;
use super::error::RunError;
use super::input::Reader;
use super::instances::{Ended, Instances, Launcher, executable};
use super::options::{Observer, RunOptions};
use super::outlook::Outlook;
use super::output::Writer;
use super::report::RunReport;
use super::tally::Tally;
use crate::topology::Topology;
use crate::topology::definition::Stage;
use crate::topology::stage;

/// Limit of the events that wait to be handled. Above it, senders of events wait, including a stage that floods its
/// standard error.
const EVENTS_MAX: usize = 1024;
/// Interval at which progress, the stop flag and late instances are checked.
const TICK: Duration = Duration::from_millis(100);
/// Interval at which the connections of all instances are checked.
const CONNECT_TICK: Duration = Duration::from_millis(5);
/// Time that processes have to end by themselves.
const ENDING_TIMEOUT: Duration = Duration::from_secs(3);

/// Starts the stages of `topology` as processes, passes its input through them and returns the measurements. When it
/// returns, none of these processes is left, and none of their descendants, in any process group or session. If a
/// stage's own process was killed by SIGKILL, its descendants are found only with [`RunOptions::adopts`].
///
/// The kernel ends the processes if the calling *thread* dies, so call this function from a thread that lives as long
/// as the run. If a run fails whose output is a pipe without a reader, a thread that waits there is left behind.
pub fn run(
    topology: &Topology,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let input = topology.input.as_ref().ok_or(RunError::NoInput)?;
    for stage in &topology.stages {
        check_command(stage, &topology.directory)?;
    }
    let executable = executable(options.stage_executable.as_ref())?;
    let adopt = || descendants::adopt().map_err(|error| RunError::Hub(error.to_string()));
    let bystanders = options.adopts.then(adopt).transpose()?;
    let tally = Arc::new(Tally::new(topology.stages.iter().map(|stage| stage.instances)));
    let mut reader = Reader::open(input, &tally)?;
    let expected = reader.left()?;
    let stopped = || {
        let is_stopped = options.stop.load(Ordering::Relaxed);
        is_stopped.then(|| RunError::Stopped(Box::new(RunReport::of(topology, &tally))))
    };
    let writer = Writer::open(&topology.output, &reader, stopped)?;
    let (sender, events) = mpsc::sync_channel(EVENTS_MAX);
    let starters = start_boundaries(topology, reader, writer, &tally, &sender)?;
    let outlook = Outlook::of(topology, expected);
    let instances = Instances::new(topology);
    let mut run =
        Run { topology, options, observer, tally, events, starters, instances, outlook, bystanders };
    // The launcher has the last sender of events, except those of processes and boundaries. All have ended when the
    // events end.
    let done = run.ends().and_then(|ends| {
        let launcher = Launcher { executable, ends, events: sender, groups: options.groups.clone() };
        run.instances.start(&launcher)?;
        run.connect(&launcher)?;
        run.flow(&launcher)?;
        run.dismiss(&launcher)
    });
    let ended = run.end();
    done.and(ended).map(|()| RunReport::of(topology, &run.tally))
}

/// Starts a thread for each boundary: between two stages, and at both ends. Each goes on when told so, and ends when
/// its sender here is dropped.
fn start_boundaries(
    topology: &Topology,
    reader: Reader,
    writer: Writer,
    tally: &Arc<Tally>,
    events: &SyncSender<Event>,
) -> Result<Vec<Sender<()>>, RunError> {
    let stages: Vec<(usize, Stage)> = topology.stages.iter().cloned().enumerate().collect();
    let before = stages.iter().cloned().map(|(index, stage)| Downstream::Stage(index, stage));
    let after = stages.iter().cloned().map(|(index, stage)| Upstream::Stage(index, stage));
    let upstreams = once(Upstream::Input(reader)).chain(after);
    let downstreams = before.chain(once(Downstream::Output(writer)));
    let mut starters = Vec::new();
    for (index, (upstream, downstream)) in upstreams.zip(downstreams).enumerate() {
        let (starter, go) = mpsc::channel();
        let (tally, events) = (tally.clone(), events.clone());
        let boundary = Boundary { index, upstream, downstream, tally, events, go };
        let thread = thread::Builder::new().name(format!("boundary {index}")).spawn(move || boundary.live());
        thread.map_err(|error| RunError::Hub(error.to_string()))?;
        starters.push(starter);
    }
    Ok(starters)
}

struct Run<'a> {
    topology: &'a Topology,
    options: &'a RunOptions,
    observer: &'a mut dyn Observer,
    tally: Arc<Tally>,
    events: Receiver<Event>,
    /// A sender for each boundary's thread.
    starters: Vec<Sender<()>>,
    instances: Instances<'a>,
    outlook: Outlook,
    /// Descendants that do not belong to the run, if descendants are adopted.
    bystanders: Option<Bystanders>,
}

impl Run<'_> {
    /// Returns the sockets of all boundaries, in order.
    fn ends(&mut self) -> Result<Vec<Ends>, RunError> {
        let mut all: Vec<Option<Ends>> = self.starters.iter().map(|_| None).collect();
        while all.iter().any(Option::is_none) {
            match self.events.recv() {
                Ok(Event::Opened { boundary, ends }) => all[boundary] = Some(ends),
                Ok(Event::Failed(error)) => return Err(error),
                Ok(_) => {}
                Err(error) => return Err(RunError::Hub(error.to_string())),
            }
        }
        Ok(all.into_iter().flatten().collect())
    }

    /// Waits until every instance is connected on both sides.
    fn connect(&mut self, launcher: &Launcher) -> Result<(), RunError> {
        let deadline = Instant::now() + self.options.connect_timeout;
        while let Some((index, instance, variable)) = self.unconnected(&launcher.ends) {
            if Instant::now() >= deadline {
                return Err(RunError::NotConnected {
                    stage: self.topology.stages[index].name.clone(),
                    instance: instance as u32 + 1,
                    variable,
                    within: self.options.connect_timeout,
                });
            }
            self.next_event(launcher, CONNECT_TICK)?;
        }
        Ok(())
    }

    /// Returns the first instance that is not connected, and the variable of the missing connection.
    fn unconnected(&self, ends: &[Ends]) -> Option<(usize, usize, &'static str)> {
        for (index, _) in self.topology.stages.iter().enumerate() {
            let waits = |(push, _): &(hairstreak_socket::Push, String)| push.peers().is_empty();
            if let Some(instance) = ends[index].downstream.iter().position(waits) {
                return Some((index, instance, stage::IN));
            }
            let Some((pull, endpoints)) = &ends[index + 1].upstream else { continue };
            let peers = pull.peers();
            let waits = |endpoint: &String| !peers.iter().any(|peer| peer.endpoint == *endpoint);
            if let Some(instance) = endpoints.iter().position(waits) {
                return Some((index, instance, stage::OUT));
            }
        }
        None
    }

    /// Lets messages flow until the last result is in.
    fn flow(&mut self, launcher: &Launcher) -> Result<(), RunError> {
        for boundary in &self.starters {
            // A boundary that is gone has reported the reason.
            let _ = boundary.send(());
        }
        let mut next_tick = Instant::now() + TICK;
        loop {
            let until_tick = next_tick.saturating_duration_since(Instant::now());
            if self.next_event(launcher, until_tick)? == Happened::Finished {
                return Ok(());
            }
            if Instant::now() >= next_tick {
                next_tick = Instant::now() + TICK;
                self.instances.check_underway(&self.tally)?;
                self.instances.check_connected(launcher, self.options.connect_timeout)?;
                self.observer.progress(&self.outlook.progress(self.topology, &self.tally));
            }
        }
    }

    /// Waits until every process has ended as it should. All results are in.
    fn dismiss(&mut self, launcher: &Launcher) -> Result<(), RunError> {
        let deadline = Instant::now() + ENDING_TIMEOUT;
        self.instances.dismiss();
        while !self.instances.is_gone() && Instant::now() < deadline {
            if self.next_event(launcher, CONNECT_TICK)? == Happened::FilterFinished {
                self.instances.dismiss();
            }
        }
        Ok(())
    }

    /// Ends the run in every case. No process is left after this, and no thread except a thread that waits for the
    /// reader of its output. Notices a stage that sent too many results.
    fn end(&mut self) -> Result<(), RunError> {
        self.tally.abandon();
        self.instances.signal(Signal::TERM);
        let mut deadline = Instant::now() + ENDING_TIMEOUT;
        let mut released = false;
        while !self.instances.is_gone() {
            match (Instant::now() >= deadline, released) {
                (true, true) => self.instances.signal(Signal::KILL),
                (true, false) => {
                    // First through the stages' processes, which know the processes that left their groups.
                    self.instances.release();
                    (released, deadline) = (true, Instant::now() + ENDING_TIMEOUT);
                }
                (false, _) => {}
            }
            if let Ok(Event::Ended { child, .. }) = self.events.recv_timeout(TICK) {
                self.instances.gone(child);
            }
        }
        if let Some(bystanders) = &self.bystanders {
            descendants::end(bystanders);
        }
        self.starters.clear();
        deadline = Instant::now() + ENDING_TIMEOUT;
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Failed(error)) => return Err(error),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
    }

    /// Waits for an event, at most `timeout`, and handles it.
    fn next_event(&mut self, launcher: &Launcher, timeout: Duration) -> Result<Happened, RunError> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Err(RunError::Stopped(Box::new(RunReport::of(self.topology, &self.tally))));
        }
        let event = match self.events.recv_timeout(timeout) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => return Ok(Happened::Nothing),
            Err(error) => return Err(RunError::Hub(error.to_string())),
        };
        match event {
            Event::Opened { .. } => {}
            Event::Finished => return Ok(Happened::Finished),
            Event::Failed(error) => return Err(error),
            Event::StageLine { child, line } => {
                let (stage, instance) = self.instances.name(child);
                self.observer.stage_line(stage, instance, &line);
            }
            Event::FilterFinished { child } => {
                self.instances.finished(child);
                return Ok(Happened::FilterFinished);
            }
            Event::Ended { child, ending, last_line } => {
                let last_line = last_line.as_deref();
                if let Ended::Killed(how) =
                    self.instances.ended(child, &ending, last_line, launcher, &self.tally)?
                {
                    let (stage, instance) = self.instances.name(child);
                    self.observer.restart(stage, instance, &how);
                    self.instances.restart(child, launcher, &self.tally)?;
                }
            }
        }
        Ok(Happened::Nothing)
    }
}

/// Events on which callers of `next_event` act themselves.
#[derive(PartialEq)]
enum Happened {
    Nothing,
    Finished,
    FilterFinished,
}
