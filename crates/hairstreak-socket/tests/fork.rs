//! A process that has sockets forks: its child cannot use them, opens its own, ends, and the parent goes on as
//! if nothing had happened. A binary of its own: what a child inherits is the whole process.

#[path = "workbench/child.rs"]
mod child;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hairstreak_socket::monitor::{MonitorError, MonitorRecvError};
use hairstreak_socket::{
    BindError, ConnectError, Context, Options, Proxy, Pub, Pull, Push, RecvError, RunError, SendError, Sub,
    SubscribeError, WaitError,
};

use child::in_child;

const LONG: Duration = Duration::from_secs(60);

fn pair(transport: &str, context: &Context) -> (Push, Pull, String) {
    let pull = Pull::new(context).unwrap();
    let place = pull.bind(&place(transport)).unwrap().to_string();
    let push = Push::new(context).unwrap();
    push.connect(&place).unwrap();
    assert!(push.wait_for_peers(1, LONG));
    (push, pull, place)
}

fn place(transport: &str) -> String {
    let unique = format!("{transport}-{}-{:?}", std::process::id(), thread::current().id());
    match transport {
        "tcp" => "tcp://127.0.0.1:*".to_owned(),
        "ipc" => format!("ipc://{}/hs-fork-{unique}", std::env::temp_dir().display()),
        _ => format!("inproc://{unique}"),
    }
}

fn check_works(push: &Push, pull: &Pull) {
    for number in 0..1000u32 {
        push.send(&number.to_le_bytes()).unwrap();
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), number.to_le_bytes());
    }
}

fn check_refused(push: &Push, pull: &Pull) {
    assert_eq!(push.send(b"x"), Err(SendError::Forked));
    assert_eq!(push.send_timeout(b"x", LONG), Err(SendError::Forked));
    assert_eq!(push.try_send(b"x"), Err(SendError::Forked));
    assert_eq!(push.send_all([b"x"]).map_err(|error| error.source), Err(SendError::Forked));
    assert_eq!(pull.recv().unwrap_err(), RecvError::Forked);
    assert_eq!(pull.recv_timeout(LONG).unwrap_err(), RecvError::Forked);
    assert_eq!(pull.try_recv().unwrap_err(), RecvError::Forked);
    assert_eq!(pull.recv_many(&mut Vec::new(), 8).unwrap_err(), RecvError::Forked);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(push.send_async(b"x")), Err(SendError::Forked));
    assert_eq!(runtime.block_on(pull.recv_async()).unwrap_err(), RecvError::Forked);
    assert!(matches!(pull.bind("tcp://127.0.0.1:*"), Err(BindError::Forked)));
    assert!(matches!(push.connect("tcp://127.0.0.1:1"), Err(ConnectError::Forked)));
    assert!(!push.disconnect("tcp://127.0.0.1:1") && !push.wait_for_peers(1, LONG));
    assert!(push.peers().is_empty());
    assert_eq!(push.monitor().unwrap_err(), MonitorError::Forked);
    assert_eq!((push.stats(), push.trouble()), Default::default());
    let text = "the socket belongs to the process that this one was forked from";
    assert_eq!(push.send(b"x").unwrap_err().to_string(), text);
    push.flush();
}

#[test]
fn a_parents_sockets_are_refused_in_a_child_and_work_on_in_the_parent() {
    for transport in ["tcp", "ipc", "inproc"] {
        let (push, pull, place) = pair(transport, &Context::new());
        check_works(&push, &pull);
        let monitor = push.monitor().unwrap();
        push.send(b"on its way").unwrap();
        let well = in_child(|| {
            check_refused(&push, &pull);
            assert_eq!(monitor.recv().unwrap_err(), MonitorRecvError::Forked);
            assert_eq!(monitor.try_recv().unwrap_err(), MonitorRecvError::Forked);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            assert_eq!(runtime.block_on(monitor.recv_async()).unwrap_err(), MonitorRecvError::Forked);
            push.clone().close();
        });
        assert!(well, "{transport}");
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"on its way");
        check_works(&push, &pull);
        // Its listener is there, its file too, and its background thread still looks after it.
        let late = Push::new(&Context::new()).unwrap();
        late.connect(&place).unwrap();
        late.send(b"late").unwrap();
        drop(late);
        assert_eq!(pull.recv_timeout(LONG).unwrap().body(), b"late");
    }
}

#[test]
fn a_parents_subscriptions_are_its_own() {
    for transport in ["tcp", "ipc", "inproc"] {
        let context = Context::new();
        let (publisher, subscriber) = (Pub::new(&context).unwrap(), Sub::new(&context).unwrap());
        subscriber.connect(&publisher.bind(&place(transport)).unwrap().to_string()).unwrap();
        subscriber.subscribe("a").unwrap();
        assert!(publisher.wait_for_subscribers_to("a", 1, LONG));
        let well = in_child(|| {
            assert_eq!(subscriber.subscribe("b"), Err(SubscribeError::Forked));
            assert_eq!(subscriber.unsubscribe("a"), Err(SubscribeError::Forked));
            assert_eq!(publisher.send(b"a"), Err(SendError::Forked));
            assert!(!publisher.wait_for_subscribers(1, LONG));
            assert!(!publisher.wait_for_subscribers_to("a", 1, LONG));
        });
        assert!(well, "{transport}");
        publisher.send(b"a").unwrap();
        publisher.flush();
        assert_eq!(subscriber.recv_timeout(LONG).unwrap().body(), b"a");
    }
}

#[test]
fn a_parents_proxy_does_not_run_in_a_child() {
    let context = Context::new();
    let (frontend, backend) = (Pull::new(&context).unwrap(), Push::new(&context).unwrap());
    let [entrance, exit] = [frontend.bind(&place("in")), backend.bind(&place("out"))];
    let mut proxy = Proxy::new(&frontend, &backend).unwrap();
    let control = proxy.control();
    let well = in_child(|| {
        assert!(matches!(proxy.run(), Err(RunError::Wait(WaitError::Forked))));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(proxy.run_async());
        assert!(matches!(result, Err(RunError::Wait(WaitError::Forked))));
    });
    assert!(well);
    let running = thread::spawn(move || proxy.run());
    let (push, pull) = (Push::new(&Context::new()).unwrap(), Pull::new(&Context::new()).unwrap());
    push.connect(&entrance.unwrap().to_string()).unwrap();
    pull.connect(&exit.unwrap().to_string()).unwrap();
    check_works(&push, &pull);
    control.terminate();
    assert_eq!(running.join().unwrap().unwrap().backend.sent, 1000);
}

#[test]
fn a_child_that_drops_the_last_handle_leaves_the_parents_connection_alone() {
    for transport in ["tcp", "ipc", "inproc"] {
        let (mut push, mut pull, _) = pair(transport, &Context::new());
        check_works(&push, &pull);
        let mut handles = Some((push, pull));
        let well = in_child(|| drop(handles.take()));
        assert!(well, "{transport}");
        (push, pull) = handles.expect("the parent's are its own");
        check_works(&push, &pull);
    }
}

#[test]
fn a_child_has_sockets_of_its_own_and_talks_to_its_parent() {
    let context = Context::new();
    let (parents, pull, place) = pair("tcp", &context);
    let well = in_child(|| {
        for context in [&context, &Context::new()] {
            for transport in ["tcp", "ipc", "inproc"] {
                let (push, pull, _) = pair(transport, context);
                check_works(&push, &pull);
                // A receiver that sleeps is woken, in a thread of its own.
                let receiver = thread::spawn(move || pull.recv_timeout(LONG).unwrap().body().to_vec());
                push.send(b"wake up").unwrap();
                push.flush();
                assert_eq!(receiver.join().unwrap(), b"wake up");
            }
        }
        // Its child is no child of ours, and refuses in turn what is this one's.
        let (push, pull, _) = pair("tcp", &context);
        assert!(in_child(|| {
            check_refused(&push, &pull);
            check_refused(&parents, &pull);
            let (push, pull, _) = pair("tcp", &context);
            check_works(&push, &pull);
        }));
        check_works(&push, &pull);
        // Sent by the child's background thread while it exits.
        let options = Options { send_bytes_max: 64 << 20, ..Options::default() };
        let last = Push::with_options(&context, options).unwrap();
        last.connect(&place).unwrap();
        assert!(last.wait_for_peers(1, LONG));
        last.send(vec![1; 1 << 20].as_slice()).unwrap();
    });
    assert!(well);
    assert_eq!(pull.recv_timeout(LONG).unwrap().size(), 1 << 20);
    check_works(&parents, &pull);
}

#[test]
fn a_fork_amid_the_calls_of_other_threads_hangs_nowhere() {
    let over = AtomicBool::new(false);
    let context = Context::new();
    let pairs = ["tcp", "inproc"].map(|transport| pair(transport, &context));
    thread::scope(|scope| {
        for (push, pull, _) in &pairs {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let _ = push.send_timeout(b"busy", Duration::from_millis(1));
                }
            });
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let _ = pull.recv_timeout(Duration::from_millis(1));
                }
            });
        }
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                drop(pair("inproc", &Context::new()));
            }
        });
        for _ in 0..100 {
            let well = in_child(|| {
                pairs.iter().for_each(|(push, pull, _)| check_refused(push, pull));
                let (push, pull, _) = pair("inproc", &context);
                check_works(&push, &pull);
            });
            over.store(!well, Ordering::Relaxed);
            assert!(well);
        }
        over.store(true, Ordering::Relaxed);
    });
}
