//! Sockets that are connected when a test begins.

use hairstreak_socket::{Context, Options, Pattern, Pull, Push, Socket};

use crate::LONG;
use crate::endpoints::endpoint;

/// Two sockets, connected.
pub fn joined<A: Pattern, B: Pattern>(
    bound: &Context,
    connected: &Context,
    transport: &str,
    options: &Options,
) -> (Socket<A>, Socket<B>) {
    let a = Socket::<A>::with_options(bound, options.clone()).unwrap();
    let b = Socket::<B>::with_options(connected, options.clone()).unwrap();
    b.connect(&a.bind(&endpoint(transport)).unwrap().to_string()).unwrap();
    assert!(a.wait_for_peers(1, LONG) && b.wait_for_peers(1, LONG));
    (a, b)
}

/// A PULL in this context and a PUSH in an engine of its own.
pub fn pull_of(context: &Context, transport: &str) -> (Pull, Push) {
    joined(context, &Context::new(), transport, &Options::default())
}
