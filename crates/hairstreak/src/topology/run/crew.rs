//! All processes of a run.

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::boundary::Ends;
use super::child::{Child, Start};
use super::error::RunError;
use super::event::Event;
use super::tally::Tally;
use crate::topology::definition::{Topology, Work};
use crate::topology::stage::{Ending, Role};

/// How long a program that ended with status 0 may be the last one to have results on their way.
const RESULTS_UNDERWAY: Duration = Duration::from_secs(5);

/// All processes of a run, those that ended included.
pub(super) struct Crew<'a> {
    topology: &'a Topology,
    members: Vec<Member>,
}

struct Member {
    child: Child,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    /// A filter that printed all it owed; its process waits to be let go.
    Finished,
    /// Told to go; however it ends is right.
    Dismissed,
    Ended(Instant),
}

impl<'a> Crew<'a> {
    /// Nobody yet.
    pub(super) fn new(topology: &'a Topology) -> Crew<'a> {
        Crew { topology, members: Vec::new() }
    }

    /// Starts all instances of all stages. `ends` are the boundaries', in order. After an error
    /// those that were started are still there, to be ended.
    pub(super) fn start(
        &mut self,
        executable: &Path,
        ends: &[Ends],
        events: &SyncSender<Event>,
    ) -> Result<(), RunError> {
        for (index, stage) in self.topology.stages.iter().enumerate() {
            let Some(role) = stage.work.as_ref().map(Role::of) else { continue };
            for instance in 0..stage.instances as usize {
                let outlets = ends[index + 1].upstream.as_ref().map(|(_, endpoints)| endpoints.as_slice());
                let start = Start {
                    executable,
                    directory: &self.topology.directory,
                    stage: (index, stage),
                    instance,
                    role: &role,
                    endpoints: (&ends[index].downstream[instance].1, &outlets.unwrap_or_default()[instance]),
                    child: self.members.len(),
                    events,
                };
                let child = Child::start(start).map_err(|source| RunError::Start {
                    stage: stage.name.clone(),
                    instance: instance as u32 + 1,
                    source,
                })?;
                self.members.push(Member { child, state: State::Running });
            }
        }
        Ok(())
    }

    /// The stage's name and the instance's number from 1, of the process that events call `child`.
    pub(super) fn name(&self, child: usize) -> (&'a str, u32) {
        let child = &self.members[child].child;
        (&self.topology.stages[child.stage].name, child.instance as u32 + 1)
    }

    /// The stage was given all its messages: its filters may be told how many each got.
    pub(super) fn announce_last(&mut self, stage: usize, tally: &Tally) {
        if !matches!(self.topology.stages[stage].work, Some(Work::Filter { .. })) {
            return;
        }
        let given = tally.stage(stage).given_to_each();
        for member in self.members.iter_mut().filter(|member| member.child.stage == stage) {
            member.child.announce_last(given[member.child.instance]);
        }
    }

    /// A filter printed all it owed.
    pub(super) fn finished(&mut self, child: usize) {
        self.members[child].state = State::Finished;
    }

    /// A process has ended; is that an error, while results are still to come?
    pub(super) fn ended(
        &mut self,
        child: usize,
        ending: &Ending,
        last_line: Option<&str>,
        tally: &Tally,
    ) -> Result<(), RunError> {
        let before = std::mem::replace(&mut self.members[child].state, State::Ended(Instant::now()));
        let stage = self.members[child].child.stage;
        let all_given = tally.total().is_some_and(|total| tally.stage(stage).given() == total);
        let expected = match before {
            State::Running => *ending == Ending::Exited(0) && all_given && self.is_program(child),
            State::Finished | State::Dismissed | State::Ended(_) => true,
        };
        match (ending, last_line) {
            _ if expected => Ok(()),
            (Ending::Exited(0), _) => Err(self.failed(child, format!(" {ending} before its work was done"))),
            (Ending::Fault(text), _) => Err(self.failed(child, format!(": {text}"))),
            (_, Some(line)) => Err(self.failed(child, format!(" {ending}: {line}"))),
            (_, None) => Err(self.failed(child, format!(" {ending}"))),
        }
    }

    /// A process has ended, and that is all there is to know.
    pub(super) fn gone(&mut self, child: usize) {
        self.members[child].state = State::Ended(Instant::now());
    }

    /// Whether a program ended well but the results it owes do not come.
    pub(super) fn check_underway(&self, tally: &Tally) -> Result<(), RunError> {
        for (child, member) in self.members.iter().enumerate() {
            let State::Ended(at) = member.state else { continue };
            let stage = tally.stage(member.child.stage);
            let quiet = at.elapsed().min(tally.since_start().saturating_sub(stage.last_result()));
            let missing = stage.given().saturating_sub(stage.processed());
            if missing > 0 && quiet > RESULTS_UNDERWAY {
                let reason = format!(" ended, and {missing} results of its stage are missing");
                return Err(self.failed(child, reason));
            }
        }
        Ok(())
    }

    /// All results are in: lets everyone go who holds nothing any more. Filters that still have to
    /// end are left.
    pub(super) fn dismiss(&mut self) {
        for index in 0..self.members.len() {
            let program = self.is_program(index);
            let filter = self.is_filter(index);
            let member = &mut self.members[index];
            match member.state {
                State::Running if filter => continue,
                State::Running if program => member.child.signal(Signal::TERM),
                State::Running | State::Finished => member.child.release(),
                State::Dismissed | State::Ended(_) => continue,
            }
            member.state = State::Dismissed;
        }
    }

    /// Lets everyone go, whatever they hold: a stage's process then takes along what came of it.
    pub(super) fn release(&mut self) {
        self.members.iter_mut().for_each(|member| member.child.release());
    }

    /// Sends a signal to all processes and to what they started.
    pub(super) fn signal(&self, signal: Signal) {
        for member in &self.members {
            member.child.signal(signal);
        }
    }

    /// Whether no process is left.
    pub(super) fn is_gone(&self) -> bool {
        self.members.iter().all(|member| matches!(member.state, State::Ended(_)))
    }

    fn is_program(&self, child: usize) -> bool {
        matches!(self.work(child), Some(Work::Program(_)))
    }

    fn is_filter(&self, child: usize) -> bool {
        matches!(self.work(child), Some(Work::Filter { .. }))
    }

    fn work(&self, child: usize) -> Option<&Work> {
        self.topology.stages[self.members[child].child.stage].work.as_ref()
    }

    fn failed(&self, child: usize, reason: String) -> RunError {
        let (stage, instance) = self.name(child);
        RunError::Instance { stage: stage.to_owned(), instance, reason: on_one_line(&reason) }
    }
}

/// The executable that stages are started with.
pub(super) fn executable(given: Option<&PathBuf>) -> Result<PathBuf, RunError> {
    match given {
        Some(path) => Ok(path.clone()),
        None => std::env::current_exe().map_err(|error| RunError::Hub(error.to_string())),
    }
}

/// What a stage wrote, without what would move a terminal's cursor: control characters are written out.
fn on_one_line(text: &str) -> String {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().collect(),
        false => String::from(character),
    };
    text.chars().map(escaped).collect()
}
