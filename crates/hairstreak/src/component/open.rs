//! Opening: an exchange or queue gets its socket and its name. If it is global, it also gets its endpoint and its entry
//! in the directory.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use hairstreak_services::names::client::{
    AskError, Client, Publication, PublicationError, RegisterError, Registration, host_port,
};
use hairstreak_socket::{Endpoint, Options, Pull, Push};
use hairstreak_wire::directory::{Attributes, FieldError, Name};
use thiserror::Error;

use super::component::Component;
use super::names::{self, Key, Scope, Space};
use super::object::{Kind, Object, Plug};
use crate::exchange::{Exchange, Style};
use crate::queue::Queue;

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
    /// The directory gave no good answer.
    #[error("{name}: {}", error.after(*waited_s))]
    Directory {
        /// The name.
        name: String,
        /// Seconds of the wait.
        waited_s: f32,
        /// The error.
        error: AskError,
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

/// Describes an exchange.
pub type ExchangeBuilder<'n> = ObjectBuilder<'n, Exchange>;

/// Describes a queue.
pub type QueueBuilder<'n> = ObjectBuilder<'n, Queue>;

/// Describes an exchange or a queue.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before open()"]
pub struct ObjectBuilder<'n, T> {
    component: &'n Component,
    name: String,
    scope: Scope,
    interface: Option<String>,
    advertise: Option<String>,
    options: Options,
    /// The style of an exchange.
    style: Option<Style>,
    opens: PhantomData<fn() -> T>,
}

impl<'n, T> ObjectBuilder<'n, T> {
    pub(super) fn new(component: &'n Component, name: &str) -> ObjectBuilder<'n, T> {
        ObjectBuilder {
            component,
            name: name.to_owned(),
            scope: Scope::default(),
            interface: None,
            advertise: None,
            options: Options::default(),
            style: None,
            opens: PhantomData,
        }
    }

    /// Sets the components that can find the name. Local by default.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets the interface on which a global exchange or queue listens: `nic`, an address or `*`, with or without
    /// `:port`, or an endpoint. The default is the address by which this machine reaches the directory, and any free
    /// port.
    pub fn interface(mut self, interface: &str) -> Self {
        self.interface = Some(interface.to_owned());
        self
    }

    /// Sets the address that the directory tells other components: `host`, `host:port` or an endpoint. The default
    /// follows from the endpoint of the listener.
    pub fn advertise(mut self, host: &str) -> Self {
        self.advertise = Some(host.to_owned());
        self
    }

    fn open_object(&self, plug: Plug) -> Result<Arc<Object>, OpenError> {
        let text = &self.name;
        let name = Name::new(text)
            .map_err(|reason| OpenError::Invalid { name: text.escape_debug().to_string(), reason })?;
        if self.scope != Scope::Global && (self.interface.is_some() || self.advertise.is_some()) {
            return Err(OpenError::NotGlobal { name: text.clone(), scope: self.scope });
        }
        let object = Arc::new(Object::new(plug, self.keys()?));
        names::claim(object.keys(), &object).map_err(|taken| taken_by(&taken))?;
        if let (Scope::Global, Some(client)) = (self.scope, &self.component.inner.directory) {
            self.publish(&object, &name, client)?;
        }
        Ok(object)
    }

    /// Returns the keys that the new object claims.
    fn keys(&self) -> Result<Vec<Key>, OpenError> {
        let wider = match (self.scope, &self.component.inner.directory) {
            (Scope::Local, _) => None,
            (Scope::Process, _) => Some(Space::Process),
            (Scope::Global, Some(client)) => Some(Space::Directory(client.endpoint().into())),
            (Scope::Global, None) => return Err(OpenError::NoDirectory { name: self.name.clone() }),
        };
        let spaces = [Space::Component(self.component.inner.id)].into_iter().chain(wider);
        Ok(spaces.map(|space| Key { space, name: self.name.as_str().into() }).collect())
    }

    /// Listens, and registers the endpoint.
    fn publish(&self, object: &Object, name: &Name, client: &Arc<Client>) -> Result<(), OpenError> {
        let patience = self.component.inner.patience;
        let (deadline, waited_s) = (Instant::now() + patience, patience.as_secs_f32());
        let invalid = |reason| OpenError::Invalid { name: name.to_string(), reason };
        let unanswered = |error| OpenError::Directory { name: name.to_string(), waited_s, error };
        client.wait_until_connected(deadline).map_err(unanswered)?;
        let bound = self.listen(object, client)?;
        let publication = Publication::of(&bound, self.advertise.as_deref())
            .map_err(|reason| OpenError::Unpublished { name: name.to_string(), reason })?;
        let _ = object.bound.set(bound);
        let attributes = attributes(object.kind(), self.style).map_err(invalid)?;
        match Registration::register(client, name, publication, attributes, deadline) {
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

    /// Binds the given interface. The default is the local address of the connection to the directory, and any port. An
    /// object that is registered with a directory on this host is thus reachable from this host only.
    fn listen(&self, object: &Object, client: &Client) -> Result<Endpoint, OpenError> {
        let local = client.local_address().flatten().map(|address| address.ip().to_canonical());
        let endpoint = match self.interface.as_deref() {
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
        object.plug.bind(&endpoint).map_err(|source| OpenError::Listen { name: self.name.clone(), source })
    }
}

impl ObjectBuilder<'_, Exchange> {
    /// Sets the rule that chooses the queues of a message. Load balancing by default.
    pub fn style(mut self, style: Style) -> Self {
        self.options.distribution = style.distribution();
        self.style = Some(style);
        self
    }

    /// Sets the high-water mark in messages accepted and not yet sent, per queue.
    pub fn high_water_count(mut self, count: usize) -> Self {
        self.options.send_count_max = count;
        self
    }

    /// Sets the high-water mark in bytes accepted and not yet sent, per queue. One message may exceed it.
    pub fn high_water_bytes(mut self, bytes: usize) -> Self {
        self.options.send_bytes_max = bytes;
        self
    }

    /// Sets the low-water mark in messages: a full queue gets messages again when its count has fallen to this mark.
    /// The default is half of the high-water mark.
    pub fn low_water_count(mut self, count: usize) -> Self {
        self.options.send_count_low = Some(count);
        self
    }

    /// Sets the low-water mark in bytes: a full queue gets messages again when its bytes have fallen to this mark. The
    /// default is half of the high-water mark.
    pub fn low_water_bytes(mut self, bytes: usize) -> Self {
        self.options.send_bytes_low = Some(bytes);
        self
    }

    /// Opens the exchange. A global exchange waits for the directory.
    pub fn open(self) -> Result<Exchange, OpenError> {
        let push = Push::with_options(&self.component.inner.context, self.options.clone());
        let push = push.map_err(|source| OpenError::Socket { name: self.name.clone(), source })?;
        let object = self.open_object(Plug::Exchange(push.clone()))?;
        Ok(Exchange { name: self.name.into(), object, push })
    }
}

impl ObjectBuilder<'_, Queue> {
    /// Sets the high-water mark in messages that arrived and are not received yet, per exchange.
    pub fn high_water_count(mut self, count: usize) -> Self {
        self.options.receive_count_max = count;
        self
    }

    /// Sets the high-water mark in bytes that arrived and are not received yet, per exchange.
    pub fn high_water_bytes(mut self, bytes: usize) -> Self {
        self.options.receive_bytes_max = bytes;
        self
    }

    /// Opens the queue. A global queue waits for the directory.
    pub fn open(self) -> Result<Queue, OpenError> {
        let pull = Pull::with_options(&self.component.inner.context, self.options.clone());
        let pull = pull.map_err(|source| OpenError::Socket { name: self.name.clone(), source })?;
        let object = self.open_object(Plug::Queue(pull.clone()))?;
        Ok(Queue { name: self.name.into(), object, pull })
    }
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
