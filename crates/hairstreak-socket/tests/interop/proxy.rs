//! Our proxy between pyzmq's sockets, and steered by one.

use std::thread;

use hairstreak_socket::pipeline::{PullPattern, PushPattern};
use hairstreak_socket::pubsub::{XPubPattern, XSubPattern};
use hairstreak_socket::reqrep::{DealerPattern, RouterPattern};
use hairstreak_socket::{Context, Pattern, Proxy, ProxyStats, Pub, Rep, Socket};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::script::Script;

const COUNT: u64 = 1000;

/// Runs a proxy over this transport while `with` has its entrance, its exit and the place to steer it from.
fn proxied<F: Pattern, B: Pattern>(transport: &str, with: impl FnOnce(&str, &str, &str)) -> ProxyStats {
    let context = Context::new();
    let (frontend, backend) = (Socket::<F>::new(&context).unwrap(), Socket::<B>::new(&context).unwrap());
    let steered = Rep::new(&context).unwrap();
    let entrance = frontend.bind(&endpoint(transport)).unwrap().to_string();
    let exit = backend.bind(&endpoint(transport)).unwrap().to_string();
    let wheel = steered.bind(&endpoint(transport)).unwrap().to_string();
    let mut proxy = Proxy::new(&frontend, &backend).unwrap();
    proxy.control_socket(&steered).unwrap();
    let control = proxy.control();
    let running = thread::spawn(move || proxy.run());
    with(&entrance, &exit, &wheel);
    control.terminate();
    running.join().unwrap().unwrap()
}

fn start(role: &str, place: &str, count: u64) -> Script {
    Script::python("proxied.py", [role, place, &count.to_string()])
}

fn finish(mut script: Script) {
    script.hear("done");
    script.finish();
}

#[test]
fn pyzmq_clients_and_workers_meet_at_a_queue() {
    for transport in ["tcp", "ipc"] {
        let stats = proxied::<RouterPattern, DealerPattern>(transport, |entrance, exit, _| {
            // The answers find who asked. No worker gets so many questions that it goes.
            let workers: Vec<_> = (0..3).map(|_| start("rep", exit, COUNT)).collect();
            let clients: Vec<_> = (0..3).map(|_| start("req", entrance, COUNT / 4)).collect();
            clients.into_iter().for_each(finish);
            drop(workers);
        });
        assert_eq!((stats.frontend.received, stats.frontend.sent), (COUNT / 4 * 3, COUNT / 4 * 3));
    }
}

#[test]
fn pyzmq_subscribers_hear_pyzmq_publishers_and_ours() {
    for transport in ["tcp", "ipc"] {
        let stats = proxied::<XSubPattern, XPubPattern>(transport, |entrance, exit, _| {
            let subscriber = start("sub", exit, COUNT);
            let mut publisher = start("pub", entrance, COUNT);
            publisher.hear("subscribed");
            finish(subscriber);
            finish(publisher);
        });
        assert_eq!((stats.frontend.received, stats.backend.sent), (COUNT, COUNT), "{transport}");

        proxied::<XSubPattern, XPubPattern>(transport, |entrance, exit, _| {
            let subscriber = start("sub", exit, COUNT);
            let publisher = Pub::new(&Context::new()).unwrap();
            publisher.connect(entrance).unwrap();
            assert!(publisher.wait_for_subscribers_to("topic", 1, LONG));
            for number in 0..COUNT {
                publisher.send(&[&b"topic"[..], number.to_string().as_bytes()]).unwrap();
            }
            publisher.flush();
            finish(subscriber);
        });
    }
}

#[test]
fn a_streamer_passes_pyzmq_messages_in_order() {
    for transport in ["tcp", "ipc"] {
        let stats = proxied::<PullPattern, PushPattern>(transport, |entrance, exit, _| {
            let (pull, push) = (start("pull", exit, COUNT), start("push", entrance, COUNT));
            finish(push);
            finish(pull);
        });
        assert_eq!((stats.frontend.received, stats.backend.sent), (COUNT, COUNT), "{transport}");
    }
}

#[test]
fn pyzmq_steers_a_proxy_by_the_words_of_libzmq() {
    for transport in ["tcp", "ipc"] {
        proxied::<PullPattern, PushPattern>(transport, |entrance, exit, wheel| {
            let mut steering = start("steer", wheel, 0);
            let mut say = |word: &str| {
                steering.say(word);
                if word == "STATISTICS" {
                    return steering.hear("numbers");
                }
                assert_eq!(steering.hear("heard"), "");
                String::new()
            };
            say("PAUSE");
            let push = start("push", entrance, 100);
            assert_eq!(say("STATISTICS"), "0 0 0 0 0 0 0 0");
            say("RESUME");
            finish(start("pull", exit, 100));
            finish(push);
            let numbers = say("STATISTICS");
            let numbers: Vec<u64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
            assert_eq!((numbers[0], numbers[6]), (100, 100));
            assert_eq!(numbers[1], numbers[7]);
            say("TERMINATE");
            steering.finish();
        });
    }
}
