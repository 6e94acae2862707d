//! The processes of one sample, whatever they measure: started one by one, listened to, told to finish, reaped.
//!
//! Invariants: when a [`Processes`] is gone, so are its processes; a member that dies, answers nonsense or takes too long makes
//! the sample an error that names it.

use std::env;
use std::fmt::Debug;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::process::{Event, Worker};

/// A line a member prints; `M` is what it measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<M> {
    /// Others may connect here.
    Bound(Vec<String>),
    /// Done, everything verified.
    Measured(M),
}

impl<M: Serialize> Answer<M> {
    /// The member's side: prints it.
    pub fn print(&self) -> Result<(), io::Error> {
        let mut output = io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(self)?)?;
        output.flush()
    }
}

/// A failure of a sample. Roles are shown as their type prints them.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// A process could not be started or spoken to.
    #[error("{subject}: {error}")]
    Process {
        /// What was being measured.
        subject: String,
        /// What the system says.
        error: io::Error,
    },
    /// A member ended before it was done; it has said why on standard error.
    #[error("{subject}: {role} ended before it had measured anything")]
    Ended {
        /// What was being measured.
        subject: String,
        /// Which member.
        role: String,
    },
    /// A member printed something that is no answer, or not the one that it has to give.
    #[error("{subject}: {role} answered {line:?}")]
    Answer {
        /// What was being measured.
        subject: String,
        /// Which member.
        role: String,
        /// What it printed.
        line: String,
    },
    /// No end in sight.
    #[error("{subject}: no result after {time_max_s} s; still at work: {roles}")]
    Hangs {
        /// What was being measured.
        subject: String,
        /// So long was waited.
        time_max_s: u64,
        /// Who has not measured anything.
        roles: String,
    },
}

/// The processes of a sample under way, each with a role.
#[derive(Debug)]
pub struct Processes<R, M> {
    subject: String,
    time_max: Duration,
    start: Instant,
    members: Vec<Member<R, M>>,
    events: mpsc::Receiver<(usize, Event)>,
    event_sender: mpsc::Sender<(usize, Event)>,
}

#[derive(Debug)]
struct Member<R, M> {
    role: R,
    process: Worker,
    measurement: Option<M>,
    is_finished: bool,
}

impl<R: Copy + Debug, M: DeserializeOwned> Processes<R, M> {
    /// Nobody yet; beyond `time_max` it hangs.
    pub fn new(subject: String, time_max: Duration) -> Self {
        let (event_sender, events) = mpsc::channel();
        Self { subject, time_max, start: Instant::now(), members: Vec::new(), events, event_sender }
    }

    /// Starts this program again, by the command that `wrap` makes of it, with the subcommand `verb` and a task for it.
    pub fn start(
        &mut self,
        role: R,
        wrap: impl FnOnce(PathBuf) -> Command,
        verb: &str,
        task: &impl Serialize,
    ) -> Result<(), ProcessError> {
        let process = env::current_exe().and_then(|program| {
            let mut command = wrap(program);
            command.arg(verb).arg(serde_json::to_string(task)?);
            Worker::spawn(command, self.members.len(), self.event_sender.clone())
        });
        let process = process.map_err(|error| self.failed(error))?;
        self.members.push(Member { role, process, measurement: None, is_finished: false });
        Ok(())
    }

    /// Waits for the next answer and says whose it was: where the member listens, or nothing if it has measured, which is
    /// kept.
    pub fn next_answer(&mut self) -> Result<(R, Option<Vec<String>>), ProcessError> {
        loop {
            let left = self.time_max.saturating_sub(self.start.elapsed());
            let (index, event) = self.events.recv_timeout(left).map_err(|_| self.hangs())?;
            let member = &mut self.members[index];
            match event {
                Event::Line(line) => match serde_json::from_str(&line) {
                    Ok(Answer::Bound(endpoints)) => return Ok((member.role, Some(endpoints))),
                    Ok(Answer::Measured(measurement)) => {
                        member.measurement = Some(measurement);
                        return Ok((member.role, None));
                    }
                    Err(_) => return Err(self.refuse(index, line)),
                },
                Event::Ended if member.measurement.is_none() => return Err(self.ended(index)),
                Event::Ended => {}
            }
        }
    }

    /// How many have been started.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Whether those of `who` have all measured.
    pub fn has_measured(&self, who: impl Fn(R) -> bool) -> bool {
        self.members.iter().filter(|member| who(member.role)).all(|member| member.measurement.is_some())
    }

    /// Tells those of `who` to finish that have not been told.
    pub fn finish(&mut self, who: impl Fn(R) -> bool) -> Result<(), ProcessError> {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if who(member.role) && !member.is_finished {
                member.is_finished = true;
                member.process.finish().map_err(|error| self.failed(error))?;
            }
        }
        Ok(())
    }

    /// All have measured: reaps them.
    pub fn close(mut self) -> Result<Vec<(R, M)>, ProcessError> {
        for index in 0..self.members.len() {
            match self.members[index].process.wait() {
                Ok(status) if status.success() => {}
                Ok(_) => return Err(self.ended(index)),
                Err(error) => return Err(self.failed(error)),
            }
        }
        let members = self.members.into_iter();
        Ok(members.filter_map(|member| Some((member.role, member.measurement?))).collect())
    }

    /// The error of a member that listens elsewhere than its role says.
    pub fn misbound(&self, role: R, endpoints: &[String]) -> ProcessError {
        ProcessError::Answer {
            subject: self.subject.clone(),
            role: format!("{role:?}"),
            line: endpoints.join(" "),
        }
    }

    fn refuse(&self, index: usize, line: String) -> ProcessError {
        ProcessError::Answer { subject: self.subject.clone(), role: self.role_text(index), line }
    }

    fn ended(&self, index: usize) -> ProcessError {
        ProcessError::Ended { subject: self.subject.clone(), role: self.role_text(index) }
    }

    fn hangs(&self) -> ProcessError {
        let waiting = self.members.iter().filter(|member| member.measurement.is_none());
        let roles: Vec<String> = waiting.map(|member| format!("{:?}", member.role)).collect();
        let time_max_s = self.time_max.as_secs();
        ProcessError::Hangs { subject: self.subject.clone(), time_max_s, roles: roles.join(", ") }
    }

    fn failed(&self, error: io::Error) -> ProcessError {
        ProcessError::Process { subject: self.subject.clone(), error }
    }

    fn role_text(&self, index: usize) -> String {
        format!("{:?}", self.members[index].role)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{ProcessError, Processes};

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A sample whose only process is a shell that runs `script` and reads its orders from standard input.
    fn processes(script: &str, time_max: Duration) -> Processes<char, u64> {
        let mut processes = Processes::new("a shell".to_owned(), time_max);
        let shell = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        processes.start('A', shell, "verb", &()).unwrap();
        processes
    }

    fn check_error(script: &str, time_max: Duration, expected: &str) {
        let error = processes(script, time_max).next_answer().unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_member_that_binds_measures_and_finishes_is_a_sample() {
        let script =
            r#"echo '{"bound":["here"]}'; echo '{"measured":7}'; read order; test "$order" = finish"#;
        let mut processes = processes(script, PATIENCE);
        assert_eq!(processes.next_answer().unwrap(), ('A', Some(vec!["here".to_owned()])));
        assert!(!processes.has_measured(|_| true) && processes.has_measured(|role| role == 'B'));
        assert_eq!(processes.next_answer().unwrap(), ('A', None));
        assert!(processes.has_measured(|_| true));
        processes.finish(|role| role == 'A').unwrap();
        processes.finish(|_| true).unwrap();
        assert_eq!(processes.close().unwrap(), [('A', 7)]);
    }

    #[test]
    fn a_member_that_talks_nonsense_or_dies_is_named() {
        check_error("echo nonsense; read order", PATIENCE, "a shell: 'A' answered \"nonsense\"");
        check_error("exit 0", PATIENCE, "a shell: 'A' ended before it had measured anything");
        check_error("read order", Duration::ZERO, "a shell: no result after 0 s; still at work: 'A'");
    }

    #[test]
    fn a_member_that_fails_after_it_has_measured_makes_no_sample() {
        let mut processes = processes(r#"echo '{"measured":7}'; exit 1"#, PATIENCE);
        assert_eq!(processes.next_answer().unwrap(), ('A', None));
        assert!(matches!(processes.close(), Err(ProcessError::Ended { .. })));
    }
}
