//! Reply codes: numbers, names, scopes, texts.

use hairstreak_wire::amqp::{ReplyCode, Scope};

#[test]
fn soft_errors_close_the_channel_and_the_others_the_connection() {
    let soft: Vec<u16> = ReplyCode::ALL
        .iter()
        .filter(|code| code.scope() == Scope::Channel)
        .map(|code| code.number())
        .collect();
    assert_eq!(soft, [200, 311, 312, 313, 403, 404, 405, 406]);
}

#[test]
fn each_code_is_found_by_its_number() {
    for code in ReplyCode::ALL {
        assert_eq!(ReplyCode::from_number(code.number()), Some(*code));
    }
    assert_eq!(ReplyCode::ALL.len(), 19);
    assert_eq!(ReplyCode::from_number(404).map(ReplyCode::name), Some("NOT_FOUND"));
    assert_eq!(ReplyCode::from_number(500), None);
}

#[test]
fn a_reply_text_fits_a_short_string() {
    let text = ReplyCode::NotFound.reply_text("no queue 'q' in vhost '/'");
    assert_eq!(text, b"NOT_FOUND - no queue 'q' in vhost '/'");
    let before = "NOT_FOUND - ".len();
    assert_eq!(ReplyCode::NotFound.reply_text(&"x".repeat(255 - before)).len(), 255);
    let cut = ReplyCode::NotFound.reply_text(&"x".repeat(256 - before));
    assert_eq!(cut.len(), 255);
    assert!(cut.ends_with(b"xx..."));
}
