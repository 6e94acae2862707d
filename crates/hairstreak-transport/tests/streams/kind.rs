//! The kinds of streams, and pairs of connected ends of each kind.

use std::io;
use std::sync::LazyLock;

use hairstreak_testkit::until;
use hairstreak_transport::shm::RING_SIZE_MIN;
use hairstreak_transport::vortex::{Fabric, FabricOptions, VortexAddress};
use hairstreak_transport::{ClientLayer, Endpoint, IpcAddress, Listener, ServerLayer, Stream};

use crate::certificate;
use crate::end::End;

/// The carrier of a stream's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tcp,
    Ipc,
    Rings,
    Vortex,
    Tls,
}

/// The name of the fabric of this process.
static FABRIC: LazyLock<String> = LazyLock::new(|| {
    let name = format!("streams-{}", std::process::id());
    let options = FabricOptions { heights: 4, angles: 2, ..FabricOptions::new(&name) };
    let mut fabric = Fabric::bind(&options).unwrap();
    std::thread::spawn(move || fabric.run().unwrap());
    name
});

/// A listener, and the place to connect to.
pub struct Place {
    pub listener: Listener,
    kind: Kind,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Tcp, Kind::Ipc, Kind::Rings, Kind::Vortex, Kind::Tls];

    pub fn listen(self) -> Place {
        let listener = match self {
            Kind::Tcp | Kind::Tls => Listener::bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap(),
            Kind::Ipc | Kind::Rings => Listener::bind_ipc(&some_name()).unwrap(),
            Kind::Vortex => {
                let rank = Some(fastrand::u32(..8));
                let address = VortexAddress { fabric: FABRIC.clone(), from: None, rank, port: 0 };
                return Place { listener: Listener::bind_vortex(&address).unwrap(), kind: self };
            }
        };
        Place { listener: listener.with_layer(self.server_layer()), kind: self }
    }

    pub fn server_layer(self) -> ServerLayer {
        match self {
            Kind::Tcp | Kind::Ipc | Kind::Vortex => ServerLayer::Plain,
            Kind::Rings => ServerLayer::Rings { ring_size_max: RING_SIZE_MIN },
            Kind::Tls => ServerLayer::Tls(certificate::server()),
        }
    }

    pub fn client_layer(self) -> ClientLayer {
        match self {
            Kind::Tcp | Kind::Ipc | Kind::Vortex => ClientLayer::Plain,
            Kind::Rings => ClientLayer::Rings { ring_size: RING_SIZE_MIN },
            Kind::Tls => ClientLayer::Tls(certificate::client()),
        }
    }

    /// Both ends of a connection, the connecting one first, established.
    pub fn ends(self) -> (End, End) {
        let (mut client, mut server) = self.listen().ends();
        until("both ends are established", || client.establish().unwrap() & server.establish().unwrap());
        (client, server)
    }
}

/// A place to connect to, with its configuration.
#[derive(Clone)]
pub struct Connector {
    endpoint: Endpoint,
    kind: Kind,
}

impl Connector {
    pub fn connect(&self) -> io::Result<Stream> {
        Ok(self.connect_plain()?.with_client_layer(&self.kind.client_layer()))
    }

    /// Connects without the layer between the socket and the bytes.
    pub fn connect_plain(&self) -> io::Result<Stream> {
        match &self.endpoint {
            Endpoint::Tcp(address) => {
                Stream::connect_tcp(format!("{}:{}", address.host, address.port).parse().unwrap())
            }
            Endpoint::Ipc(address) => Stream::connect_ipc(address),
            Endpoint::Vortex(address) => {
                Stream::connect_vortex(&VortexAddress { from: Some(fastrand::u32(..8)), ..address.clone() })
            }
            other => panic!("{other}"),
        }
    }
}

impl Place {
    pub fn connector(&self) -> Connector {
        Connector { endpoint: self.listener.endpoint().clone(), kind: self.kind }
    }

    pub fn connect(&self) -> Stream {
        self.connector().connect().unwrap()
    }

    /// The next accepted connection.
    pub fn accept(&self) -> Stream {
        until("a connection", || self.listener.accept().unwrap())
    }

    /// Both ends of a connection, the connecting one first, not established.
    pub fn ends(&self) -> (End, End) {
        let client = self.connect();
        (End::new(client), End::new(self.accept()))
    }
}

pub fn some_name() -> IpcAddress {
    IpcAddress::Abstract(format!("hairstreak-test-{}-{}", std::process::id(), fastrand::u64(..)))
}
