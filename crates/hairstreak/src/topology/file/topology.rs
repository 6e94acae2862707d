//! `Topology`: the stages of a pipeline in order, their input and their output, read from a file or put together by a
//! program.
//!
//! Invariants of a loaded topology: its stages have unique names, and instances within the limits. If all its times are
//! known, they make a [`Pipeline`].
//!
//! Every refusal is one line that names the file, the stage or section, the key and the allowed values.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use hairstreak_model::{Network, Pipeline, PipelineError, STAGES_MAX};
use thiserror::Error;

use super::ends;
use super::stage::stage;
use super::typed::{Meaning, TypedTopology, reason, section};
use crate::topology::definition::{INSTANCES_TOTAL_MAX, Input, Machine, Output, Stage};

/// The largest topology file, in bytes.
pub const FILE_SIZE_MAX: u64 = 1 << 20;

/// An error of loading a topology.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{}: cannot read the topology: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The content of the file is no topology.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place in the file, the fault, and the allowed values.
        reason: String,
    },
}

/// An error of planning a topology.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The time of a stage is unknown.
    #[error("stage \"{stage}\": no time is known; say what one message takes, as in process = \"2ms\"")]
    TimesUnknown {
        /// The stage's name.
        stage: String,
    },
    /// The model refuses the numbers.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
}

/// The stages in the order in which messages pass them, and both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The stages, in order; at least one.
    pub stages: Vec<Stage>,
    /// The source of messages. A plan does without it, a run does not.
    pub input: Option<Input>,
    /// The destination of results.
    pub output: Output,
    /// The machine, as the plan sees it.
    pub machine: Machine,
    /// The folder of the topology's file. Relative paths start here, and commands run here.
    pub directory: PathBuf,
}

impl Topology {
    /// Reads and checks the file `path`.
    pub fn load(path: &Path) -> Result<Topology, LoadError> {
        let unreadable = |source| LoadError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        // A device or a pipe has no size: the read stops one byte above the limit.
        let mut file = std::fs::File::open(path).map_err(unreadable)?.take(FILE_SIZE_MAX + 1);
        file.read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > FILE_SIZE_MAX {
            let reason = format!("a topology file has at most {FILE_SIZE_MAX} bytes");
            return Err(LoadError::Malformed { path: path.to_owned(), reason });
        }
        Topology::parse(&text, path)
    }

    /// Reads and checks `text`, the content of the file `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Topology, LoadError> {
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        read(text, directory).map_err(|reason| LoadError::Malformed {
            path: path.to_owned(),
            reason: reason.replace('\n', " ").trim_end().to_owned(),
        })
    }

    /// Returns the model of this topology as `[plan]` describes it, for [`hairstreak_model::simulate`].
    pub fn planned_pipeline(&self) -> Result<Pipeline, PlanError> {
        let machine = &self.machine;
        let mut pipeline = self.pipeline()?.with_routing(machine.routing);
        if let Some(wiring) = machine.wiring {
            pipeline = pipeline.with_wiring(wiring);
        }
        if let Some(window) = machine.window {
            pipeline = pipeline.with_window(window)?;
        }
        if let Some(queue) = machine.queue {
            pipeline = pipeline.with_queue(queue)?;
        }
        if let Some(fabric) = machine.fabric {
            pipeline = pipeline.with_network(Network::Fabric(fabric))?;
        }
        Ok(pipeline)
    }

    /// Returns the bytes of each message, if the input states them.
    pub fn message_size(&self) -> Option<u64> {
        match self.input {
            Some(Input::Generated { size, .. }) => Some(size as u64),
            _ => None,
        }
    }

    /// Returns the model of this topology as [`run`](crate::topology::run) runs it, for [`hairstreak_model::plan`] and
    /// [`hairstreak_model::simulate`].
    pub fn pipeline(&self) -> Result<Pipeline, PlanError> {
        let stages = self.stages.iter().map(|stage| {
            let unknown = || PlanError::TimesUnknown { stage: stage.name.clone() };
            let times = stage.times.ok_or_else(unknown)?;
            let (name, instances, distribution) = (stage.name.clone(), stage.instances, stage.distribution);
            Ok(hairstreak_model::Stage { name, instances, times, distribution })
        });
        let mut pipeline =
            Pipeline::new(stages.collect::<Result<_, PlanError>>()?)?.with_hop(self.machine.hop)?;
        if let Some(cores) = self.machine.cores {
            pipeline = pipeline.with_cores(cores)?;
        }
        if let Some(monolith) = self.machine.monolith {
            pipeline = pipeline.with_monolith(monolith)?;
        }
        Ok(pipeline)
    }
}

fn read(text: &str, directory: PathBuf) -> Meaning<Topology> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    let typed: TypedTopology = table.try_into().map_err(|error| reason(&error))?;
    if typed.stage.is_empty() || typed.stage.len() > STAGES_MAX {
        return Err(format!("{} stages; write 1 to {STAGES_MAX} sections [[stage]]", typed.stage.len()));
    }
    let mut stages = Vec::with_capacity(typed.stage.len());
    for (index, table) in typed.stage.into_iter().enumerate() {
        stages.push(stage(index, table)?);
    }
    check_all(&stages)?;
    let input = typed.input.map(|table| ends::input(section("[input]", table)?, &directory)).transpose()?;
    let output = match typed.output {
        Some(table) => ends::output(section("[output]", table)?, &directory)?,
        None => Output::Discard,
    };
    let machine = match typed.plan {
        Some(table) => ends::machine(section("[plan]", table)?)?,
        None => Machine::default(),
    };
    let topology = Topology { stages, input, output, machine, directory };
    match topology.planned_pipeline() {
        Err(PlanError::Pipeline(error)) => Err(error.to_string()),
        Ok(_) | Err(PlanError::TimesUnknown { .. }) => Ok(topology),
    }
}

fn check_all(stages: &[Stage]) -> Meaning<()> {
    let mut names = HashSet::new();
    for stage in stages {
        if !names.insert(&stage.name) {
            return Err(format!("stage \"{}\": the name is taken; each stage has its own", stage.name));
        }
    }
    let total: u32 = stages.iter().map(|stage| stage.instances).sum();
    if total > INSTANCES_TOTAL_MAX {
        return Err(format!("instances of all stages: {total}, allowed are {INSTANCES_TOTAL_MAX}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hairstreak_model::{Distribution, Routing, Times, Window, Wiring};

    use super::*;
    use crate::topology::definition::{CommandLine, Framing, Stream, Work};

    fn parse(text: &str) -> Result<Topology, String> {
        Topology::parse(text, Path::new("jobs/job.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_has_its_meaning() {
        let topology = parse(
            r#"
            [[stage]]
            name = "wait"
            instances = 3
            sleep = "500ms"
            receive = "4us"

            [[stage]]
            name = "count"
            command = ["wc", "-w"]
            framing = "length"
            process = "2ms"
            serial = "1ms"

            [[stage]]
            name = "join"
            program = "exec python3 join.py"

            [[stage]]
            name = "last"
            builtin = "echo"

            [input]
            files = "texts"
            extensions = ["txt", ".md"]

            [output]
            file = "/tmp/results"

            [plan]
            cores = 2
            hop = "10us"
            "#,
        )
        .unwrap();
        let us = Duration::from_micros;
        assert_eq!(topology.stages[0].work, Some(Work::Sleep(us(500_000))));
        assert_eq!(topology.stages[0].instances, 3);
        let waiting = Times { receive: us(4), process: us(500_000), cpu: us(4), ..Times::default() };
        assert_eq!(topology.stages[0].times, Some(waiting), "waiting keeps no core busy");
        let command = CommandLine::Arguments(vec!["wc".into(), "-w".into()]);
        assert_eq!(topology.stages[1].work, Some(Work::Filter { command, framing: Framing::Length }));
        let working = Times { process: us(2000), serial: us(1000), cpu: us(2000), ..Times::default() };
        assert_eq!(topology.stages[1].times, Some(working), "working does");
        let program = CommandLine::Shell("exec python3 join.py".into());
        assert_eq!(topology.stages[2].work, Some(Work::Program(program)));
        assert_eq!(topology.stages[2].times, None);
        assert_eq!((&topology.stages[3].work, topology.stages[3].instances), (&Some(Work::Echo), 1));
        let extensions = vec!["txt".into(), "md".into()];
        assert_eq!(topology.input, Some(Input::Files { directory: "jobs/texts".into(), extensions }));
        let to = Stream::File("/tmp/results".into());
        assert_eq!(topology.output, Output::Write { to, framing: Framing::Lines });
        assert_eq!(topology.machine, Machine { cores: Some(2), hop: us(10), ..Machine::default() });
        assert_eq!(topology.directory, Path::new("jobs"));
        assert_eq!(topology.pipeline(), Err(PlanError::TimesUnknown { stage: "join".into() }));
    }

    #[test]
    fn a_plan_may_say_what_a_simulation_knows() {
        let topology = parse(
            "[[stage]]\nname = 'a'\nspin = '2ms'\ndistribution = 'log-normal 0.5'\n[plan]\n\
             network = 'vortex 16x4'\nslot = '4ns'\nrouting = 'least-loaded'\nwindow = 100\nacknowledge = 10\n\
             queue = 7\nrate = 2.5",
        )
        .unwrap();
        let stage = &topology.stages[0];
        assert_eq!(stage.work, Some(Work::Spin(Duration::from_millis(2))));
        assert_eq!(stage.distribution, Distribution::LogNormal { deviation: 0.5 });
        let times = stage.times.unwrap();
        assert_eq!((times.process, times.cpu), (Duration::from_millis(2), Duration::from_millis(2)));
        let planned = topology.planned_pipeline().unwrap();
        assert_eq!(planned.window(), Some(Window { count: 100, acknowledge: 10 }));
        assert_eq!((planned.routing(), planned.queue()), (Routing::LeastLoaded, 7));
        assert_eq!(planned.wiring(), Wiring::Direct);
        let Network::Fabric(fabric) = planned.network() else { panic!("{planned:?}") };
        assert_eq!((fabric.port_count(), fabric.slot()), (64, Duration::from_nanos(4)));
        assert_eq!(topology.machine.rate, Some(2.5));
        let run = topology.pipeline().unwrap();
        assert_eq!((run.window(), run.wiring()), (None, Wiring::Hub), "a run has none of it");
    }

    #[test]
    fn a_stage_with_times_alone_can_be_planned() {
        let topology = parse("[[stage]]\nname = 'a'\nprocess = '8us'").unwrap();
        assert_eq!((&topology.stages[0].work, &topology.input), (&None, &None));
        assert!(topology.pipeline().is_ok());
    }

    #[test]
    fn refusals_are_one_line_with_the_culprit_and_what_is_allowed() {
        let stage = |keys: &str| format!("[[stage]]\nname = \"work\"\n{keys}\n");
        let echo = |rest: &str| format!("[[stage]]\nname = \"work\"\necho = true\n{rest}");
        for (text, named) in [
            ("[[stage]]\nname =".into(), "line 2: "),
            (String::new(), "0 stages; write 1 to 64"),
            ("[[stage]]\nname = 'a'\necho = true\n".repeat(65), "65 stages"),
            (echo("[inptu]\nmessages = 1"), "unknown key `inptu`"),
            (echo("slep = '1s'"), "stage \"work\": unknown key `slep`, expected one of `name`"),
            ("[[stage]]\necho = true".into(), "stage 1: name is missing"),
            ("[[stage]]\nname = ''\necho = true".into(), "name: 1 to 64 bytes"),
            (echo("[[stage]]\nname = 'work'\necho = true"), "stage \"work\": the name is taken"),
            (echo("instances = 0"), "stage \"work\": instances = 0, allowed are 1 to 1024"),
            (echo("instances = 1025"), "instances = 1025, allowed are 1 to 1024"),
            (echo("instances = -1"), "-1 is negative, expected a whole number in `instances`"),
            (
                echo("instances = 'two'"),
                "invalid type: string \"two\", expected a whole number in `instances`",
            ),
            (echo("instances = 1024\n[[stage]]\nname = 'b'\necho = true"), "instances of all stages: 1025"),
            (stage(""), "one of sleep, spin, echo, builtin, command, program is missing"),
            (echo("sleep = '1s'"), "exactly one of sleep, spin, echo"),
            (stage("echo = false"), "echo = false"),
            (stage("builtin = 'sleep'"), "unknown variant `sleep`, expected `echo`"),
            (stage("sleep = 500"), "expected a duration such as \"500ms\" in `sleep`"),
            (stage("sleep = '5 parsecs'"), "\"5 parsecs\" is not a duration"),
            (stage("sleep = '3601s'"), "stage \"work\": process is longer than 3600 s"),
            (stage("command = ['cat']"), "command needs framing beside it"),
            (
                stage("command = ['cat']\nframing = 'words'"),
                "`words`, expected `lines` or `length` in `framing`",
            ),
            (stage("command = []\nframing = 'lines'"), "command: names no program"),
            (
                stage("command = 5\nframing = 'lines'"),
                "expected a string or an array of strings in `command`",
            ),
            (stage("program = ''"), "program: names no program"),
            (echo("framing = 'lines'"), "framing belongs to a command"),
            (stage("program = 'x'\nsend = '1us'"), "send needs process beside it"),
            (stage("process = '1us'\nserial = '2us'"), "serial is longer than"),
            (echo("[input]"), "[input]: write exactly one of"),
            (echo("[input]\nmessages = 1\nlines = '-'"), "[input]: write exactly one of"),
            (echo("[input]\nmessages = 0"), "[input]: messages = 0, allowed are 1 to"),
            (echo("[input]\nmessages = 1\nsize = 134217729"), "[input]: size = 134217729, allowed are 0 to"),
            (echo("[input]\nlines = '-'\nsize = 1"), "[input]: size belongs to messages"),
            (echo("[input]\nlines = ''"), "[input]: lines: the path is empty"),
            (echo("[input]\nmessages = 1\nextensions = ['a']"), "[input]: extensions belongs to files"),
            (echo("[output]\nfile = 'a'\nstdout = true"), "[output]: write exactly one of"),
            (echo("[output]\nframing = 'lines'"), "[output]: framing belongs to file or stdout"),
            (echo("[plan]\ncores = 0"), "[plan]: cores = 0, allowed are 1 to"),
            (
                echo("distribution = 'normal'"),
                "distribution: \"normal\" is no distribution; there are constant",
            ),
            (stage("program = 'x'\ndistribution = 'uniform'"), "distribution needs a time beside it"),
            (echo("[plan]\nnetwork = 'torus 3'"), "[plan]: network: \"torus 3\" is no network; there are"),
            (echo("[plan]\nnetwork = 'vortex 12x4'"), "[plan]: network: 12 heights: a power of two"),
            (echo("[plan]\nnetwork = 'vortex 2x1'"), "3 ports are needed, for the source, the sink and each"),
            (echo("[plan]\nnetwork = 'fat-tree 8'\nwiring = 'hub'"), "wiring: a fabric joins the instances"),
            (
                echo("[plan]\nnetwork = 'fat-tree 8'\nslot = '0s'"),
                "[plan]: network: a slot takes 1 ns to 1 s",
            ),
            (echo("[plan]\nslot = '5ns'"), "[plan]: slot belongs to network"),
            (
                echo("[plan]\nwiring = 'ring'"),
                "[plan]: wiring: \"ring\" is no wiring; there are hub and direct",
            ),
            (echo("[plan]\nrouting = 'x'"), "[plan]: routing: \"x\" is no routing; there are round-robin"),
            (echo("[plan]\nwindow = 0"), "[plan]: window = 0, allowed are 1 to 1000000000"),
            (echo("[plan]\nwindow = 10\nacknowledge = 11"), "[plan]: acknowledge = 11, allowed are 1 to 10"),
            (echo("[plan]\nacknowledge = 1"), "[plan]: acknowledge belongs to window"),
            (echo("[plan]\nqueue = 0"), "[plan]: queue = 0, allowed are 1 to 1000000000"),
            (echo("[plan]\nrate = 0.0"), "[plan]: rate: more than 0 and at most 1e12 messages a second"),
            (echo("[plan]\nhop = '2h'"), "[plan]: \"2h\" is not a duration"),
        ] {
            let refusal = parse(&text).expect_err(&text);
            assert!(refusal.contains(named), "{text:?} was refused by {refusal:?}");
            assert!(refusal.starts_with("jobs/job.toml: "), "{refusal:?}");
            assert!(!refusal.contains('\n'), "{refusal:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let refusal = Topology::load(Path::new("/nowhere/job.toml")).unwrap_err().to_string();
        assert!(
            refusal.starts_with("/nowhere/job.toml: cannot read the topology: No such file"),
            "{refusal}"
        );
    }
}
