//! `Supervisor`: notifies systemd of the state of the node (sd_notify(3)): ready, reloading, stopping.
//!
//! A datagram of lines `NAME=VALUE` goes to the socket that the environment names. Without that socket nothing is sent.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use std::{env, io};

use rustix::time::{ClockId, clock_gettime};

use crate::line::one_line;

/// The variable that names the socket: a path, or `@` and an abstract name.
const VARIABLE: &str = "NOTIFY_SOCKET";
/// The time limit for a supervisor to read a notification.
const SEND_TIME: Duration = Duration::from_secs(1);

/// The program that started the node and follows its state, such as systemd.
#[derive(Debug)]
pub struct Supervisor(Option<UnixDatagram>);

impl Supervisor {
    /// The supervisor that the environment names.
    ///
    /// Errors: the socket in the environment cannot be reached.
    pub fn of_environment() -> Result<Supervisor, String> {
        match env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
            None => Ok(Supervisor(None)),
            Some(name) => Supervisor::at(&name)
                .map_err(|error| format!("{VARIABLE}={}: {error}", name.to_string_lossy().escape_debug())),
        }
    }

    fn at(name: &OsStr) -> io::Result<Supervisor> {
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_write_timeout(Some(SEND_TIME))?;
        Ok(Supervisor(Some(socket)))
    }

    /// Reports that every listener is open, or that a reload is over. `status` is for people.
    pub fn ready(&self, status: &str) {
        // A line feed would end the variable.
        self.tell(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// Reports that the node reads its configuration again. [`Supervisor::ready`] reports the end.
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// Reports that the node stops.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=stopping");
    }

    fn tell(&self, words: &str) {
        if let Some(socket) = &self.0 {
            // A supervisor that is gone has no use for the node's state.
            let _ = socket.send(words.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages to a supervisor.
    fn heard(socket: &UnixDatagram) -> String {
        let mut room = [0; 200];
        let size = socket.recv(&mut room).unwrap();
        String::from_utf8(room[..size].to_vec()).unwrap()
    }

    #[test]
    fn a_supervisor_hears_of_each_state() {
        let path = env::temp_dir().join(format!("hairstreak-notify-{}", std::process::id()));
        let abstract_name = format!("hairstreak-notify-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        for (socket, name) in [
            (UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap().to_owned()),
            (UnixDatagram::bind_addr(&abstract_address).unwrap(), format!("@{abstract_name}")),
        ] {
            let supervisor = Supervisor::at(OsStr::new(&name)).unwrap();
            supervisor.ready("amqp at tcp://*:5672\nREADY=0");
            assert_eq!(heard(&socket), "READY=1\nSTATUS=amqp at tcp://*:5672\\nREADY=0");
            supervisor.reloading();
            let words = heard(&socket);
            let micros = words.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
            assert!(micros.parse::<u64>().unwrap() > 0);
            supervisor.stopping();
            assert_eq!(heard(&socket), "STOPPING=1\nSTATUS=stopping");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_supervisor_that_is_not_there_is_an_error_and_one_that_goes_is_none() {
        assert!(Supervisor::at(OsStr::new("/no/such/socket")).is_err());
        let name = format!("hairstreak-notify-gone-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let supervisor = Supervisor::at(OsStr::new(&format!("@{name}"))).unwrap();
        drop(socket);
        supervisor.ready("here");
    }
}
