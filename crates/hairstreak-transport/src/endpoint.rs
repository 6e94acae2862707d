//! `Endpoint`: where a socket binds or connects, as text and parsed.
//!
//! ```text
//!   tcp://HOST:PORT       HOST: *, an IPv4 address, an [IPv6 address], an interface, a host name;
//!                         [fe80::1%eth0]: a link-local address with its interface
//!                         PORT: 1-65535; * or 0 when binding for one that is free
//!   ipc:///PATH           a unix socket in the file system; ipc://* when binding for a new path of its own
//!   ipc://@NAME           a unix socket in the abstract namespace
//!   shm:///PATH           as ipc, and the peer has to go on in shared memory; shm://* too
//!   shm://NAME            the same, in the abstract namespace
//!   vortex://FABRIC/RANK:PORT    through a simulated Data Vortex; RANK and PORT may be * when binding
//!   inproc://NAME         within the process
//! ```

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::vortex::VortexAddress;

/// The longest endpoint that is looked at, in bytes.
const ENDPOINT_SIZE_MAX: usize = 1024;
/// `sun_path` holds 108 bytes with a closing NUL.
const IPC_PATH_SIZE_MAX: usize = 107;

/// A parsed endpoint; [`fmt::Display`] gives the text back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `tcp://host:port`
    Tcp(TcpAddress),
    /// `ipc://...`
    Ipc(IpcAddress),
    /// `shm://...`
    Shm(IpcAddress),
    /// `vortex://fabric/rank:port`
    Vortex(VortexAddress),
    /// `inproc://name`
    Inproc(String),
}

/// The part after `tcp://`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TcpAddress {
    /// `*`, an address (an IPv6 one without brackets, perhaps with a zone), an interface or a host name.
    pub host: String,
    /// 0 for any free port.
    pub port: u16,
}

/// The part after `ipc://` or `shm://`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IpcAddress {
    /// A new file in a new folder of the temporary directory: when binding.
    Any,
    /// A file.
    Path(PathBuf),
    /// A name in Linux's abstract namespace, without the `@` that ipc has.
    Abstract(String),
}

/// A text that is no endpoint.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EndpointError {
    /// No scheme, or one that is not known.
    #[error("endpoint \"{0}\": it must start with tcp://, ipc://, shm://, vortex:// or inproc://")]
    Scheme(String),
    /// The part after the scheme is missing or too long.
    #[error("endpoint \"{0}\": the part after :// must have between 1 and {ENDPOINT_SIZE_MAX} bytes")]
    Size(String),
    /// A tcp endpoint without port, or with a port that is none.
    #[error("endpoint \"{0}\": tcp needs HOST:PORT with a port from 1 to 65535, or * when binding")]
    Port(String),
    /// A tcp endpoint without host, or with blanks in it.
    #[error("endpoint \"{0}\": tcp needs a host before the port (* for every interface)")]
    Host(String),
    /// A vortex endpoint without a fabric's name, a rank or a port.
    #[error(
        "endpoint \"{0}\": vortex needs FABRIC/RANK:PORT, the fabric's name of letters, digits, -, _ and ., and a port from 1 to 65535 (* when binding)"
    )]
    Vortex(String),
    /// A path that does not fit a unix socket's address.
    #[error("endpoint \"{0}\": a unix socket's path has at most {IPC_PATH_SIZE_MAX} bytes and no NUL")]
    Path(String),
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Endpoint, EndpointError> {
        let shown = || text.chars().take(80).collect::<String>().escape_debug().to_string();
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(EndpointError::Scheme(shown()));
        };
        if rest.is_empty() || rest.len() > ENDPOINT_SIZE_MAX {
            return Err(EndpointError::Size(shown()));
        }
        match scheme {
            "tcp" => parse_tcp(rest, shown),
            "ipc" => parse_unix(rest, rest.strip_prefix('@'), shown).map(Endpoint::Ipc),
            "shm" => {
                let name = (!rest.starts_with('/')).then(|| rest.strip_prefix('@').unwrap_or(rest));
                parse_unix(rest, name, shown).map(Endpoint::Shm)
            }
            "vortex" => {
                let address = VortexAddress::parse(rest).ok_or_else(|| EndpointError::Vortex(shown()));
                address.map(Endpoint::Vortex)
            }
            "inproc" => Ok(Endpoint::Inproc(rest.to_owned())),
            _ => Err(EndpointError::Scheme(shown())),
        }
    }
}

fn parse_tcp(rest: &str, shown: impl Fn() -> String) -> Result<Endpoint, EndpointError> {
    let (host, port) = rest.rsplit_once(':').ok_or_else(|| EndpointError::Port(shown()))?;
    let port = match port {
        "*" => 0,
        digits => digits.parse().map_err(|_| EndpointError::Port(shown()))?,
    };
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    if host.is_empty()
        || host.contains(|c: char| c.is_whitespace() || c.is_control())
        || (bare.is_none() && host.contains([':', '[', ']']))
    {
        return Err(EndpointError::Host(shown()));
    }
    Ok(Endpoint::Tcp(TcpAddress { host: bare.unwrap_or(host).to_owned(), port }))
}

/// `name`: the part of `rest` that names the abstract socket, if it is one.
fn parse_unix(
    rest: &str,
    name: Option<&str>,
    shown: impl Fn() -> String,
) -> Result<IpcAddress, EndpointError> {
    if rest.len() > IPC_PATH_SIZE_MAX || rest.contains('\0') || name == Some("") {
        return Err(EndpointError::Path(shown()));
    }
    Ok(match name {
        _ if rest == "*" => IpcAddress::Any,
        Some(name) => IpcAddress::Abstract(name.to_owned()),
        None => IpcAddress::Path(PathBuf::from(rest)),
    })
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(TcpAddress { host, port }) => {
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "tcp://{open}{host}{close}:")?;
                if *port == 0 { f.write_str("*") } else { write!(f, "{port}") }
            }
            Endpoint::Ipc(IpcAddress::Any) => f.write_str("ipc://*"),
            Endpoint::Shm(IpcAddress::Any) => f.write_str("shm://*"),
            Endpoint::Ipc(IpcAddress::Path(path)) => write!(f, "ipc://{}", path.display()),
            Endpoint::Ipc(IpcAddress::Abstract(name)) => write!(f, "ipc://@{name}"),
            Endpoint::Shm(IpcAddress::Path(path)) => write!(f, "shm://{}", path.display()),
            Endpoint::Shm(IpcAddress::Abstract(name)) => write!(f, "shm://{name}"),
            Endpoint::Vortex(address) => write!(f, "vortex://{address}"),
            Endpoint::Inproc(name) => write!(f, "inproc://{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_endpoints_print_as_they_were_read() {
        for text in [
            "tcp://*:*",
            "tcp://127.0.0.1:5555",
            "tcp://[::1]:80",
            "tcp://[fe80::1%eth0]:80",
            "tcp://eth0:*",
            "ipc:///tmp/x",
            "ipc://rel",
            "ipc://@abstract",
            "ipc://*",
            "shm://*",
            "shm:///tmp/x",
            "shm://name",
            "vortex://lab/3:5555",
            "vortex://lab/2;3:5555",
            "vortex://lab.2-x_y/*:*",
            "inproc://a b",
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
        assert_eq!("shm://@name".parse::<Endpoint>().unwrap().to_string(), "shm://name");
        assert_eq!("tcp://*:0".parse::<Endpoint>().unwrap().to_string(), "tcp://*:*");
    }

    #[test]
    fn bad_endpoints_name_what_is_wrong() {
        let long = format!("ipc:///{}", "x".repeat(IPC_PATH_SIZE_MAX));
        for (text, part) in [
            ("localhost:5555", "must start with"),
            ("udp://x:1", "must start with"),
            ("tcp://", "after ://"),
            ("tcp://host", "a port"),
            ("tcp://host:65536", "a port"),
            ("tcp://host:-1", "a port"),
            ("tcp://:5", "a host"),
            ("tcp://::1:5", "a host"),
            ("ipc://@", "path"),
            ("shm://@", "path"),
            ("shm://a\0b", "path"),
            ("vortex://lab", "FABRIC/RANK:PORT"),
            ("vortex://lab/3", "FABRIC/RANK:PORT"),
            ("vortex:///3:5", "FABRIC/RANK:PORT"),
            ("vortex://la b/3:5", "FABRIC/RANK:PORT"),
            ("vortex://lab/-3:5", "FABRIC/RANK:PORT"),
            ("vortex://lab/+3:5", "FABRIC/RANK:PORT"),
            ("vortex://lab/3:65536", "FABRIC/RANK:PORT"),
            ("vortex://lab/3:", "FABRIC/RANK:PORT"),
            ("vortex://lab/*;3:5", "FABRIC/RANK:PORT"),
            ("vortex://lab/4294967295:5", "FABRIC/RANK:PORT"),
            (&long, "path"),
        ] {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
