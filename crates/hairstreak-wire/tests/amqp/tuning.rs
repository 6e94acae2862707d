//! Tuning: the agreement of both sides, and the refusals of a server.

use hairstreak_wire::amqp::{ReplyCode, Tuning, TuningError};
use proptest::prelude::*;

const SERVER: Tuning = Tuning { channel_max: 2047, frame_max: 131_072, heartbeat: 60 };

fn answer(channel_max: u16, frame_max: u32, heartbeat: u16) -> Tuning {
    Tuning { channel_max, frame_max, heartbeat }.answer(&SERVER.tune())
}

fn refused(channel_max: u16, frame_max: u32) -> String {
    let error = SERVER.settle(&Tuning { channel_max, frame_max, heartbeat: 0 }.tune_ok()).unwrap_err();
    assert_eq!(error.reply_code(), ReplyCode::NotAllowed);
    error.to_string()
}

#[test]
fn a_client_takes_the_lower_limit_and_the_only_one() {
    assert_eq!(answer(0, 0, 0), SERVER);
    assert_eq!(answer(65_535, 200_000, 580), SERVER);
    assert_eq!(answer(10, 8192, 5), Tuning { channel_max: 10, frame_max: 8192, heartbeat: 5 });
    assert_eq!(answer(10, 100, 5).frame_max, 4096);
    let unlimited = Tuning { channel_max: 0, frame_max: 0, heartbeat: 0 };
    assert_eq!(unlimited.answer(&unlimited.tune()), unlimited);
    assert_eq!(SERVER.answer(&unlimited.tune()), SERVER);
}

#[test]
fn a_server_takes_lower_limits_and_any_heartbeat() {
    for heartbeat in [0, 1, 60, 65_535] {
        let lower = Tuning { channel_max: 1, frame_max: 4096, heartbeat };
        assert_eq!(SERVER.settle(&lower.tune_ok()), Ok(lower));
        let equal = Tuning { heartbeat, ..SERVER };
        assert_eq!(SERVER.settle(&equal.tune_ok()), Ok(equal));
    }
    let unlimited = Tuning { channel_max: 0, frame_max: 0, heartbeat: 0 };
    assert_eq!(unlimited.settle(&unlimited.tune_ok()), Ok(unlimited));
    assert_eq!(unlimited.settle(&SERVER.tune_ok()), Ok(SERVER));
}

#[test]
fn a_server_refuses_other_limits_with_the_texts_of_rabbitmq() {
    let text = "negotiated frame_max = 4095 is lower than the minimum allowed value (4096)";
    assert_eq!(refused(1, 4095), text);
    let text = "negotiated frame_max = 131073 is higher than the maximum allowed value (131072)";
    assert_eq!(refused(1, 131_073), text);
    let text = "negotiated frame_max = 0 is higher than the maximum allowed value (131072)";
    assert_eq!(refused(1, 0), text);
    let text = "negotiated channel_max = 2048 is higher than the maximum allowed value (2047)";
    assert_eq!(refused(2048, 4096), text);
    let text = "negotiated channel_max = 0 (no limit) is higher than the maximum allowed value (2047)";
    assert_eq!(refused(0, 4096), text);
}

proptest! {
    #[test]
    fn a_server_takes_what_a_client_answers(client: (u16, u32, u16), server: (u16, u32, u16)) {
        let tuning = |(channel_max, frame_max, heartbeat)| Tuning { channel_max, frame_max, heartbeat };
        let server = Tuning { frame_max: server.1.max(4096), ..tuning(server) };
        let settled = tuning(client).answer(&server.tune());
        prop_assert_eq!(server.settle(&settled.tune_ok()), Ok::<_, TuningError>(settled));
    }
}
