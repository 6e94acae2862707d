//! What every report says about the run it came from: the program, the machine, the rivals, what a reader has to know.

use serde::Serialize;

use crate::arguments::RivalSettings;
use crate::machine::{Machine, compiler, profile};
use crate::rival::Rival;

/// A run of a benchmark, as its report tells of it.
#[derive(Debug, Serialize)]
pub struct Run {
    /// Where.
    pub machine: Machine,
    /// What built it.
    pub compiler: &'static str,
    /// `release` or `debug`.
    pub profile: &'static str,
    /// Version of Hairstreak.
    pub version: &'static str,
    /// Who it was compared with; empty if it was measured alone.
    pub rivals: Vec<Rival>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

impl Run {
    /// This program on this machine, against the rival of `settings` if it is here.
    pub fn new(settings: &RivalSettings) -> Run {
        let mut notes = Vec::new();
        let rivals = Rival::find(&settings.libzmq, settings.no_rival, &mut notes).into_iter().collect();
        Self::against(rivals, notes)
    }

    /// This program on this machine, against `rivals`.
    pub fn against(rivals: Vec<Rival>, mut notes: Vec<String>) -> Run {
        if cfg!(debug_assertions) {
            notes.push("this is a debug build: its figures say nothing about a release build".to_owned());
        }
        let (machine, compiler, profile) = (Machine::here(), compiler(), profile());
        Run { machine, compiler, profile, version: env!("CARGO_PKG_VERSION"), rivals, notes }
    }

    /// Whether somebody is compared with.
    pub fn has_rival(&self) -> bool {
        !self.rivals.is_empty()
    }

    /// The first lines of a report for people; `what` is how `n` samples were made of what.
    pub fn heading(&self, what: &str) -> String {
        let names: Vec<String> =
            self.rivals.iter().map(|rival| format!("{} {}", rival.name, rival.version)).collect();
        let rivals = if names.is_empty() { "no rival".to_owned() } else { names.join(", ") };
        let Run { machine, compiler, profile, version, .. } = self;
        let Machine { cpu, cores, kernel } = machine;
        let mut text = format!(
            "hairstreak {version} against {rivals}, {what}, interleaved in this run\n\
             {cpu}, {cores} cores, {kernel}, {compiler}, {profile} build\n"
        );
        for note in &self.notes {
            text.push_str("note: ");
            text.push_str(note);
            text.push('\n');
        }
        text.push('\n');
        text
    }
}
