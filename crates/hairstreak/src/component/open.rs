//! Opening: an exchange or queue gets its socket and its name. If it is global, it also gets its endpoint and its entry
//! in the directory.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_services::names::client::{
    AskError, Client, Publication, PublicationError, RegisterError, because, host_port,
};
use hairstreak_socket::{Endpoint, Options, Pull, Push, ResolveError};
use hairstreak_wire::directory::{Attributes, FieldError, Name};
use thiserror::Error;

use super::component::Component;
use super::names::{self, Key, Scope, Space};
use super::object::{Kind, Object, Plug};
use crate::exchange::Style;

/// An error of opening an exchange or queue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The name breaks a rule.
    #[error("{name}: {reason}")]
    Invalid {
        /// The name.
        name: String,
        /// The fault.
        reason: FieldError,
    },
    /// The name is taken in this process.
    #[error("{name} is taken: {holder} has an exchange or queue of that name")]
    Taken {
        /// The name.
        name: String,
        /// The holder of the name.
        holder: &'static str,
    },
    /// The name is taken in the directory.
    #[error("{name} is taken: the directory at {directory} has it at {endpoint}")]
    Duplicate {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// The endpoint of the name's holder.
        endpoint: String,
    },
    /// The name is global, and the component has no directory.
    #[error("{name} is to be global, but its component was built without a directory")]
    NoDirectory {
        /// The name.
        name: String,
    },
    /// An interface or an advertised address is set for an object that does not listen.
    #[error("{name} is {scope}: only what is global listens on an interface or advertises one")]
    NotGlobal {
        /// The name.
        name: String,
        /// The scope of the name.
        scope: Scope,
    },
    /// Other components could not connect to the endpoint of the listener, or to the advertised address.
    #[error("{name}: {reason}")]
    Unpublished {
        /// The name.
        name: String,
        /// The fault.
        reason: PublicationError,
    },
    /// The directory's host is unknown.
    #[error("{name}: the directory at {directory} cannot be reached: {trouble}")]
    Unreachable {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// The resolver's error.
        trouble: ResolveError,
    },
    /// The directory did not answer.
    #[error("{name}: no answer from the directory at {directory} in {} s{}", waited.as_secs_f32(), because(trouble))]
    NoAnswer {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// Duration of the wait.
        waited: Duration,
        /// The resolver's error, if the directory's host could not be resolved.
        trouble: Option<ResolveError>,
    },
    /// The directory refused the name for another reason.
    #[error("{name}: the directory at {directory} refuses: {text}")]
    Refused {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
        /// The directory's answer.
        text: String,
    },
    /// A fork: the connection to the directory belongs to the parent process, which built the component. Build another
    /// component.
    #[error(
        "{name}: the connection to the directory at {directory} belongs to the process that this one was forked from"
    )]
    Forked {
        /// The name.
        name: String,
        /// The directory.
        directory: String,
    },
    /// The socket could not be opened.
    #[error("{name}: {source}")]
    Socket {
        /// The name.
        name: String,
        /// The error.
        source: hairstreak_socket::OpenError,
    },
    /// The interface could not be bound.
    #[error("{name}: {source}")]
    Listen {
        /// The name.
        name: String,
        /// The error.
        source: hairstreak_socket::BindError,
    },
}

/// The name, scope and addresses of an exchange or queue, as its builder has them.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub name: String,
    pub scope: Scope,
    pub interface: Option<String>,
    pub advertise: Option<String>,
}

impl Placement {
    pub(crate) fn new(name: &str) -> Placement {
        Placement { name: name.to_owned(), scope: Scope::Local, interface: None, advertise: None }
    }
}

impl Component {
    /// Opens an exchange.
    pub(crate) fn open_exchange(
        &self,
        placement: &Placement,
        style: Style,
        mut options: Options,
    ) -> Result<(Arc<Object>, Push), OpenError> {
        options.distribution = style.distribution();
        let push = Push::with_options(&self.inner.context, options);
        let push = push.map_err(|source| OpenError::Socket { name: placement.name.clone(), source })?;
        Ok((self.open(placement, Plug::Exchange(push.clone()), Some(style))?, push))
    }

    /// Opens a queue.
    pub(crate) fn open_queue(
        &self,
        placement: &Placement,
        options: Options,
    ) -> Result<(Arc<Object>, Pull), OpenError> {
        let pull = Pull::with_options(&self.inner.context, options);
        let pull = pull.map_err(|source| OpenError::Socket { name: placement.name.clone(), source })?;
        Ok((self.open(placement, Plug::Queue(pull.clone()), None)?, pull))
    }

    fn open(
        &self,
        placement: &Placement,
        plug: Plug,
        style: Option<Style>,
    ) -> Result<Arc<Object>, OpenError> {
        let Placement { name: text, scope, interface, advertise } = placement;
        let name = Name::new(text)
            .map_err(|reason| OpenError::Invalid { name: text.escape_debug().to_string(), reason })?;
        if *scope != Scope::Global && (interface.is_some() || advertise.is_some()) {
            return Err(OpenError::NotGlobal { name: text.clone(), scope: *scope });
        }
        let object = Arc::new(Object::new(plug, self.keys_of(text, *scope)?));
        names::claim(object.keys(), &object).map_err(|taken| taken_by(&taken))?;
        if let (Scope::Global, Some(client)) = (scope, &self.inner.directory) {
            self.publish(&object, placement, &name, style, client)?;
        }
        Ok(object)
    }

    /// Returns the keys that a new object of this scope claims.
    fn keys_of(&self, name: &str, scope: Scope) -> Result<Vec<Key>, OpenError> {
        let wider = match (scope, &self.inner.directory) {
            (Scope::Local, _) => None,
            (Scope::Process, _) => Some(Space::Process),
            (Scope::Global, Some(client)) => Some(Space::Directory(client.endpoint().into())),
            (Scope::Global, None) => return Err(OpenError::NoDirectory { name: name.to_owned() }),
        };
        let spaces = [Space::Component(self.inner.id)].into_iter().chain(wider);
        Ok(spaces.map(|space| Key { space, name: name.into() }).collect())
    }

    /// Listens, and registers the endpoint.
    fn publish(
        &self,
        object: &Object,
        placement: &Placement,
        name: &Name,
        style: Option<Style>,
        client: &Arc<Client>,
    ) -> Result<(), OpenError> {
        let deadline = Instant::now() + self.inner.patience;
        let invalid = |reason| OpenError::Invalid { name: name.to_string(), reason };
        let unanswered = |error| self.unanswered(name, error);
        client.wait_until_connected(deadline).map_err(unanswered)?;
        let bound = listen(object, placement, client)?;
        let publication = Publication::of(&bound, placement.advertise.as_deref())
            .map_err(|reason| OpenError::Unpublished { name: name.to_string(), reason })?;
        let _ = object.bound.set(bound);
        let attributes = attributes(object.kind(), style).map_err(invalid)?;
        match client.register(name, publication, attributes, deadline) {
            Ok(registration) => {
                let _ = object.registration.set(registration);
                Ok(())
            }
            Err(RegisterError::Duplicate(endpoint)) => {
                let directory = client.endpoint().to_owned();
                Err(OpenError::Duplicate { name: name.to_string(), directory, endpoint })
            }
            Err(RegisterError::Field(reason)) => Err(invalid(reason)),
            Err(RegisterError::Ask(error)) => Err(unanswered(error)),
        }
    }

    fn unanswered(&self, name: &Name, error: AskError) -> OpenError {
        let (name, waited) = (name.to_string(), self.inner.patience);
        match error {
            AskError::NoAnswer { directory, trouble } => {
                OpenError::NoAnswer { name, directory, waited, trouble }
            }
            AskError::Unreachable { directory, trouble } => {
                OpenError::Unreachable { name, directory, trouble }
            }
            AskError::Refused { directory, text } => OpenError::Refused { name, directory, text },
            AskError::Forked { directory } => OpenError::Forked { name, directory },
        }
    }
}

/// Binds the given interface. The default is the local address of the connection to the directory, and any port. An
/// object that is registered with a directory on this host is thus reachable from this host only.
fn listen(object: &Object, placement: &Placement, client: &Client) -> Result<Endpoint, OpenError> {
    let local = client.local_address().flatten().map(|address| address.ip().to_canonical());
    let endpoint = match placement.interface.as_deref() {
        Some(asked) => host_port::endpoint(asked, "*"),
        None => match local.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            // A link-local address says nothing without its interface.
            IpAddr::V6(ip) if ip.is_unicast_link_local() => "tcp://*:*".to_owned(),
            ip => host_port::endpoint(&ip.to_string(), "*"),
        },
    };
    // `*` is every IPv4 interface. An object that is reached over IPv6 listens on the IPv6 interfaces too.
    let endpoint = match endpoint.strip_prefix("tcp://*:") {
        Some(port) if local.is_some_and(|ip| ip.is_ipv6()) => format!("tcp://[::]:{port}"),
        _ => endpoint,
    };
    let bound = match &object.plug {
        Plug::Exchange(push) => push.bind(&endpoint),
        Plug::Queue(pull) => pull.bind(&endpoint),
    };
    bound.map_err(|source| OpenError::Listen { name: placement.name.clone(), source })
}

/// Returns the attributes that the directory passes on to other components.
fn attributes(kind: Kind, style: Option<Style>) -> Result<Attributes, FieldError> {
    let mut attributes = Attributes::new();
    attributes.add("kind", kind.to_string().as_bytes())?;
    if let Some(style) = style {
        attributes.add("style", style.to_string().as_bytes())?;
    }
    Ok(attributes)
}

fn taken_by(key: &Key) -> OpenError {
    let holder = match key.space {
        Space::Component(_) => "this component",
        Space::Process | Space::Directory(_) => "this process",
    };
    OpenError::Taken { name: key.name.to_string(), holder }
}
