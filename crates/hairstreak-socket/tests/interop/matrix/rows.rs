//! The rows: every compatible pair of types, ours and theirs, and what they talk.

use hairstreak_socket::{Dealer, Pair, Pub, Pull, Push, Rep, Req, Router, Sub, XPub, XSub};

use super::cell::check;
use super::ours::{both, open, publisher, receiver, sender, subscriber};
use super::talk::{OUTSTANDING_COUNT, Talk};

const REQ_ASKS: Talk = Talk::Ask { envelope: &[], outstanding_count: 1 };
const PLAIN_ASK: Talk = ask(&[]);
const ECHO: Talk = Talk::Echo { they_ask_rep: false };
const HEAR: Talk = Talk::Receive { they_publish: true };

const fn ask(envelope: &'static [&'static str]) -> Talk {
    Talk::Ask { envelope, outstanding_count: OUTSTANDING_COUNT }
}

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
    req_asks_rep: both(Req), "rep", REQ_ASKS;
    req_asks_router: both(Req), "router", REQ_ASKS;
    rep_answers_req: both(Rep), "req", ECHO;
    rep_answers_dealer: both(Rep), "dealer", Talk::Echo { they_ask_rep: true };
    dealer_asks_rep: both(Dealer), "rep", ask(&[""]);
    dealer_asks_dealer: both(Dealer), "dealer", PLAIN_ASK;
    dealer_answers_dealer: both(Dealer), "dealer", ECHO;
    dealer_asks_router: both(Dealer), "router", PLAIN_ASK;
    router_answers_req: both(Router), "req", ECHO;
    router_answers_dealer: both(Router), "dealer", ECHO;
    router_asks_dealer: both(Router), "dealer", ask(&["them"]);
    router_asks_router: both(Router), "router", ask(&["them"]);
    pub_to_sub: publisher(Pub), "sub", Talk::Send;
    pub_to_xsub: publisher(Pub), "xsub", Talk::Send;
    xpub_to_sub: publisher(XPub), "sub", Talk::Send;
    xpub_to_xsub: publisher(XPub), "xsub", Talk::Send;
    sub_from_pub: subscriber(Sub), "pub", HEAR;
    sub_from_xpub: subscriber(Sub), "xpub", HEAR;
    xsub_from_pub: subscriber(XSub), "pub", HEAR;
    xsub_from_xpub: subscriber(XSub), "xpub", HEAR;
}
