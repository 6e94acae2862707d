//! A boundary: the thread before, between or after the stages.
//!
//! A boundary opens its sockets in its own thread. One engine then drives both sides, and sent messages leave before
//! the thread waits for more. A boundary ends when the run does, and keeps its sockets until then.
//!
//! - `Event`: reports of boundaries and processes to the thread that runs the topology.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use hairstreak_socket::{Context, Message, Pull, Push};

use super::error::RunError;
use super::fan::{Fan, Given};
use super::input::Reader;
use super::numbering::Names;
use super::output::Writer;
use super::results::Results;
use super::tally::Tally;
use crate::topology::definition::Stage;
use crate::topology::stage::Ending;

/// The endpoint of the sockets: on this machine only, on any free port.
const ENDPOINT: &str = "tcp://127.0.0.1:0";

/// The source of a boundary's messages.
pub(super) enum Upstream {
    Input(Reader),
    Stage(usize, Stage),
}

/// The destination of a boundary's messages.
pub(super) enum Downstream {
    Stage(usize, Stage),
    Output(Writer),
}

/// The sockets of a boundary, and the endpoints to which they are bound.
pub(super) struct Ends {
    /// From the instances of the stage before; one endpoint for each.
    pub(super) upstream: Option<(Pull, Vec<String>)>,
    /// To each instance of the stage after.
    pub(super) downstream: Vec<(Push, String)>,
    /// The names of the messages that are passed on.
    pub(super) names: Names,
}

/// The parameters of a boundary's thread.
pub(super) struct Boundary {
    pub(super) index: usize,
    pub(super) upstream: Upstream,
    pub(super) downstream: Downstream,
    pub(super) tally: Arc<Tally>,
    pub(super) events: SyncSender<Event>,
    /// Receives a word to begin. It closes when the run is over.
    pub(super) go: Receiver<()>,
}

enum Source {
    Input(Reader),
    Stage(Results),
}

enum Sink {
    Stage(Fan),
    Output(Writer),
}

impl Boundary {
    /// Runs the thread from its beginning to its end.
    pub(super) fn live(self) {
        let Boundary { index, upstream, downstream, tally, events, go } = self;
        // The receiver of events outlives every boundary, except in a run that has already failed.
        let tell = |event| drop(events.send(event));
        let hub = |error: String| Event::Failed(RunError::Hub(error));
        let (ends, mut pump) = match open(upstream, downstream, tally) {
            Ok(opened) => opened,
            Err(error) => return tell(hub(error)),
        };
        tell(Event::Opened { boundary: index, ends });
        if go.recv().is_err() {
            return;
        }
        match pump.run() {
            Ok(Given::Done) => pump.end().into_iter().for_each(tell),
            Ok(Given::Abandoned) => return,
            Err(error) => return tell(Event::Failed(error)),
        }
        let _ = go.recv();
        if let Some(error) = pump.surplus() {
            tell(Event::Failed(error));
        }
    }
}

fn open(upstream: Upstream, downstream: Downstream, tally: Arc<Tally>) -> Result<(Ends, Pump), String> {
    let context = Context::new();
    let mut ends = Ends { upstream: None, downstream: Vec::new(), names: Names::Numbered };
    let source = match upstream {
        Upstream::Input(reader) => Source::Input(reader),
        Upstream::Stage(index, stage) => {
            let opened = Results::open(&context, (index, &stage), ENDPOINT, tally.clone());
            let (results, endpoints) = opened.map_err(|error| error.to_string())?;
            ends.upstream = Some((results.pull().clone(), endpoints));
            Source::Stage(results)
        }
    };
    let sink = match downstream {
        Downstream::Output(writer) => Sink::Output(writer),
        Downstream::Stage(index, stage) => {
            let fan = Fan::open(&context, (index, &stage), tally.clone());
            let fan = fan.map_err(|error| error.to_string())?;
            for push in fan.pushes() {
                let bound = push.bind(ENDPOINT).map_err(|error| error.to_string())?;
                ends.downstream.push((push.clone(), bound.to_string()));
            }
            Sink::Stage(fan)
        }
    };
    ends.names = match &source {
        Source::Input(reader) => reader.names(),
        Source::Stage(results) => Names::Results(results.stage_name().to_owned()),
    };
    let names = ends.names.clone();
    Ok((ends, Pump { source, sink, names, tally, passed: 0, batch: Vec::new() }))
}

/// Moves messages from one side to the other.
struct Pump {
    source: Source,
    sink: Sink,
    names: Names,
    tally: Arc<Tally>,
    passed: u64,
    batch: Vec<Message>,
}

impl Pump {
    /// Moves messages until all have passed.
    fn run(&mut self) -> Result<Given, RunError> {
        while self.tally.total() != Some(self.passed) {
            if self.tally.is_abandoned() {
                return Ok(Given::Abandoned);
            }
            match self.take() {
                // The boundary waited for input, which is no longer wanted.
                Err(_) if self.tally.is_abandoned() => return Ok(Given::Abandoned),
                taken => taken?,
            }
            if let Given::Abandoned = self.pass_on()? {
                return Ok(Given::Abandoned);
            }
        }
        if let Sink::Output(writer) = &mut self.sink {
            writer.flush()?;
        }
        Ok(Given::Done)
    }

    /// Announces that all messages have passed. Returns an event for the runner.
    fn end(&mut self) -> Option<Event> {
        match &self.sink {
            Sink::Stage(fan) => fan.announce_end(),
            Sink::Output(_) => return Some(Event::Finished),
        }
        None
    }

    /// Fills the batch, or leaves it empty after some waiting.
    fn take(&mut self) -> Result<(), RunError> {
        let batch = &mut self.batch;
        match &mut self.source {
            Source::Input(reader) => {
                reader.fill(batch)?;
                let taken = self.passed + batch.len() as u64;
                if batch.is_empty() {
                    self.tally.set_total(taken);
                } else if let Some(left) = reader.left()? {
                    self.tally.set_total(taken + left);
                }
                self.tally.start();
            }
            Source::Stage(results) => results.take(batch)?,
        }
        Ok(())
    }

    fn pass_on(&mut self) -> Result<Given, RunError> {
        match &mut self.sink {
            Sink::Output(writer) => writer.write(&self.batch, self.passed + 1)?,
            Sink::Stage(fan) => {
                for (message, number) in self.batch.iter().zip(self.passed + 1..) {
                    let name = || self.names.of(number);
                    if let Given::Abandoned = fan.give(message, name)? {
                        return Ok(Given::Abandoned);
                    }
                }
            }
        }
        self.passed += self.batch.len() as u64;
        self.batch.clear();
        if let Source::Stage(results) = &mut self.source {
            results.accept();
        }
        Ok(Given::Done)
    }

    /// Returns an error if a stage went on sending after all its results were in.
    fn surplus(&self) -> Option<RunError> {
        match &self.source {
            Source::Stage(results) if results.has_surplus() => {
                let stage = results.stage_name().to_owned();
                Some(RunError::TooManyResults { stage, messages: self.passed })
            }
            _ => None,
        }
    }
}

pub(super) enum Event {
    /// A boundary has its sockets.
    Opened { boundary: usize, ends: Ends },
    /// The last result is written.
    Finished,
    /// A boundary cannot go on.
    Failed(RunError),
    /// An instance wrote a line to its standard error.
    StageLine { child: usize, line: String },
    /// A filter printed all results and ended with status 0.
    FilterFinished { child: usize },
    /// An instance's process is gone; with the last line that it wrote to standard error.
    Ended { child: usize, ending: Ending, last_line: Option<String> },
}
