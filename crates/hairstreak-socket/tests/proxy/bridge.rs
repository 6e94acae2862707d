//! A proxy that runs in a thread of its own.

use std::thread::{self, JoinHandle};

use hairstreak_socket::{Context, Options, Pattern, Proxy, ProxyControl, ProxyStats, RunError, Socket};

use crate::LONG;
use crate::endpoints::endpoint;

pub struct Bridge<F: Pattern, B: Pattern> {
    pub frontend: Socket<F>,
    pub backend: Socket<B>,
    pub entrance: String,
    pub exit: String,
    pub control: ProxyControl,
    running: JoinHandle<Result<ProxyStats, RunError>>,
}

impl<F: Pattern, B: Pattern> Bridge<F, B> {
    /// Between two bound sockets that were opened in one thread.
    pub fn start(transport: &str, options: &Options) -> Bridge<F, B> {
        Bridge::start_with(transport, options, |_| ())
    }

    /// Something is done to the proxy before it runs.
    pub fn start_with(transport: &str, options: &Options, prepare: impl FnOnce(&mut Proxy)) -> Bridge<F, B> {
        let context = Context::new();
        let frontend = Socket::<F>::with_options(&context, options.clone()).unwrap();
        let backend = Socket::<B>::with_options(&context, options.clone()).unwrap();
        Bridge::between(frontend, backend, transport, prepare)
    }

    /// Between these, to be bound.
    pub fn between(
        frontend: Socket<F>,
        backend: Socket<B>,
        transport: &str,
        prepare: impl FnOnce(&mut Proxy),
    ) -> Bridge<F, B> {
        let entrance = frontend.bind(&endpoint(transport)).unwrap().to_string();
        let exit = backend.bind(&endpoint(transport)).unwrap().to_string();
        let mut proxy = Proxy::new(&frontend, &backend).unwrap();
        prepare(&mut proxy);
        let control = proxy.control();
        let running = thread::spawn(move || proxy.run());
        Bridge { frontend, backend, entrance, exit, control, running }
    }

    /// A socket of a peer, connected to the frontend.
    pub fn enter<P: Pattern>(&self, options: &Options) -> Socket<P> {
        connect(&self.entrance, options)
    }

    /// A socket of a peer, connected to the backend.
    pub fn leave<P: Pattern>(&self, options: &Options) -> Socket<P> {
        connect(&self.exit, options)
    }

    /// Has it end, and returns what has passed.
    pub fn end(self) -> ProxyStats {
        self.control.terminate();
        self.join().unwrap()
    }

    /// Waits for its end.
    pub fn join(self) -> Result<ProxyStats, RunError> {
        self.running.join().unwrap()
    }
}

fn connect<P: Pattern>(place: &str, options: &Options) -> Socket<P> {
    let socket = Socket::<P>::with_options(&Context::new(), options.clone()).unwrap();
    socket.connect(place).unwrap();
    assert!(socket.wait_for_peers(1, LONG));
    socket
}
