//! A boundary: what stands before, between and after the stages.
//!
//! It opens its sockets in its own thread, so that one engine drives both sides and what was sent
//! leaves before it waits for more. It ends when the run does, having kept its sockets until then.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use hairstreak_socket::{Context, Message, Options, Pull, Push, RecvError};

use super::error::RunError;
use super::event::Event;
use super::fan::{Fan, Given};
use super::input::Reader;
use super::output::Writer;
use super::tally::Tally;
use crate::topology::definition::Stage;

/// Results taken at once while more are there, and their bytes.
const BATCH_COUNT: usize = 256;
const BATCH_SIZE: usize = 1 << 20;
/// How often a wait for results looks whether the run is still wanted or was the last result's.
const WAIT: Duration = Duration::from_millis(50);
/// Where the sockets listen: this machine only, on a port that nobody has.
const ENDPOINT: &str = "tcp://127.0.0.1:0";

/// Where a boundary takes messages from.
pub(super) enum Upstream {
    Input(Reader),
    Stage(usize, Stage),
}

/// Where it passes them to.
pub(super) enum Downstream {
    Stage(usize, Stage),
    Output(Writer),
}

/// The sockets of a boundary, beside the endpoints they are bound to.
pub(super) struct Ends {
    /// From the instances of the stage before; one endpoint for each.
    pub(super) upstream: Option<(Pull, Vec<String>)>,
    /// To each instance of the stage after.
    pub(super) downstream: Vec<(Push, String)>,
}

/// What a boundary's thread starts with.
pub(super) struct Boundary {
    pub(super) index: usize,
    pub(super) upstream: Upstream,
    pub(super) downstream: Downstream,
    pub(super) tally: Arc<Tally>,
    pub(super) events: SyncSender<Event>,
    /// One word to begin; it closes when the run is over.
    pub(super) go: Receiver<()>,
}

enum Source {
    Input(Reader),
    Stage { index: usize, name: String, pull: Pull },
}

enum Sink {
    Stage(Fan),
    Output(Writer),
}

impl Boundary {
    /// The whole life of the thread.
    pub(super) fn live(self) {
        let Boundary { index, upstream, downstream, tally, events, go } = self;
        // The receiver of events outlives every boundary but in a run that has already failed.
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
            Ok(Given::Done) => tell(pump.last_event()),
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
    // What is still unsent when a run ends, nobody is there to take.
    let options = Options { linger_ms: 0, ..Options::default() };
    let mut ends = Ends { upstream: None, downstream: Vec::new() };
    let source = match upstream {
        Upstream::Input(reader) => Source::Input(reader),
        Upstream::Stage(index, stage) => {
            let pull = Pull::with_options(&context, options.clone()).map_err(|error| error.to_string())?;
            let bind = |_| pull.bind(ENDPOINT).map(|bound| bound.to_string());
            let endpoints = (0..stage.instances).map(bind).collect::<Result<_, _>>();
            ends.upstream = Some((pull.clone(), endpoints.map_err(|error| error.to_string())?));
            Source::Stage { index, name: stage.name, pull }
        }
    };
    let sink = match downstream {
        Downstream::Output(writer) => Sink::Output(writer),
        Downstream::Stage(index, stage) => {
            let fan = Fan::open(&context, &options, (index, &stage), tally.clone());
            let fan = fan.map_err(|error| error.to_string())?;
            for push in fan.pushes() {
                let bound = push.bind(ENDPOINT).map_err(|error| error.to_string())?;
                ends.downstream.push((push.clone(), bound.to_string()));
            }
            Sink::Stage(fan)
        }
    };
    Ok((ends, Pump { source, sink, tally, passed: 0, batch: Vec::with_capacity(BATCH_COUNT) }))
}

/// Moves messages from one side to the other.
struct Pump {
    source: Source,
    sink: Sink,
    tally: Arc<Tally>,
    passed: u64,
    batch: Vec<Message>,
}

impl Pump {
    /// Until all messages have passed.
    fn run(&mut self) -> Result<Given, RunError> {
        while self.tally.total() != Some(self.passed) {
            if self.tally.is_abandoned() {
                return Ok(Given::Abandoned);
            }
            match self.take() {
                // It waited for input, and nobody wants that now.
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

    fn last_event(&self) -> Event {
        match &self.sink {
            Sink::Stage(fan) => Event::AllGiven { stage: fan.stage() },
            Sink::Output(_) => Event::Finished,
        }
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
            Source::Stage { index, name, pull } => {
                receive(pull, batch).map_err(|error| RunError::Hub(error.to_string()))?;
                if !batch.is_empty() {
                    self.tally.processed(*index, batch.len() as u64);
                }
                let stage = self.tally.stage(*index);
                if stage.processed() > stage.given() {
                    return Err(RunError::TooManyResults { stage: name.clone(), messages: stage.given() });
                }
            }
        }
        Ok(())
    }

    fn pass_on(&mut self) -> Result<Given, RunError> {
        match &mut self.sink {
            Sink::Output(writer) => writer.write(&self.batch, self.passed + 1)?,
            Sink::Stage(fan) => {
                for (message, number) in self.batch.iter().zip(self.passed + 1..) {
                    let name = || self.source.name_of(number);
                    if let Given::Abandoned = fan.give(message, name)? {
                        return Ok(Given::Abandoned);
                    }
                }
            }
        }
        self.passed += self.batch.len() as u64;
        self.batch.clear();
        Ok(Given::Done)
    }

    /// Whether a stage went on sending after all its results were in.
    fn surplus(&self) -> Option<RunError> {
        match &self.source {
            Source::Stage { name, pull, .. } if pull.try_recv().is_ok() => {
                Some(RunError::TooManyResults { stage: name.clone(), messages: self.passed })
            }
            _ => None,
        }
    }
}

impl Source {
    fn name_of(&self, number: u64) -> String {
        match self {
            Source::Input(reader) => reader.name(number),
            Source::Stage { name, .. } => format!("result {number} of stage \"{name}\""),
        }
    }
}

fn receive(pull: &Pull, batch: &mut Vec<Message>) -> Result<(), RecvError> {
    let mut size = 0;
    let mut received = pull.recv_timeout(WAIT);
    loop {
        match received {
            Ok(message) => {
                size += message.size();
                batch.push(message);
            }
            Err(RecvError::WouldBlock | RecvError::TimedOut) => return Ok(()),
            Err(error) => return Err(error),
        }
        if batch.len() == BATCH_COUNT || size >= BATCH_SIZE {
            return Ok(());
        }
        received = pull.try_recv();
    }
}
