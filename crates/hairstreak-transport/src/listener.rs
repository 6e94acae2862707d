//! `Listener`: a bound tcp or unix socket, or a port of a fabric, that accepts streams, never blocking.
//!
//! The file of a unix socket without a listener (its process was killed) is replaced. A file with a listener is in use,
//! and so is a file of any other kind. The file is removed when its listener goes, and so is the folder that was made
//! for it alone (`ipc://*`).

use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::endpoint::{Endpoint, IpcAddress, TcpAddress};
use crate::stream::{ServerLayer, Stream, unix_address};
use crate::vortex::{self, VortexAddress, VortexListener};

/// Connections the kernel holds for us until they are accepted.
const BACKLOG: i32 = 1024;
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A bound endpoint that accepts streams.
#[derive(Debug)]
pub struct Listener {
    source: Source,
    endpoint: Endpoint,
    layer: ServerLayer,
}

/// The source of accepted streams.
#[derive(Debug)]
enum Source {
    Socket(Bound),
    Vortex(Box<VortexListener>),
}

/// A bound, listening socket.
#[derive(Debug)]
struct Bound {
    fd: OwnedFd,
    is_tcp: bool,
    /// The file to remove, and its inode: a file of that name with another inode stays.
    file: Option<(PathBuf, u64)>,
    /// The folder, which goes behind the file.
    _folder: Option<OwnFolder>,
    /// The process that bound it. In a forked child the listener is still the parent's.
    process: u32,
}

impl Listener {
    /// Binds a tcp address. The endpoint read back has the real port; a wildcard host stays `*`.
    pub fn bind_tcp(address: SocketAddr, wildcard: bool) -> io::Result<Listener> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let fd = net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        net::bind(&fd, &address)?;
        net::listen(&fd, BACKLOG)?;
        let bound = net::getsockname(&fd)?;
        let bound = SocketAddr::try_from(bound)?;
        let mut address = TcpAddress::from(bound);
        if wildcard {
            "*".clone_into(&mut address.host);
        }
        let endpoint = Endpoint::Tcp(address);
        let bound = Bound { fd, is_tcp: true, file: None, _folder: None, process: std::process::id() };
        Ok(Listener::plain(Source::Socket(bound), endpoint))
    }

    /// Binds a unix socket. The endpoint read back has the real path.
    pub fn bind_ipc(address: &IpcAddress) -> io::Result<Listener> {
        Listener::bind_unix(address, Endpoint::Ipc)
    }

    /// Binds a unix socket whose peers have to go on in shared memory.
    pub fn bind_shm(address: &IpcAddress) -> io::Result<Listener> {
        Listener::bind_unix(address, Endpoint::Shm)
    }

    fn bind_unix(address: &IpcAddress, endpoint: fn(IpcAddress) -> Endpoint) -> io::Result<Listener> {
        let folder = if *address == IpcAddress::Any { Some(OwnFolder::make()?) } else { None };
        let address = &folder.as_ref().map_or_else(|| address.clone(), OwnFolder::socket);
        let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        let name = unix_address(address)?;
        match (net::bind(&fd, &name), address) {
            (Err(Errno::ADDRINUSE), IpcAddress::Path(path)) if is_stale(path, address) => {
                std::fs::remove_file(path)?;
                net::bind(&fd, &name)?;
            }
            (result, _) => result?,
        }
        net::listen(&fd, BACKLOG)?;
        let file = match address {
            IpcAddress::Path(path) => Some((path.clone(), inode(path)?)),
            IpcAddress::Any | IpcAddress::Abstract(_) => None,
        };
        let bound = Bound { fd, is_tcp: false, file, _folder: folder, process: std::process::id() };
        Ok(Listener::plain(Source::Socket(bound), endpoint(address.clone())))
    }

    /// Binds a port of a rank of a fabric, and waits for the fabric's answer. The endpoint read back has the real rank and port.
    ///
    /// # Errors
    ///
    /// [`VortexError`](crate::vortex::VortexError).
    pub fn bind_vortex(address: &VortexAddress) -> io::Result<Listener> {
        let listener = VortexListener::bind(address)?;
        let endpoint = Endpoint::Vortex(listener.address().clone());
        let layer = ServerLayer::Rings { ring_size_max: vortex::RING_SIZE };
        Ok(Listener::plain(Source::Vortex(Box::new(listener)), endpoint).with_layer(layer))
    }

    fn plain(source: Source, endpoint: Endpoint) -> Listener {
        Listener { source, endpoint, layer: ServerLayer::Plain }
    }

    /// Puts `layer` between the accepted sockets and their bytes.
    #[must_use]
    pub fn with_layer(mut self, layer: ServerLayer) -> Listener {
        self.layer = layer;
        self
    }

    /// The next stream waiting to be accepted; `None` if there is none. It has to be established if there is a layer.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        Ok(self.accept_plain()?.map(|stream| stream.with_server_layer(&self.layer)))
    }

    fn accept_plain(&self) -> io::Result<Option<Stream>> {
        let bound = match &self.source {
            Source::Socket(bound) => bound,
            Source::Vortex(listener) => return listener.accept(),
        };
        loop {
            match net::accept_with(&bound.fd, FLAGS) {
                Ok(fd) if bound.is_tcp => return Stream::from_tcp(fd).map(Some),
                Ok(fd) => return Ok(Some(Stream::from_unix(fd))),
                Err(Errno::AGAIN) => return Ok(None),
                // The peer went away before we came (accept(2) passes its errors on).
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO | Errno::NETDOWN | Errno::NETUNREACH) => {
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the bound endpoint, with the real port.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::Socket(bound) => bound.fd.as_fd(),
            Source::Vortex(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        // Before the shutdown: after it another listener may take the file's place.
        if let Some((path, ours)) = &self.file
            && inode(path).is_ok_and(|now| now == *ours)
        {
            // Nothing to be done if it cannot be removed; the next bind replaces it.
            let _ = std::fs::remove_file(path);
        }
        if self.is_tcp {
            // A child process that was forked and has not become another program yet holds the descriptor, too: without the shutdown the
            // address would be in use until it has. The descriptor is closed in any case.
            let _ = net::shutdown(&self.fd, net::Shutdown::Both);
        }
    }
}

/// A new folder in the temporary directory, in which only this user makes files. It is removed at the end, if it is empty.
#[derive(Debug)]
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn make() -> io::Result<OwnFolder> {
        loop {
            // Each one has random keys.
            let random = RandomState::new().hash_one(std::process::id());
            let path = std::env::temp_dir().join(format!("hairstreak-{random:016x}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(OwnFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn socket(&self) -> IpcAddress {
        IpcAddress::Path(self.0.join("socket"))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // Nothing to be done if it cannot be removed. In a forked child it has the parent's socket in it, and stays.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Returns `true` if the file is a socket without a listener. A connect to a file of any other kind is refused too, but
/// that file has another owner. The target of a link belongs to another endpoint.
fn is_stale(path: &std::path::Path, address: &IpcAddress) -> bool {
    use std::os::unix::fs::FileTypeExt;
    if !std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        return false;
    }
    match Stream::connect_ipc(address) {
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::ConnectionRefused,
    }
}

fn inode(path: &std::path::Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::symlink_metadata(path)?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(listener: &mut Listener) -> &mut Bound {
        match &mut listener.source {
            Source::Socket(bound) => bound,
            Source::Vortex(_) => panic!("no socket"),
        }
    }

    fn scratch(name: &str) -> IpcAddress {
        IpcAddress::Path(std::env::temp_dir().join(format!("hs-{}-{name}", std::process::id())))
    }

    #[test]
    fn a_socket_file_left_by_a_killed_process_is_replaced_and_a_live_one_is_not() {
        let address = scratch("stale");
        let mut first = Listener::bind_ipc(&address).unwrap();
        assert_eq!(Listener::bind_ipc(&address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let file = bound(&mut first).file.clone().unwrap().0;
        // After kill -9 the descriptor is closed and the file stays, as here.
        let mut first = first;
        bound(&mut first).file = None;
        drop(first);
        assert!(file.exists());
        drop(Listener::bind_ipc(&address).unwrap());
        assert!(!file.exists());
    }

    #[test]
    fn a_wildcard_is_a_path_of_its_own_that_goes_with_its_listener() {
        let paths = [Listener::bind_ipc, Listener::bind_shm].map(|bind| {
            let (mut one, mut other) = (bind(&IpcAddress::Any).unwrap(), bind(&IpcAddress::Any).unwrap());
            let path = |listener: &mut Listener| bound(listener).file.clone().unwrap().0;
            let (first, second) = (path(&mut one), path(&mut other));
            assert_ne!(first, second);
            assert!(one.endpoint().to_string().ends_with(&format!("://{}", first.display())));
            Stream::connect_ipc(&IpcAddress::Path(first.clone())).unwrap();
            [first, second]
        });
        for path in paths.iter().flatten() {
            assert!(!path.parent().unwrap().exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_file_that_is_no_socket_stays_as_it_is() {
        let IpcAddress::Path(file) = scratch("precious") else { unreachable!() };
        let link = file.with_extension("link");
        std::fs::write(&file, "precious").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            let bound = Listener::bind_ipc(&IpcAddress::Path(path.clone()));
            assert_eq!(bound.unwrap_err().kind(), io::ErrorKind::AddrInUse);
            assert_eq!(std::fs::read(path).unwrap(), b"precious");
        }
        std::fs::remove_file(&file).unwrap();
        // A link to a socket without a listener is in use, too: its target may be another endpoint's file.
        let stale = std::os::unix::net::UnixListener::bind(&file).unwrap();
        drop(stale);
        let bound = Listener::bind_ipc(&IpcAddress::Path(link.clone()));
        assert_eq!(bound.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(file.exists() && link.is_symlink());
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_file(&link).unwrap();
    }

    #[test]
    fn an_address_is_free_behind_its_listener_though_a_forked_child_still_has_the_descriptor() {
        let mut first = Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let Endpoint::Tcp(address) = first.endpoint().clone() else { unreachable!() };
        let of_child = bound(&mut first).fd.try_clone().unwrap();
        drop(first);
        Listener::bind_tcp(format!("127.0.0.1:{}", address.port).parse().unwrap(), false).unwrap();
        drop(of_child);
    }

    #[test]
    fn in_a_forked_child_a_listener_is_still_the_parents() {
        let mut tcp = Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let of_parent = std::net::TcpListener::from(bound(&mut tcp).fd.try_clone().unwrap());
        let mut ipc = Listener::bind_ipc(&scratch("forked")).unwrap();
        let file = bound(&mut ipc).file.clone().unwrap().0;
        (bound(&mut tcp).process, bound(&mut ipc).process) = (0, 0);
        drop((tcp, ipc));
        assert!(std::net::TcpStream::connect(of_parent.local_addr().unwrap()).is_ok());
        assert!(file.exists());
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn an_abstract_name_in_use_is_an_error() {
        let address = IpcAddress::Abstract(format!("hs-{}-abstract", std::process::id()));
        let _first = Listener::bind_ipc(&address).unwrap();
        assert_eq!(Listener::bind_ipc(&address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
