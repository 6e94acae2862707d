//! A directory of a broker's own, and what the broker says in it. Dropping it removes it.

use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::super::amqp::Link;
use super::error::{ServerError, failed};

/// RabbitMQ takes four seconds on an idle machine.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Linux gives connections the ports from 32,768 on. Such a port can be taken in the seconds until RabbitMQ listens.
const PORTS: Range<u16> = 10_000..30_000;
/// The most bytes of a failed broker's output that an error shows.
const OUTPUT_SIZE_MAX: usize = 2000;

/// A directory that belongs to one broker.
#[derive(Debug)]
pub struct Directory {
    /// Where.
    pub path: PathBuf,
}

impl Directory {
    /// Makes one among the temporary files.
    pub fn new(name: &str) -> Result<Directory, ServerError> {
        let path = std::env::temp_dir().join(format!("hairstreak-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(failed("the directory of a broker"))?;
        Ok(Directory { path })
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, ServerError> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(failed("a file of a broker"))?;
        Ok(path)
    }

    /// Writes a random secret into a file for the owner alone.
    pub fn write_secret(&self, name: &str) -> Result<(), ServerError> {
        let random = || RandomState::new().build_hasher().finish();
        let path = self.write(name, &format!("{:016X}{:016X}", random(), random()))?;
        fs::set_permissions(path, Permissions::from_mode(0o400)).map_err(failed("a file of a broker"))
    }

    /// Starts a program of the broker. What it says is kept here.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, ServerError> {
        let output = || File::options().create(true).append(true).open(self.output_path());
        let (output, errors) =
            output().and_then(|file| Ok((file, output()?))).map_err(failed("a file of a broker"))?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let program = || command.get_program().to_string_lossy().into_owned();
        child.map_err(|error| ServerError::Start { program: program(), error })
    }

    /// Waits until the broker `child` opens a channel at `address`.
    pub fn wait_for(
        &self,
        program: &Path,
        child: &mut Child,
        address: SocketAddr,
    ) -> Result<(), ServerError> {
        let (program, start) = (program.display().to_string(), Instant::now());
        loop {
            let Err(error) = Link::open(address) else { return Ok(()) };
            if child.try_wait().map_err(failed("the process of a broker"))?.is_some() {
                return Err(ServerError::Ended { program, output: self.said() });
            }
            if is_abandoned() {
                return Err(ServerError::Abandoned);
            }
            if start.elapsed() > ANSWER_TIME_MAX {
                return Err(ServerError::Silent { program, error, output: self.said() });
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn output_path(&self) -> PathBuf {
        self.path.join("output")
    }

    fn said(&self) -> String {
        let said = fs::read(self.output_path()).unwrap_or_default();
        let end = &said[said.len().saturating_sub(OUTPUT_SIZE_MAX)..];
        String::from_utf8_lossy(end).trim().to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // An error leaves files among the temporary files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Whether the benchmark has gone, whose end of this process's standard input is closed then.
fn is_abandoned() -> bool {
    let input = io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    // The next look comes soon if this look fails.
    let _ = poll(&mut watched, Some(&Timespec::default()));
    watched[0].revents().contains(PollFlags::HUP)
}

/// A free port of the loopback interface.
pub fn free_address() -> Result<SocketAddr, ServerError> {
    free_address_of(Ipv4Addr::LOCALHOST.into())
}

/// A free port of this host's address `host`. Each call returns another port.
pub fn free_address_of(host: IpAddr) -> Result<SocketAddr, ServerError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id().wrapping_mul(8);
    for _ in PORTS {
        let offset = own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS.len() as u32;
        let address = SocketAddr::new(host, PORTS.start + offset as u16);
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(failed("a free port")(error)),
        }
    }
    Err(failed("a free port")(io::ErrorKind::AddrInUse.into()))
}

/// Ends a process and reaps it.
pub fn end(child: &mut Child) {
    // Both fail only if it has ended and been reaped already.
    let _: Result<(), io::Error> = child.kill();
    let _ = child.wait();
}
