//! REQ and REP, and what they say to DEALER and ROUTER.

use hairstreak_socket::{Dealer, Message, Options, RecvError, Rep, Req, Router, SendError};
use hairstreak_testkit::until;

use crate::cell::{Cell, check, frames};
use crate::shapes::shapes;

#[test]
fn questions_and_answers_of_every_shape_alternate() {
    check(|cell| {
        let (req, rep): (Req, Rep) = cell.pair();
        for message in shapes() {
            cell.send(&req, &message);
            assert_eq!(cell.recv(&rep), message, "{cell:?}");
            cell.send(&rep, &message);
            assert_eq!(cell.recv(&req), message, "{cell:?}");
        }
        assert_eq!((req.stats().received, rep.stats().received), (42, 42));
    });
}

#[test]
fn calls_out_of_turn_are_refused() {
    check(|cell| {
        let (req, rep): (Req, Rep) = cell.pair();
        for _ in 0..2 {
            assert_eq!(cell.try_to_recv(&req), Err(RecvError::OutOfTurn));
            assert_eq!(cell.try_to_send(&rep, "unasked"), Err(SendError::OutOfTurn));
            cell.send(&req, "question");
            assert_eq!(cell.try_to_send(&req, "impatience"), Err(SendError::OutOfTurn));
            assert_eq!(cell.recv_text(&rep), "question");
            assert_eq!(cell.try_to_recv(&rep), Err(RecvError::OutOfTurn));
            cell.send(&rep, "answer");
            assert_eq!(cell.recv_text(&req), "answer");
        }
    });
}

#[test]
fn everybody_gets_the_answer_to_their_own_question() {
    check(|cell| {
        let reps: [Rep; 2] = [(); 2].map(|()| cell.open(Options::default()));
        let reqs: [Req; 3] = [(); 3].map(|()| cell.open(Options::default()));
        reqs.iter().for_each(|req| reps.iter().for_each(|rep| cell.join(req, rep)));
        for round in 0..6 {
            // Each REQ takes its REPs in turn, so that all ask the same one.
            let rep = &reps[round % 2];
            reqs.iter().enumerate().for_each(|(number, req)| cell.send(req, &format!("{number}")));
            for _ in &reqs {
                let question = cell.recv_text(rep);
                cell.send(rep, &format!("re:{question}"));
            }
            for (number, req) in reqs.iter().enumerate() {
                assert_eq!(cell.recv_text(req), format!("re:{number}"), "{cell:?}");
            }
        }
    });
}

#[test]
fn a_rep_keeps_the_envelope() {
    check(|cell| {
        let (dealer, rep): (Dealer, Rep) = cell.pair();
        for envelope in [
            &[][..],
            &["a"],
            &["a", "b", "a longer part of the envelope, longer than is held inline, by far"],
        ] {
            let wrap = |body: &[&str]| Message::from_frames([envelope, &[""], body].concat());
            cell.send(&dealer, &wrap(&["question", "", "two"]));
            assert_eq!(cell.recv(&rep), frames(["question", "", "two"]));
            cell.send(&rep, &frames(["answer", ""]));
            assert_eq!(cell.recv(&dealer), wrap(&["answer", ""]), "{cell:?}");
        }
    });
}

#[test]
fn a_request_without_a_delimiter_is_dropped_and_counted() {
    check(|cell| {
        let (dealer, rep): (Dealer, Rep) = cell.pair();
        cell.send(&dealer, "no delimiter");
        cell.send(&dealer, &frames(["still", "none"]));
        cell.send(&dealer, &frames(["nothing behind it", ""]));
        cell.send(&dealer, &frames(["", "good"]));
        assert_eq!(cell.recv_text(&rep), "good");
        let (stats, peer) = (rep.stats(), &rep.peers()[0]);
        assert_eq!((stats.received, stats.drops.unexpected), (1, 3));
        assert_eq!((peer.received, peer.drops.unexpected), (1, 3));
    });
}

/// A REQ with a question at the first of two ROUTERs; the name that each calls it by.
fn asked(cell: Cell, options: Options) -> (Req, [Router; 2], [Vec<u8>; 2]) {
    let req: Req = cell.open(options);
    let routers: [Router; 2] = [(); 2].map(|()| cell.open(Options::default()));
    routers.iter().for_each(|router| cell.join(&req, router));
    cell.send(&req, "question");
    let names = [0, 1].map(|which: usize| routers[which].peers()[0].routing_id.clone());
    (req, routers, names)
}

#[test]
fn only_the_peer_that_was_asked_may_answer() {
    check(|cell| {
        let (req, [asked, other], names) = asked(cell, Options::default());
        let question = cell.recv(&asked);
        assert!(question.frames().eq([&names[0][..], b"", b"question"]));
        cell.send(&other, &[&names[1][..], b"", b"forged"]);
        until("the forged answer is here", || {
            // It is dropped when it is looked at.
            let _ = req.try_recv().map(|answer| panic!("{cell:?}: {answer:?}"));
            req.stats().drops.unexpected == 1
        });
        cell.send(&asked, &[&names[0][..], b"no delimiter"]);
        cell.send(&asked, &[&names[0][..], b"", b"answer"]);
        assert_eq!(cell.recv_text(&req), "answer");
        assert_eq!((req.stats().received, req.stats().drops.unexpected), (1, 2));
    });
}

#[test]
fn a_numbered_request_takes_the_answer_of_its_number_only() {
    check(|cell| {
        let options = Options { req_relaxed: true, req_correlate: true, ..Options::default() };
        let (req, [first, second], _) = asked(cell, options);
        let question = cell.recv(&first);
        let early: Vec<Vec<u8>> = question.frames().map(<[u8]>::to_vec).collect();
        let [name, number, delimiter, _] = &early[..] else { panic!("{question:?}") };
        assert_eq!((number.len(), delimiter.len()), (4, 0));
        // Asked again, of the other; and once more, of the first.
        cell.send(&req, "other question");
        cell.send(&req, "question again");
        cell.recv(&second);
        let again = cell.recv(&first);
        assert_eq!(again.body(), b"question again");
        let new_number = again.frame(1).unwrap();
        cell.send(&first, &[&name[..], number, b"", b"late"]);
        cell.send(&first, &[&name[..], new_number, b"", b"in time"]);
        assert_eq!(cell.recv_text(&req), "in time");
        assert_eq!(req.stats().drops.unexpected, 1);
    });
}

#[test]
fn a_request_whose_peer_is_lost_fails_and_another_may_be_asked() {
    check(|cell| {
        let (req, [asked, other], _) = asked(cell, Options::default());
        asked.close();
        assert_eq!(cell.try_to_recv(&req), Err(RecvError::PeerLost));
        assert_eq!(cell.try_to_recv(&req), Err(RecvError::OutOfTurn));
        cell.send(&req, "question");
        let question = cell.recv(&other);
        cell.send(&other, &question);
        assert_eq!(cell.recv_text(&req), "question");
    });
}

#[test]
fn an_answer_that_came_before_its_peer_was_lost_is_received() {
    check(|cell| {
        let (req, rep): (Req, Rep) = cell.pair();
        cell.send(&req, "question");
        cell.recv(&rep);
        cell.send(&rep, "answer");
        rep.close();
        assert_eq!(cell.recv_text(&req), "answer", "{cell:?}");
    });
}

#[test]
fn an_answer_for_a_lost_peer_is_dropped_and_counted() {
    check(|cell| {
        let (req, rep): (Req, Rep) = cell.pair();
        cell.send(&req, "question");
        cell.recv(&rep);
        req.close();
        until("the peer is gone", || rep.peers().is_empty());
        cell.send(&rep, "answer");
        assert_eq!(rep.stats().drops.peer_lost, 1);
        assert_eq!(cell.try_to_send(&rep, "again"), Err(SendError::OutOfTurn));
    });
}

#[test]
fn what_does_not_answer_leaves_the_callers_message_alone() {
    check(|cell| {
        let (req, router): (Req, Router) = cell.pair();
        cell.send(&req, "question");
        let question = cell.recv(&router);
        let name = question.frame(0).unwrap();
        cell.send(&router, &Message::from_frames([name, b"an answer without its envelope"]));
        router.close();
        let mut kept = Message::from("kept");
        assert_eq!(req.recv_into(&mut kept), Err(RecvError::PeerLost), "{cell:?}");
        assert_eq!(kept, Message::from("kept"), "{cell:?}");
        assert_eq!(req.stats().drops.unexpected, 1, "{cell:?}");
    });
}
