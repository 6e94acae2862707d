//! `Meeting`: the two endpoints at which a map and its workers meet. The user names one of them.

use std::path::PathBuf;

use hairstreak_socket::{Endpoint, EndpointError, IpcAddress};
use thiserror::Error;

/// The endpoints at which tasks are handed out and results are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    pub tasks: String,
    pub results: String,
}

impl Meeting {
    /// The unix sockets in the file system that the listeners create.
    pub fn files(&self) -> Vec<PathBuf> {
        let path = |endpoint: &str| {
            let path = endpoint.strip_prefix("ipc://").filter(|path| !path.starts_with('@'));
            path.or_else(|| endpoint.strip_prefix("shm://").filter(|path| path.starts_with('/')))
                .map(PathBuf::from)
        };
        [&self.tasks, &self.results].into_iter().filter_map(|endpoint| path(endpoint)).collect()
    }
}

/// The reason for which workers cannot meet at an endpoint.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum MeetingError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("{0}: a port from 1 to 65534 is needed, for results have the one above")]
    Port(String),
    #[error("{0}: a path is needed, for results have another one beside it")]
    Path(String),
    #[error("{0}: nobody outside this process could come there, use tcp:// or ipc://")]
    Inproc(String),
}

/// Makes a meeting. Tasks are at the user's endpoint; results at the port above, or the path or name with `.results`
/// appended.
pub fn meeting(tasks: &str) -> Result<Meeting, MeetingError> {
    let results = match tasks.parse::<Endpoint>()? {
        Endpoint::Inproc(_) => return Err(MeetingError::Inproc(tasks.to_owned())),
        Endpoint::Tcp(mut address) => {
            address.port = port_above(address.port, tasks)?;
            Endpoint::Tcp(address).to_string()
        }
        Endpoint::Vortex(mut address) => {
            address.port = port_above(address.port, tasks)?;
            Endpoint::Vortex(address).to_string()
        }
        Endpoint::Ipc(IpcAddress::Any) | Endpoint::Shm(IpcAddress::Any) => {
            return Err(MeetingError::Path(tasks.to_owned()));
        }
        Endpoint::Ipc(_) | Endpoint::Shm(_) => {
            let results = format!("{tasks}.results");
            results.parse::<Endpoint>()?;
            results
        }
    };
    Ok(Meeting { tasks: tasks.to_owned(), results })
}

fn port_above(port: u16, tasks: &str) -> Result<u16, MeetingError> {
    match port {
        0 | u16::MAX => Err(MeetingError::Port(tasks.to_owned())),
        port => Ok(port + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_beside_tasks() {
        for (tasks, results) in [
            ("tcp://*:5700", "tcp://*:5701"),
            ("tcp://[::1]:5700", "tcp://[::1]:5701"),
            ("ipc:///run/map", "ipc:///run/map.results"),
            ("ipc://@map", "ipc://@map.results"),
            ("vortex://lab/0:5700", "vortex://lab/0:5701"),
        ] {
            assert_eq!(meeting(tasks).unwrap().results, results);
        }
        assert_eq!(meeting("ipc:///a").unwrap().files(), ["/a", "/a.results"].map(PathBuf::from));
        assert!(meeting("ipc://@a").unwrap().files().is_empty());
        for wrong in ["ipc://*", "shm://*", "tcp://*:*", "tcp://*:65535", "inproc://map", "map", "tcp://x"] {
            assert!(meeting(wrong).is_err(), "{wrong}");
        }
        assert!(meeting(&format!("ipc:///{}", "x".repeat(106))).is_err());
    }
}
