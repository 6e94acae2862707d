//! The worker processes of a sample: this program, started again as children that speak by lines of JSON.
//!
//! - `Processes`: the members of a sample, started, listened to, told to finish, and reaped
//! - `play`: a whole sample whose members start in waves
//! - `Answer`, `orders`, `report`: the conversation from the side of a member
//!
//! Invariants: a child does not outlive its [`Processes`], whose drop kills and reaps all children. A child also ends when the
//! benchmark is gone: it watches its standard input, and exits when that closes without the word `finish`. A member that
//! dies, answers nonsense or takes too long makes the sample an error that names the member.

use std::env;
use std::fmt::Debug;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The line that announces the end of the sample: the member stops, reports and exits.
const FINISH: &str = "finish";

/// A line that a member prints. `M` is its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<M> {
    /// The endpoints at which the member listens.
    Bound(Vec<String>),
    /// The measurement of a member that is done and has verified everything.
    Measured(M),
}

impl<M: Serialize> Answer<M> {
    /// Prints the answer, as a member.
    pub fn print(&self) -> Result<()> {
        let mut output = io::stdout().lock();
        writeln!(output, "{}", serde_json::to_string(self)?)?;
        Ok(output.flush()?)
    }
}

/// Returns a receiver that yields once when the order to finish comes. Exits this process when the benchmark is gone.
pub fn orders() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let is_finish = io::stdin().lines().map_while(Result::ok).any(|line| line == FINISH);
        if !is_finish {
            std::process::exit(1);
        }
        // The member may have finished by itself and dropped the receiver.
        let _ = sender.send(());
    });
    receiver
}

/// Prints the measurement of this member, and waits for the order to finish: until then others may need the member.
pub fn report(measurement: impl Serialize, orders: &mpsc::Receiver<()>) -> Result<()> {
    Answer::Measured(measurement).print()?;
    // The thread that passes orders on ends after the first one.
    let _ = orders.recv();
    Ok(())
}

/// The members of one sample. `R` is the role of a member, `M` its measurement.
#[derive(Debug)]
pub struct Processes<R, M> {
    subject: String,
    time_max: Duration,
    start: Instant,
    members: Vec<Member<R, M>>,
    /// Lines of members; `None` when a member has closed its standard output.
    events: mpsc::Receiver<(usize, Option<String>)>,
    event_sender: mpsc::Sender<(usize, Option<String>)>,
}

#[derive(Debug)]
struct Member<R, M> {
    role: R,
    child: Child,
    /// `None` after the order to finish.
    input: Option<ChildStdin>,
    measurement: Option<M>,
    has_ended: bool,
}

impl<R: Copy + Debug, M: DeserializeOwned> Processes<R, M> {
    /// A sample of `subject`, which takes `time_max` at most.
    pub fn new(subject: String, time_max: Duration) -> Self {
        let (event_sender, events) = mpsc::channel();
        Self { subject, time_max, start: Instant::now(), members: Vec::new(), events, event_sender }
    }

    /// Starts a member that runs `hairstreak-bench worker STUDY TASK`, by the command that `wrap` makes of the program.
    pub fn start(
        &mut self,
        role: R,
        wrap: impl FnOnce(PathBuf) -> Command,
        study: &str,
        task: &impl Serialize,
    ) -> Result<()> {
        let mut command = wrap(env::current_exe()?);
        command.args(["worker", study, &serde_json::to_string(task)?]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| self.subject.clone())?;
        if let Some(output) = child.stdout.take() {
            let (index, events) = (self.members.len(), self.event_sender.clone());
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok).map(Some);
                // The sample may have been given up.
                let _ = lines.chain([None]).try_for_each(|line| events.send((index, line)));
            });
        }
        let input = child.stdin.take();
        self.members.push(Member { role, child, input, measurement: None, has_ended: false });
        Ok(())
    }

    /// Returns the process of the member that was started last.
    pub fn last_id(&self) -> Option<u32> {
        self.members.last().map(|member| member.child.id())
    }

    /// Waits for the next answer: the endpoints of a member, or `None` for its measurement.
    pub fn next_answer(&mut self) -> Result<(R, Option<Vec<String>>)> {
        loop {
            let (index, event) = self.next_event()?;
            let member = &mut self.members[index];
            let (subject, role) = (&self.subject, member.role);
            match event {
                Some(line) => match serde_json::from_str(&line) {
                    Ok(Answer::Bound(endpoints)) => return Ok((role, Some(endpoints))),
                    Ok(Answer::Measured(measurement)) => {
                        member.measurement = Some(measurement);
                        return Ok((role, None));
                    }
                    Err(_) => bail!("{subject}: {role:?} answered {line:?}"),
                },
                None if member.measurement.is_none() => return Err(self.ended(index)),
                None => member.has_ended = true,
            }
        }
    }

    fn next_event(&mut self) -> Result<(usize, Option<String>)> {
        let left = self.time_max.saturating_sub(self.start.elapsed());
        self.events.recv_timeout(left).map_err(|_| {
            let waiting = self.members.iter().filter(|member| !member.has_ended);
            let roles: Vec<String> = waiting.map(|member| format!("{:?}", member.role)).collect();
            let (subject, seconds) = (&self.subject, self.time_max.as_secs());
            anyhow!("{subject}: no result after {seconds} s; still at work: {}", roles.join(", "))
        })
    }

    /// Returns whether all members of these roles have measured.
    pub fn has_measured(&self, roles: impl Fn(R) -> bool) -> bool {
        self.members.iter().filter(|member| roles(member.role)).all(|member| member.measurement.is_some())
    }

    /// Orders the members of these roles to finish, unless they have the order.
    pub fn finish(&mut self, roles: impl Fn(R) -> bool) -> Result<()> {
        let mut inputs = self.members.iter_mut().filter(|member| roles(member.role));
        inputs.try_for_each(|member| match member.input.take() {
            Some(mut input) => writeln!(input, "{FINISH}").with_context(|| self.subject.clone()),
            None => Ok(()),
        })
    }

    /// Waits until all members have ended, and returns their measurements in the order of their start.
    pub fn close(mut self) -> Result<Vec<(R, M)>> {
        while self.members.iter().any(|member| !member.has_ended) {
            if let (index, None) = self.next_event()? {
                self.members[index].has_ended = true;
            }
        }
        let mut measurements = Vec::new();
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let status = member.child.wait().with_context(|| self.subject.clone())?;
            let measurement = member.measurement.take().filter(|_| status.success());
            measurements.push((member.role, measurement.ok_or_else(|| self.ended(index))?));
        }
        Ok(measurements)
    }

    fn ended(&self, index: usize) -> anyhow::Error {
        anyhow!("{}: {:?} ended before it had measured anything", self.subject, self.members[index].role)
    }
}

impl<R, M> Drop for Member<R, M> {
    fn drop(&mut self) {
        // Closing the input stops a member behind a tracer, which a signal to the tracer would not reach. Both calls fail only
        // if the child has been reaped already.
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes a sample whose members start in waves. A wave starts when every member of the wave before listens. `start`
/// starts a member, and gets the endpoints of all waves before. When all members with a clock have measured, the others
/// are ordered to finish; when these have measured too, all end.
pub fn play<R: Copy + Debug, M: DeserializeOwned>(
    mut processes: Processes<R, M>,
    waves: &[Vec<R>],
    has_clock: impl Fn(R) -> bool,
    mut start: impl FnMut(&mut Processes<R, M>, R, &[String]) -> Result<()>,
) -> Result<Vec<(R, M)>> {
    let mut endpoints = Vec::new();
    for (index, wave) in waves.iter().enumerate() {
        wave.iter().try_for_each(|&role| start(&mut processes, role, &endpoints))?;
        for _ in wave.iter().take_while(|_| index + 1 < waves.len()) {
            let (role, bound) = processes.next_answer()?;
            let why = || format!("{}: {role:?} has measured before it was bound", processes.subject);
            endpoints.extend(bound.with_context(why)?);
        }
    }
    while !processes.has_measured(&has_clock) {
        processes.next_answer()?;
    }
    processes.finish(|role| !has_clock(role))?;
    while !processes.has_measured(|_| true) {
        processes.next_answer()?;
    }
    processes.finish(|_| true)?;
    processes.close()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{Processes, play};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn start(processes: &mut Processes<char, u64>, role: char, script: &str) {
        let shell = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        processes.start(role, shell, "study", &()).unwrap();
    }

    /// A sample whose only member is a shell that runs `script` and reads its orders from standard input.
    fn processes(script: &str, time_max: Duration) -> Processes<char, u64> {
        let mut processes = Processes::new("a shell".to_owned(), time_max);
        start(&mut processes, 'A', script);
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
    fn waves_learn_the_endpoints_of_the_waves_before() {
        let mut seen = Vec::new();
        let processes = Processes::new("waves".to_owned(), PATIENCE);
        let waves = [vec!['A'], vec!['B', 'C']];
        let measured = play(
            processes,
            &waves,
            |role| role == 'C',
            |processes, role, endpoints| {
                seen.push((role, endpoints.join(" ")));
                let script = match role {
                    'A' => r#"echo '{"bound":["here","there"]}'; read order; echo '{"measured":1}'"#,
                    'B' => r#"read order; echo '{"measured":2}'"#,
                    _ => r#"echo '{"measured":3}'; read order"#,
                };
                start(processes, role, script);
                Ok(())
            },
        );
        assert_eq!(measured.unwrap(), [('A', 1), ('B', 2), ('C', 3)]);
        let expected = [('A', ""), ('B', "here there"), ('C', "here there")];
        assert_eq!(seen, expected.map(|(role, text)| (role, text.to_owned())));
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
        assert!(processes.close().is_err());
    }

    #[test]
    fn dropped_members_are_gone() {
        let mut processes = processes("echo '{\"bound\":[\"'$$'\"]}'; exec cat", PATIENCE);
        let (_, Some(id)) = processes.next_answer().unwrap() else { panic!("no process id") };
        drop(processes);
        assert!(!std::path::Path::new(&format!("/proc/{}", id[0])).exists());
    }
}
