//! `Setting`: the machine, the build and the rivals of a run, and notes for readers of its report.

use std::fs;

use serde::Serialize;

/// The machine, the build and the rivals of a run.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// The machine.
    pub machine: Machine,
    /// The compiler of this binary.
    pub compiler: &'static str,
    /// `release` or `debug`. Figures of a debug build do not hold for a release build.
    pub profile: &'static str,
    /// The version of Hairstreak.
    pub version: &'static str,
    /// The rivals; empty if Hairstreak is measured alone.
    pub rivals: Vec<Rival>,
    /// Remarks that a reader needs.
    pub notes: Vec<String>,
}

/// A machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model name of the first processor.
    pub cpu: String,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// Name and release of the system, such as `Linux 6.1.0`.
    pub kernel: String,
}

/// A rival.
#[derive(Debug, Serialize)]
pub struct Rival {
    /// The name.
    pub name: &'static str,
    /// The version, from the rival itself.
    pub version: String,
}

impl Setting {
    /// Describes this program on this machine.
    pub fn new(rivals: Vec<Rival>, mut notes: Vec<String>) -> Setting {
        let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
        if cfg!(debug_assertions) {
            notes.push("this is a debug build: its figures say nothing about a release build".to_owned());
        }
        let (machine, compiler) = (Machine::here(), env!("HAIRSTREAK_BENCH_COMPILER"));
        Setting { machine, compiler, profile, version: env!("CARGO_PKG_VERSION"), rivals, notes }
    }

    /// Returns whether there is a rival.
    pub fn has_rival(&self) -> bool {
        !self.rivals.is_empty()
    }

    /// Writes the first lines of a report.
    pub fn heading(&self, about: &str) -> String {
        let names: Vec<String> =
            self.rivals.iter().map(|rival| format!("{} {}", rival.name, rival.version)).collect();
        let rivals = if names.is_empty() { "no rival".to_owned() } else { names.join(", ") };
        let Setting { machine: Machine { cpu, cores, kernel }, compiler, profile, version, .. } = self;
        let notes: String = self.notes.iter().map(|note| format!("note: {note}\n")).collect();
        format!(
            "hairstreak {version} against {rivals}, {about}, interleaved in this run\n\
             {cpu}, {cores} cores, {kernel}, {compiler}, {profile} build\n{notes}\n"
        )
    }
}

impl Machine {
    /// Reads the machine of this process. A name that cannot be read is `unknown`.
    pub fn here() -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            cpu: model_name(&cpuinfo).unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH)),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("{} {}", kernel_word("ostype"), kernel_word("osrelease")),
        }
    }
}

fn kernel_word(name: &str) -> String {
    fs::read_to_string(format!("/proc/sys/kernel/{name}"))
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

fn model_name(cpuinfo: &str) -> Option<String> {
    cpuinfo.lines().filter_map(|line| line.split_once(':')).find_map(|(key, value)| {
        (key.trim() == "model name" && !value.trim().is_empty()).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::model_name;

    #[test]
    fn the_first_processor_names_the_machine() {
        let text = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.70GHz\n\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(model_name(text).as_deref(), Some("Some CPU @ 2.70GHz"));
    }

    #[test]
    fn an_architecture_without_model_names_has_none() {
        assert_eq!(model_name("processor\t: 0\nBogoMIPS\t: 243.75\n"), None);
    }
}
