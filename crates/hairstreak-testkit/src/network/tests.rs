//! The network by itself: arrivals, and the effects of a cut, a silence, a pause and a crash.

use std::time::Duration;

use fastrand::Rng;

use super::*;
use crate::trace::Trace;

const NOTICE_MAX: u64 = 50;
const QUICK: Path = Path { delay_min: 1, delay_max: 1, capacity: 1000, torn_chance: 0 };
const SLOW: Path = Path { delay_min: 0, delay_max: 100, capacity: 40, torn_chance: 50 };

type Sim = Simulator<NetworkEvent>;
type Streams = Network<char, (), Vec<u8>>;
type Packets = Network<char, (), Packet<u32>>;

fn sim(seed: u64) -> Sim {
    Simulator::new(Rng::with_seed(seed), Duration::from_millis(1), Trace::Off)
}

fn streams(loss: Loss, path: Path) -> Streams {
    let mut streams = Network::new(loss, NOTICE_MAX);
    streams.connect(['a', 'b'], (), [path; 2]);
    streams
}

fn packets(loss: Loss, path: Path) -> Packets {
    let mut packets = Network::new(loss, NOTICE_MAX);
    packets.connect(['a', 'b'], (), [path; 2]);
    packets
}

/// The messages with the time at which end 1 took them, and the ends that heard that the link is over.
type Outcome = (Vec<(u64, u32)>, Vec<(u64, usize)>);

/// Everything that happens until nothing does.
fn run(sim: &mut Sim, packets: &mut Packets) -> Outcome {
    let (mut taken, mut over) = (Vec::new(), Vec::new());
    while let Some(event) = sim.next() {
        let (link, end) = event.place();
        match event {
            NetworkEvent::Over { .. } => over.push((sim.now(), end)),
            NetworkEvent::Arrive { .. } if packets.reads_now(sim, link, end) => {
                taken.extend(packets.receive(sim, link, end).map(|message| (sim.now(), message)));
            }
            NetworkEvent::Arrive { .. } => {}
        }
    }
    (taken, over)
}

/// Writes these bytes as the stream takes them, and cuts the link after `cut_after` events. Returns the bytes that arrived.
fn pour(seed: u64, bytes: &[u8], cut_after: usize) -> Vec<u8> {
    let (mut sim, mut streams) = (sim(seed), streams(Loss::Tail, SLOW));
    let mut written = streams.write(&mut sim, 0, 0, bytes);
    let (mut read, mut count) = (Vec::new(), 0);
    while let Some(event) = sim.next() {
        let NetworkEvent::Arrive { link, end: 1 } = event else { continue };
        read.extend(streams.read(&sim, link, 1));
        written += streams.write(&mut sim, 0, 0, &bytes[written..]);
        let under_way = written - read.len();
        count += 1;
        if count == cut_after {
            streams.cut(&mut sim, 0);
        }
        assert!(under_way <= SLOW.capacity || count > cut_after, "{under_way} bytes under way");
    }
    read
}

#[test]
fn bytes_arrive_in_order_however_late_and_torn() {
    let bytes: Vec<u8> = (0..255).collect();
    for seed in 0..200 {
        assert_eq!(pour(seed, &bytes, usize::MAX), bytes, "seed {seed}");
    }
}

#[test]
fn of_bytes_that_are_cut_a_prefix_arrives() {
    let bytes: Vec<u8> = (0..255).collect();
    let read: Vec<Vec<u8>> = (0..200).map(|seed| pour(seed, &bytes, 3)).collect();
    assert!(read.iter().all(|read| bytes.starts_with(read) && read.len() < bytes.len()));
    let sizes: std::collections::BTreeSet<usize> = read.iter().map(Vec::len).collect();
    assert!(sizes.len() > 10, "each seed cuts elsewhere: {sizes:?}");
}

#[test]
fn a_stream_takes_what_it_has_room_for_and_everything_once_it_is_silent() {
    let (mut sim, mut streams) = (sim(0), streams(Loss::Tail, SLOW));
    assert_eq!(streams.write(&mut sim, 0, 0, &[7; 41]), 40);
    assert_eq!(streams.write(&mut sim, 0, 0, &[7; 41]), 0);
    assert_eq!(streams.write(&mut sim, 0, 1, &[8; 10]), 10);
    streams.silence(&mut sim, 0, 0);
    assert_eq!(streams.write(&mut sim, 0, 0, &[7; 41]), 41);
    assert_eq!(streams.write(&mut sim, 0, 1, &[8; 41]), 30);
}

#[test]
fn messages_arrive_in_order_within_their_delay_of_the_one_before() {
    for seed in 0..100 {
        let (mut sim, mut packets) = (sim(seed), packets(Loss::All, SLOW));
        (0..40).for_each(|message| packets.send(&mut sim, 0, 0, message).unwrap());
        assert_eq!(packets.send(&mut sim, 0, 0, 40), Err(Full));
        let (taken, over) = run(&mut sim, &mut packets);
        assert_eq!(taken.iter().map(|(_, message)| *message).collect::<Vec<_>>(), Vec::from_iter(0..40));
        assert!(taken.is_sorted() && taken.iter().all(|(time, _)| *time <= SLOW.delay_max));
        assert_eq!(over, []);
        assert_eq!(packets.send(&mut sim, 0, 0, 40), Ok(()), "there is room again");
    }
}

#[test]
fn links_overtake_each_other() {
    let overtakes = |seed| {
        let (mut sim, mut packets) = (sim(seed), packets(Loss::All, SLOW));
        let second = packets.connect(['a', 'b'], (), [SLOW; 2]);
        packets.send(&mut sim, 0, 0, 1).unwrap();
        packets.send(&mut sim, second, 0, 2).unwrap();
        run(&mut sim, &mut packets).0[0].1 == 2
    };
    let count = (0..100).filter(|seed| overtakes(*seed)).count();
    assert!((20..80).contains(&count), "{count} of 100");
}

#[test]
fn a_cut_loses_what_is_under_way_and_each_end_hears_of_it_once_at_a_time_of_its_own() {
    let mut seen = Vec::new();
    for seed in 0..100 {
        let (mut sim, mut packets) = (sim(seed), packets(Loss::All, QUICK));
        packets.send(&mut sim, 0, 0, 1).unwrap();
        packets.cut(&mut sim, 0);
        packets.cut(&mut sim, 0);
        assert!(!packets[0].is_up() && packets[0].is_open(0) && packets[0].is_open(1));
        assert_eq!(packets.send(&mut sim, 0, 1, 2), Ok(()));
        let (taken, mut over) = run(&mut sim, &mut packets);
        assert_eq!(taken, []);
        assert!(over.iter().all(|(time, _)| *time <= NOTICE_MAX));
        seen.push(over[0].1);
        over.sort_by_key(|(_, end)| *end);
        assert_eq!(over.iter().map(|(_, end)| *end).collect::<Vec<_>>(), [0, 1]);
    }
    assert!(seen.contains(&0) && seen.contains(&1), "one end is always the first");
}

#[test]
fn a_loss_of_the_tail_leaves_the_first_messages() {
    let counts: Vec<usize> = (0..200)
        .map(|seed| {
            let (mut sim, mut packets) = (sim(seed), packets(Loss::Tail, QUICK));
            (0..3).for_each(|message| packets.send(&mut sim, 0, 0, message).unwrap());
            packets.cut(&mut sim, 0);
            let taken = run(&mut sim, &mut packets).0;
            assert!(taken.iter().map(|(_, message)| *message).eq(0..taken.len() as u32), "{taken:?}");
            taken.len()
        })
        .collect();
    assert!((0..=3).all(|count| counts.contains(&count)), "{counts:?}");
}

#[test]
fn a_silent_direction_loses_everything_and_nobody_hears_of_it() {
    let (mut sim, mut packets) = (sim(0), packets(Loss::All, QUICK));
    packets.send(&mut sim, 0, 0, 1).unwrap();
    packets.silence(&mut sim, 0, 0);
    packets.send(&mut sim, 0, 0, 2).unwrap();
    packets.send(&mut sim, 0, 1, 3).unwrap();
    assert!(packets[0].is_up());
    assert_eq!(run(&mut sim, &mut packets), (vec![(1, 3)], vec![]));
}

#[test]
fn an_end_that_is_paused_reads_later_and_in_order() {
    let (mut sim, mut packets) = (sim(0), packets(Loss::All, Path { capacity: 3, ..QUICK }));
    packets.send(&mut sim, 0, 0, 1).unwrap();
    packets.pause(0, 1, 20);
    packets.send(&mut sim, 0, 0, 2).unwrap();
    assert_eq!(sim.next(), Some(NetworkEvent::Arrive { link: 0, end: 1 }));
    assert!(!packets.reads_now(&mut sim, 0, 1));
    packets.send(&mut sim, 0, 0, 3).unwrap();
    assert_eq!(packets.send(&mut sim, 0, 0, 4), Err(Full), "what is not read takes room");
    assert_eq!(run(&mut sim, &mut packets).0, [(20, 1), (20, 2), (20, 3)]);
}

#[test]
fn a_node_that_crashes_is_told_nothing_and_those_at_its_links_hear_of_it() {
    let (mut sim, mut packets) = (sim(0), packets(Loss::All, QUICK));
    let other = packets.connect(['c', 'a'], (), [QUICK; 2]);
    let apart = packets.connect(['c', 'b'], (), [QUICK; 2]);
    packets.send(&mut sim, 0, 1, 1).unwrap();
    packets.crash(&mut sim, 'a');
    assert!(!packets[0].is_open(0) && !packets[other].is_open(1) && packets[apart].is_up());
    let mut over = Vec::new();
    while let Some(event) = sim.next() {
        match event {
            NetworkEvent::Over { link, end } => over.push(packets[link].ends[end]),
            NetworkEvent::Arrive { link, end } => assert_eq!(packets.receive(&sim, link, end), None),
        }
    }
    over.sort_unstable();
    assert_eq!(over, ['b', 'c']);
}

#[test]
fn what_a_node_has_sent_before_it_leaves_arrives_before_the_link_is_over() {
    for seed in 0..50 {
        let (mut sim, mut packets) = (sim(seed), packets(Loss::Tail, SLOW));
        (0..3).for_each(|message| packets.send(&mut sim, 0, 0, message).unwrap());
        packets.send(&mut sim, 0, 1, 9).unwrap();
        packets.leave(&mut sim, 'a');
        packets.send(&mut sim, 0, 1, 9).unwrap();
        let (taken, over) = run(&mut sim, &mut packets);
        assert_eq!(taken.iter().map(|(_, message)| *message).collect::<Vec<_>>(), [0, 1, 2]);
        let [(time, 1)] = over[..] else { panic!("{over:?}") };
        assert!(taken.iter().all(|(taken_at, _)| *taken_at <= time));
    }
}
