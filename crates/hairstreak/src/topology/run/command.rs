//! Finding a stage's command before anything is started.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::{env, fs};

use super::error::RunError;
use crate::topology::definition::{CommandLine, Stage, Work};

/// Refuses a command that the system would not find. The commands in a shell line are known only to the shell.
pub(super) fn check_command(stage: &Stage, directory: &Path) -> Result<(), RunError> {
    let command = match &stage.work {
        None => return Err(RunError::NoWork { stage: stage.name.clone() }),
        Some(Work::Filter { command, .. } | Work::Program(command)) => command,
        Some(Work::Sleep(_) | Work::Spin(_) | Work::Echo) => return Ok(()),
    };
    let CommandLine::Arguments(words) = command else { return Ok(()) };
    let program = words.first().map(String::as_str).unwrap_or_default();
    let found = if program.contains('/') {
        is_executable(&directory.join(program))
    } else {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| is_executable(&directory.join(folder).join(program)))
    };
    if found {
        return Ok(());
    }
    let place = if program.contains('/') { "no such executable file" } else { "not found in PATH" };
    let reason = format!("command \"{}\": {place}", program.escape_debug());
    Err(RunError::Command { stage: stage.name.clone(), reason })
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(program: &str) -> Result<(), String> {
        let command = CommandLine::Arguments(vec![program.into()]);
        let work = Some(Work::Program(command));
        let stage =
            Stage { name: "work".into(), instances: 1, work, times: None, distribution: Default::default() };
        check_command(&stage, Path::new("/bin")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_is_looked_for_as_the_system_does() {
        assert_eq!(check("sh"), Ok(()));
        assert_eq!(check("/bin/sh"), Ok(()));
        assert_eq!(check("./sh"), Ok(()), "relative to the topology's folder");
        assert_eq!(
            check("no-such-command").unwrap_err(),
            "stage \"work\": command \"no-such-command\": not found in PATH"
        );
        assert_eq!(
            check("./none").unwrap_err(),
            "stage \"work\": command \"./none\": no such executable file"
        );
        assert!(check("/etc/passwd").is_err(), "not executable");
    }
}
