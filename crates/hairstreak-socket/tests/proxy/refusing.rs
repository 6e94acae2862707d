//! Sockets that make no proxy, and messages that one end will not take.

use hairstreak_socket::reqrep::{DealerPattern, RouterPattern};
use hairstreak_socket::{
    Context, Dealer, Options, Proxy, ProxyEnd, ProxyError, Pub, Pull, Push, Rep, Req, Router, Sub, XPub,
};
use hairstreak_testkit::until_eq;

use crate::LONG;
use crate::bridge::Bridge;

#[test]
fn sockets_that_fit_no_proxy_are_refused() {
    let context = Context::new();
    let (push, pull) = (Push::new(&context).unwrap(), Pull::new(&context).unwrap());
    let (rep, req) = (Rep::new(&context).unwrap(), Req::new(&context).unwrap());
    let dealer = Dealer::new(&context).unwrap();
    assert!(matches!(Proxy::new(&push, &push), Err(ProxyError::NoWay { .. })));
    assert!(matches!(Proxy::new(&pull, &Sub::new(&context).unwrap()), Err(ProxyError::NoWay { .. })));
    let unfit = |result: Result<Proxy, ProxyError>, place: ProxyEnd| matches!(result, Err(ProxyError::Unfit { end, .. }) if end == place);
    assert!(unfit(Proxy::new(&rep, &dealer), ProxyEnd::Frontend));
    assert!(unfit(Proxy::new(&dealer, &req), ProxyEnd::Backend));
    let mut proxy = Proxy::new(&push, &pull).unwrap();
    assert!(matches!(proxy.capture(&req), Err(ProxyError::Unfit { end: ProxyEnd::Capture, .. })));
    let xpub = XPub::new(&context).unwrap();
    assert!(matches!(proxy.control_socket(&xpub), Err(ProxyError::Unfit { end: ProxyEnd::Control, .. })));
    let error = Proxy::new(&rep, &dealer).unwrap_err().to_string();
    assert_eq!(error, "a REP socket cannot be the frontend of a proxy");
    Proxy::new(&Sub::new(&context).unwrap(), &Pub::new(&context).unwrap()).unwrap();
}

#[test]
fn what_the_other_end_will_never_take_is_counted_and_the_rest_passes() {
    let context = Context::new();
    let small = Options { message_size_max: 1000, ..Options::default() };
    let frontend =
        Router::with_options(&context, Options { router_mandatory: true, ..Options::default() }).unwrap();
    let backend = Dealer::with_options(&context, small).unwrap();
    let bridge = Bridge::<RouterPattern, DealerPattern>::between(frontend, backend, "tcp", |_| ());
    let options = Options::default();
    let (client, server): (Dealer, Dealer) = (bridge.enter(&options), bridge.leave(&options));
    client.send_timeout(&[1; 2000], LONG).unwrap();
    client.send_timeout("small enough", LONG).unwrap();
    client.flush();
    let question = server.recv_timeout(LONG).unwrap();
    assert_eq!(question.body(), b"small enough");
    server.send_timeout(&[&b"nobody"[..], b"is called so"], LONG).unwrap();
    server.send_timeout(&question, LONG).unwrap();
    server.flush();
    assert_eq!(client.recv_timeout(LONG).unwrap().body(), b"small enough");
    until_eq("messages sent to the front", 1, || bridge.control.statistics().frontend.sent);
    let stats = bridge.end();
    assert_eq!((stats.refused, stats.frontend.received, stats.backend.received), (2, 2, 2));
}

#[test]
fn an_answer_to_a_client_that_is_gone_holds_nothing_up() {
    let options = Options::default();
    let bridge = Bridge::<RouterPattern, DealerPattern>::start("tcp", &options);
    let server: Dealer = bridge.leave(&options);
    for _ in 0..20 {
        let gone: Dealer = bridge.enter(&options);
        gone.send_timeout("question", LONG).unwrap();
        gone.flush();
        let question = server.recv_timeout(LONG).unwrap();
        drop(gone);
        server.send_timeout(&question, LONG).unwrap();
    }
    let stays: Dealer = bridge.enter(&options);
    stays.send_timeout("question", LONG).unwrap();
    stays.flush();
    let question = server.recv_timeout(LONG).unwrap();
    server.send_timeout(&question, LONG).unwrap();
    server.flush();
    assert_eq!(stays.recv_timeout(LONG).unwrap().body(), b"question");
    bridge.end();
}
