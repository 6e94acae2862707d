//! SASL: responses of real clients, and what is refused.

use hairstreak_wire::amqp::sasl::{Credentials, Login, Mechanism};
use hairstreak_wire::amqp::{DecodeError, ReplyCode};
use proptest::collection::vec;
use proptest::prelude::*;

const GUEST: Credentials<'_> = Credentials { user: b"guest", password: b"secret" };

#[test]
fn responses_have_the_bytes_that_clients_send() {
    let plain = b"\0guest\0secret";
    assert_eq!(Mechanism::Plain.encode(GUEST), plain);
    assert_eq!(Mechanism::Plain.decode(plain), Ok(GUEST));
    let amqplain = b"\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x06secret";
    assert_eq!(Mechanism::Amqplain.encode(GUEST), amqplain);
    assert_eq!(Mechanism::Amqplain.decode(amqplain), Ok(GUEST));
    let other_order = b"\x08PASSWORDS\0\0\0\x06secret\x01xV\x05LOGINS\0\0\0\x05guest";
    assert_eq!(Mechanism::Amqplain.decode(other_order), Ok(GUEST));
}

#[test]
fn mechanisms_are_found_by_their_names() {
    for mechanism in Mechanism::ALL {
        assert_eq!(Mechanism::from_name(mechanism.name().as_bytes()), Some(mechanism));
    }
    assert_eq!(Mechanism::from_name(b"plain"), None);
    assert_eq!(Mechanism::from_name(b"EXTERNAL"), Some(Mechanism::External));
    assert_eq!(Mechanism::from_name(b"ANONYMOUS"), Some(Mechanism::Anonymous));
}

#[test]
fn a_login_is_a_password_a_certificate_or_nothing() {
    assert_eq!(Mechanism::Plain.login(b"\0guest\0secret"), Ok(Login::Password(GUEST)));
    let amqplain = Mechanism::Amqplain.encode(GUEST);
    assert_eq!(Mechanism::Amqplain.login(&amqplain), Ok(Login::Password(GUEST)));
    for response in [&b""[..], b"guest", b"\0\xff"] {
        assert_eq!(Mechanism::External.login(response), Ok(Login::External { identity: response }));
        assert_eq!(Mechanism::Anonymous.login(response), Ok(Login::Anonymous { trace: response }));
    }
    for mechanism in Mechanism::ALL {
        let response = mechanism.encode(GUEST);
        assert_eq!(mechanism.decode(&response).is_ok(), mechanism.has_password(), "{mechanism:?}");
        assert_eq!(response.is_empty(), !mechanism.has_password(), "{mechanism:?}");
    }
}

#[test]
fn a_malformed_response_is_a_syntax_error() {
    let other_user = b"other\0guest\0secret";
    for response in [&b""[..], b"\0", b"\0guest", b"guest\0secret", b"\0guest\0secret\0", other_user] {
        let error = Mechanism::Plain.decode(response).unwrap_err();
        assert_eq!(error, DecodeError::Response { mechanism: "PLAIN" });
        assert_eq!(error.reply_code(), ReplyCode::SyntaxError);
    }
    let missing = [&b""[..], b"\x05LOGINS\0\0\0\x05guest", b"\x05LOGINt\0\x08PASSWORDS\0\0\0\0"];
    for response in missing {
        let error = Mechanism::Amqplain.decode(response).unwrap_err();
        assert_eq!(error, DecodeError::Response { mechanism: "AMQPLAIN" });
    }
    let error = Mechanism::Amqplain.decode(b"\x05LOGINS\0\0\0\xffguest").unwrap_err();
    assert_eq!(error.reply_code(), ReplyCode::SyntaxError);
}

#[test]
fn a_password_is_not_shown() {
    assert_eq!(format!("{GUEST:?}"), "Credentials of \"guest\"");
}

proptest! {
    #[test]
    fn credentials_come_back_as_they_were_encoded(
        user in vec(1..=u8::MAX, 0..300),
        password in vec(1..=u8::MAX, 0..300),
    ) {
        let credentials = Credentials { user: &user, password: &password };
        for mechanism in [Mechanism::Plain, Mechanism::Amqplain] {
            let response = mechanism.encode(credentials);
            prop_assert_eq!(mechanism.decode(&response), Ok(credentials));
        }
    }
}
