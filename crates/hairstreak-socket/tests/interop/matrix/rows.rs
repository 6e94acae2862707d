//! The rows: every compatible pair of types, ours and theirs, and what they talk.

use hairstreak_socket::{Dealer, Pair, Pub, Pull, Push, Rep, Req, Router, Sub, XPub, XSub};

use super::cell::check;
use super::ours::{both, open, publisher, receiver, sender, subscriber};
use super::talk::Talk;

const PLAIN_ASK: Talk = Talk::Ask { envelope: &[] };
const ECHO: Talk = Talk::Echo { they_ask_rep: false };
const HEAR: Talk = Talk::Receive { they_publish: true };

macro_rules! rows {
    ($($name:ident: $ours:ident($type:ty), $theirs:literal, $talk:expr;)*) => {
        $(#[test]
        fn $name() {
            check(|options| $ours(open::<<$type as Typed>::Pattern>(options)), $theirs, $talk);
        })*
    };
}

/// The pattern of a socket type.
trait Typed {
    type Pattern;
}

impl<P: hairstreak_socket::Pattern> Typed for hairstreak_socket::Socket<P> {
    type Pattern = P;
}

rows! {
    push_to_pull: sender(Push), "pull", Talk::Send;
    pull_from_push: receiver(Pull), "push", Talk::Receive { they_publish: false };
    pair_with_pair: both(Pair), "pair", PLAIN_ASK;
    pair_answers_pair: both(Pair), "pair", ECHO;
    req_asks_rep: both(Req), "rep", PLAIN_ASK;
    req_asks_router: both(Req), "router", PLAIN_ASK;
    rep_answers_req: both(Rep), "req", ECHO;
    rep_answers_dealer: both(Rep), "dealer", Talk::Echo { they_ask_rep: true };
    dealer_asks_rep: both(Dealer), "rep", Talk::Ask { envelope: &[""] };
    dealer_asks_dealer: both(Dealer), "dealer", PLAIN_ASK;
    dealer_answers_dealer: both(Dealer), "dealer", ECHO;
    dealer_asks_router: both(Dealer), "router", PLAIN_ASK;
    router_answers_req: both(Router), "req", ECHO;
    router_answers_dealer: both(Router), "dealer", ECHO;
    router_asks_dealer: both(Router), "dealer", Talk::Ask { envelope: &["them"] };
    router_asks_router: both(Router), "router", Talk::Ask { envelope: &["them"] };
    pub_to_sub: publisher(Pub), "sub", Talk::Send;
    pub_to_xsub: publisher(Pub), "xsub", Talk::Send;
    xpub_to_sub: publisher(XPub), "sub", Talk::Send;
    xpub_to_xsub: publisher(XPub), "xsub", Talk::Send;
    sub_from_pub: subscriber(Sub), "pub", HEAR;
    sub_from_xpub: subscriber(Sub), "xpub", HEAR;
    xsub_from_pub: subscriber(XSub), "pub", HEAR;
    xsub_from_xpub: subscriber(XSub), "xpub", HEAR;
}
