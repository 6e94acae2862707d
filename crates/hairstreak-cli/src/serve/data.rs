//! The place of the node's definitions.

use std::path::{Path, PathBuf};

use hairstreak_server::DataPlace;

/// The data directory: the one that was given, or that of the platform.
pub fn data_place(given: Option<&Path>, node_name: String) -> Result<Option<DataPlace>, String> {
    let path = match given {
        Some(path) if path == Path::new("none") => return Ok(None),
        Some(path) => path.to_owned(),
        None => {
            state_directory().ok_or("no home directory is known; give --data-dir DIR, or --data-dir none")?
        }
    };
    Ok(Some(DataPlace { path, node_name }))
}

/// Where programs of this user keep their state.
fn state_directory() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = match variable("XDG_STATE_HOME") {
        Some(base) => base,
        None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib"),
        None => variable("HOME")?.join(".local/state"),
    };
    Some(base.join("hairstreak"))
}
