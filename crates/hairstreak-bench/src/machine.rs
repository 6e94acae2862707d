//! What every report says about where it was made: processor, cores, kernel, compiler, build profile.

use std::fs;

use serde::Serialize;

/// The machine a report was made on.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model name of the first processor.
    pub cpu: String,
    /// Cores this process may use.
    pub cores: usize,
    /// System name and release, such as `Linux 6.1.0`.
    pub kernel: String,
}

impl Machine {
    /// Reads the machine this runs on; what cannot be read is called `unknown`.
    pub fn here() -> Self {
        Self {
            cpu: fs::read_to_string("/proc/cpuinfo")
                .ok()
                .and_then(|text| model_name(&text))
                .unwrap_or_else(|| format!("unknown {}", std::env::consts::ARCH)),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("{} {}", kernel_word("ostype"), kernel_word("osrelease")),
        }
    }
}

/// The compiler that built this binary.
pub fn compiler() -> &'static str {
    env!("HAIRSTREAK_BENCH_COMPILER")
}

/// `release` or `debug`; only the former's figures mean anything.
pub fn profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
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
