//! Notices of libzmq peers that come, go, and are killed.

use hairstreak_socket::{Context, Message, Options, Router, RouterNotify};

use crate::LONG;
use crate::endpoints::endpoint;
use crate::script::Script;

#[test]
fn a_router_is_told_of_pyzmq_dealers() {
    for transport in ["tcp", "ipc"] {
        let router_notify = RouterNotify { connect: true, disconnect: true };
        let options = Options { router_notify, ..Options::default() };
        let router = Router::with_options(&Context::new(), options).unwrap();
        let place = router.bind(&endpoint(transport)).unwrap().to_string();
        for is_killed in [false, true] {
            let mut dealer = Script::python("properties.py", ["connect", &place, "-", "-", "-"]);
            let coming = router.recv_timeout(LONG).unwrap();
            let name = coming.frame(0).unwrap();
            assert_eq!(coming.frames().collect::<Vec<_>>(), [name, b""]);
            let question = Message::from_frames([name, b"a question"]);
            assert_eq!(router.recv_timeout(LONG), Ok(question));
            router.send_timeout(&[name, b"an answer"], LONG).unwrap();
            router.flush();
            dealer.hear("told");
            if is_killed {
                drop(dealer);
            } else {
                dealer.finish();
            }
            assert_eq!(router.recv_timeout(LONG), Ok(coming), "{transport}, killed: {is_killed}");
        }
    }
}
