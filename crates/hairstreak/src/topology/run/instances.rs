//! All processes of a run: starting them, and starting killed processes again.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use hairstreak_process::ProcessGroups;
use hairstreak_socket::PeerInfo;
use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::settlement::TaskId;
use rustix::process::Signal;

use super::boundary::{Ends, Event};
use super::child::{Child, Start};
use super::deaths::{DEATHS_MAX, Deaths, Standing};
use super::error::RunError;
use super::numbering::{Names, Numbering};
use super::tally::Tally;
use crate::topology::Topology;
use crate::topology::definition::Work;
use crate::topology::stage::{self, Ending, Role};

/// Time without results after which the remaining results of a program that ended with status 0 are missing.
const RESULTS_UNDERWAY: Duration = Duration::from_secs(5);
/// The exit statuses of a shell whose command was killed: 128 and the number of the signal.
const SHELL_KILLED: RangeInclusive<i32> = 129..=159;

/// All processes of a run, including ended processes.
pub(super) struct Instances<'a> {
    topology: &'a Topology,
    members: Vec<Member>,
}

/// The parameters of all processes.
pub(super) struct Launcher {
    pub(super) executable: PathBuf,
    /// The sockets of the boundaries, in order.
    pub(super) ends: Vec<Ends>,
    pub(super) events: SyncSender<Event>,
    pub(super) groups: ProcessGroups,
}

/// An instance: its process, and the deaths of earlier processes.
struct Member {
    child: Child,
    state: State,
    deaths: Deaths,
    /// Set after a restart until the instance is connected: the time of the restart, and the last connections of
    /// earlier processes.
    awaited: Option<Awaited>,
}

struct Awaited {
    since: Instant,
    before: [Option<ConnectionId>; 2],
}

/// The consequence of the end of a process.
pub(super) enum Ended {
    /// No consequence.
    Expected,
    /// The process was killed, in these words. The instance must be started again.
    Killed(String),
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    /// A filter that printed all its results. Its process waits to be released.
    Finished,
    /// The process is released. Any ending is right.
    Dismissed,
    Ended(Instant),
}

impl<'a> Instances<'a> {
    /// Returns an empty list of processes.
    pub(super) fn new(topology: &'a Topology) -> Instances<'a> {
        Instances { topology, members: Vec::new() }
    }

    /// Starts all instances of all stages. After an error the processes that were started are still there, to be ended.
    pub(super) fn start(&mut self, launcher: &Launcher) -> Result<(), RunError> {
        for (index, stage) in self.topology.stages.iter().enumerate() {
            for instance in 0..stage.instances as usize {
                let Some(child) = self.start_child(launcher, index, instance, self.members.len())? else {
                    continue;
                };
                let state = State::Running;
                let member = Member { child, state, deaths: Deaths::default(), awaited: None };
                self.members.push(member);
            }
        }
        Ok(())
    }

    /// Starts the process of an instance. Its number in events is `child`.
    fn start_child(
        &self,
        launcher: &Launcher,
        index: usize,
        instance: usize,
        child: usize,
    ) -> Result<Option<Child>, RunError> {
        let stage = &self.topology.stages[index];
        let Some(role) = stage.work.as_ref().map(|work| Role::of(work, stage.distribution)) else {
            return Ok(None);
        };
        let outlets = launcher.ends[index + 1].upstream.as_ref().map(|(_, endpoints)| endpoints.as_slice());
        let inlet = &launcher.ends[index].downstream[instance].1;
        let start = Start {
            executable: &launcher.executable,
            directory: &self.topology.directory,
            stage: (index, stage),
            instance,
            role: &role,
            endpoints: (inlet, &outlets.unwrap_or_default()[instance]),
            child,
            events: &launcher.events,
            groups: &launcher.groups,
        };
        let failed =
            |source| RunError::Start { stage: stage.name.clone(), instance: instance as u32 + 1, source };
        Child::start(start).map(Some).map_err(failed)
    }

    /// Starts an instance again after its process was killed.
    pub(super) fn restart(
        &mut self,
        child: usize,
        launcher: &Launcher,
        tally: &Tally,
    ) -> Result<(), RunError> {
        let Child { stage, instance, .. } = self.members[child].child;
        let standing = Standing::of(tally.stage(stage), instance);
        // The earlier process cannot settle its answered tasks any more.
        let (push, _) = &launcher.ends[stage].downstream[instance];
        if let Some(task) = push.first_unsettled() {
            let answered_below = tally.stage(stage).instance(instance).answered_below();
            push.note_done(TaskId { sequence: 0, ..task }, answered_below);
        }
        let awaited = Awaited { since: Instant::now(), before: last_connections(launcher, stage, instance) };
        let Some(process) = self.start_child(launcher, stage, instance, child)? else { return Ok(()) };
        tally.restarted(stage);
        let member = &mut self.members[child];
        (member.child, member.state, member.awaited) = (process, State::Running, Some(awaited));
        member.deaths.restart(standing);
        Ok(())
    }

    /// Fails if a restarted instance does not connect in time.
    pub(super) fn check_connected(&mut self, launcher: &Launcher, within: Duration) -> Result<(), RunError> {
        for member in &mut self.members {
            let Some(Awaited { since, before }) = &member.awaited else { continue };
            let Child { stage, instance, .. } = member.child;
            let now = last_connections(launcher, stage, instance);
            let missing = now.iter().zip(before).position(|(now, before)| now <= before);
            match missing {
                None => member.awaited = None,
                Some(end) if since.elapsed() >= within && member.state == State::Running => {
                    return Err(RunError::NotConnected {
                        stage: self.topology.stages[stage].name.clone(),
                        instance: instance as u32 + 1,
                        variable: [stage::IN, stage::OUT][end],
                        within,
                    });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the stage's name and the instance's number, from 1, of the process with the number `child` in events.
    pub(super) fn name(&self, child: usize) -> (&'a str, u32) {
        let child = &self.members[child].child;
        (&self.topology.stages[child.stage].name, child.instance as u32 + 1)
    }

    /// Notes that a filter printed all its results.
    pub(super) fn finished(&mut self, child: usize) {
        self.members[child].state = State::Finished;
    }

    /// Notes that a process has ended. Returns the consequence, or an error if nothing can be done and results are
    /// still to come.
    pub(super) fn ended(
        &mut self,
        child: usize,
        ending: &Ending,
        last_line: Option<&str>,
        launcher: &Launcher,
        tally: &Tally,
    ) -> Result<Ended, RunError> {
        let before = std::mem::replace(&mut self.members[child].state, State::Ended(Instant::now()));
        let stage = self.members[child].child.stage;
        let how = match last_line {
            Some(line) => format!("{ending}: {line}"),
            None => ending.to_string(),
        };
        if self.topology.stages[stage].settles() && was_killed(ending) {
            return self.killed(child, before, &how, launcher, tally);
        }
        let all_given = tally.all_given(stage);
        let expected = match before {
            State::Running => *ending == Ending::Exited(0) && all_given && self.is_program(child),
            State::Finished | State::Dismissed | State::Ended(_) => true,
        };
        let reason = match ending {
            _ if expected => return Ok(Ended::Expected),
            Ending::Exited(0) => format!(" {ending} before its work was done"),
            Ending::Fault(text) => format!(": {text}"),
            Ending::Killed(_) => format!(" {how}; a program is not started again, for what it had is lost"),
            Ending::Exited(_) => format!(" {how}"),
        };
        Err(self.failed(child, reason))
    }

    /// Handles the death of an instance that settles its messages.
    fn killed(
        &mut self,
        child: usize,
        before: State,
        how: &str,
        launcher: &Launcher,
        tally: &Tally,
    ) -> Result<Ended, RunError> {
        let Child { stage, instance, .. } = self.members[child].child;
        let standing = Standing::of(tally.stage(stage), instance);
        if standing.is_idle() && tally.all_given(stage) || before == State::Dismissed {
            return Ok(Ended::Expected);
        }
        if !self.members[child].deaths.count(standing) {
            return Ok(Ended::Killed(on_one_line(how)));
        }
        let numbering = &tally.stage(stage).instance(instance).numbering;
        let suspect = suspect(standing, numbering, &launcher.ends[stage].names);
        let reason = format!(" {how}; {DEATHS_MAX} times in a row without a new result, {suspect}");
        Err(self.failed(child, reason))
    }

    /// Notes that a process has ended. Nothing else is known of it.
    pub(super) fn gone(&mut self, child: usize) {
        self.members[child].state = State::Ended(Instant::now());
    }

    /// Fails if a program ended well, but its remaining results do not come.
    pub(super) fn check_underway(&self, tally: &Tally) -> Result<(), RunError> {
        for (child, member) in self.members.iter().enumerate() {
            let State::Ended(at) = member.state else { continue };
            if !self.is_program(child) {
                continue;
            }
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

    /// Releases all processes that hold nothing any more, when all results are in. Filters that still have to end stay.
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

    /// Releases all processes, even those with messages. A stage's process then ends its descendants too.
    pub(super) fn release(&mut self) {
        self.members.iter_mut().for_each(|member| member.child.release());
    }

    /// Sends a signal to all processes and their groups.
    pub(super) fn signal(&self, signal: Signal) {
        for member in &self.members {
            member.child.signal(signal);
        }
    }

    /// Returns whether no process is left.
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

/// Returns whether the process was killed: by a signal, or with the exit status by which a shell reports the same for
/// its command.
fn was_killed(ending: &Ending) -> bool {
    match ending {
        Ending::Killed(_) => true,
        Ending::Exited(status) => SHELL_KILLED.contains(status),
        Ending::Fault(_) => false,
    }
}

/// Returns the message on which an instance may have died, in words.
fn suspect(Standing { given, answered, .. }: Standing, numbering: &Numbering, names: &Names) -> String {
    match (numbering.number_of(answered), given.saturating_sub(answered)) {
        (Some(number), 1) => format!("perhaps of {}", names.of(number)),
        (Some(number), had @ 2..) => {
            format!("perhaps of {} or another of the {had} that it had", names.of(number))
        }
        _ => "though it had been given nothing".to_owned(),
    }
}

/// Returns the last connection to the boundary before an instance, and to the boundary behind it.
fn last_connections(launcher: &Launcher, stage: usize, instance: usize) -> [Option<ConnectionId>; 2] {
    let last = |peers: Vec<PeerInfo>, endpoint: &str| {
        let here = peers.into_iter().filter(|peer| peer.endpoint == endpoint);
        here.map(|peer| peer.connection).max()
    };
    let (push, inlet) = &launcher.ends[stage].downstream[instance];
    let behind = launcher.ends[stage + 1].upstream.as_ref();
    [last(push.peers(), inlet), behind.and_then(|(pull, outlets)| last(pull.peers(), &outlets[instance]))]
}

/// Returns the executable that stages are started with.
pub(super) fn executable(given: Option<&PathBuf>) -> Result<PathBuf, RunError> {
    match given {
        Some(path) => Ok(path.clone()),
        None => std::env::current_exe().map_err(|error| RunError::Hub(error.to_string())),
    }
}

/// Escapes control characters in the output of a stage, which would move a terminal's cursor.
fn on_one_line(text: &str) -> String {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().collect(),
        false => String::from(character),
    };
    text.chars().map(escaped).collect()
}
