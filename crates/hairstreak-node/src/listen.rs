//! The listeners of AMQP: binds an endpoint, with the layer between its sockets and their bytes.

use hairstreak_transport::tls::TlsServer;
use hairstreak_transport::{Endpoint, Listener, ServerLayer, resolve_bind};

use crate::config::TlsConfig;
use crate::config::values::SCHEMES;
use crate::start_error::StartError;

/// The largest ring of a client's shared memory, in bytes in each direction.
pub(crate) const SHARED_RING_SIZE_MAX: usize = 1 << 20;

/// Binds an endpoint of AMQP.
///
/// Errors: the endpoint is malformed or of a scheme that AMQP is not served on, or the system refuses it.
pub(crate) fn listen(endpoint: &str) -> Result<Listener, StartError> {
    let failed = |reason: String| StartError::Listen { endpoint: endpoint.into(), reason };
    match endpoint.parse::<Endpoint>().map_err(|error| failed(error.to_string()))? {
        Endpoint::Tcp(address) => {
            let socket_address = resolve_bind(&address).map_err(|error| failed(error.to_string()))?;
            Listener::bind_tcp(socket_address, address.host == "*").map_err(|error| failed(error.to_string()))
        }
        Endpoint::Ipc(address) => Listener::bind_ipc(&address).map_err(|error| failed(error.to_string())),
        Endpoint::Vortex(address) => {
            Listener::bind_vortex(&address).map_err(|error| failed(error.to_string()))
        }
        Endpoint::Shm(address) => {
            let layer = ServerLayer::Rings { ring_size_max: SHARED_RING_SIZE_MAX };
            let listener = Listener::bind_shm(&address).map_err(|error| failed(error.to_string()))?;
            Ok(listener.with_layer(layer))
        }
        Endpoint::Inproc(_) => Err(failed(SCHEMES.into())),
    }
}

/// Binds the endpoints of AMQP with TLS. Also returns the configuration of their connections.
///
/// Errors: as [`listen`]; a certificate or a key cannot be used.
pub(crate) fn listen_tls(config: &TlsConfig) -> Result<(Vec<Listener>, TlsServer), StartError> {
    let server = TlsServer::load(&config.server_options())?;
    let layer = ServerLayer::Tls(server.clone());
    let listeners = config.bind.iter().map(|endpoint| Ok(listen(endpoint)?.with_layer(layer.clone())));
    Ok((listeners.collect::<Result<_, StartError>>()?, server))
}
