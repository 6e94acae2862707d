//! STREAM with pyzmq's, which is libzmq's, whoever binds.

use hairstreak_socket::{Context, Stream};

use crate::script::Script;
use crate::{receive_bytes, receive_notice};

const COUNT: usize = 300;

fn check(join: impl Fn(&Stream) -> Script) {
    let stream = Stream::new(&Context::new()).unwrap();
    let mut script = join(&stream);
    let name = receive_notice(&stream);
    // It asks, and checks the echo.
    let sizes = (0..COUNT).map(|number| if number % 50 == 0 { 100_000 } else { 1 + number % 300 });
    for size in sizes {
        let bytes = receive_bytes(&stream, &name, size);
        stream.send(&[&name[..], &bytes]).unwrap();
        stream.flush();
    }
    script.hear("echoed");
    // It closes; then it waits for us to close the next one.
    assert_eq!(receive_notice(&stream), name);
    script.hear("closed");
    script.say("again");
    let name = receive_notice(&stream);
    assert_eq!(receive_bytes(&stream, &name, 5), b"hello");
    stream.send(&[&name[..], b"bye"]).unwrap();
    stream.send(&[&name[..], b""]).unwrap();
    script.hear("notified");
    script.finish();
}

#[test]
fn libzmq_connects() {
    check(|stream| {
        let place = stream.bind("tcp://127.0.0.1:*").unwrap();
        Script::python("plain.py", ["connect".to_owned(), place.to_string(), COUNT.to_string()])
    });
}

#[test]
fn libzmq_binds() {
    check(|stream| {
        let arguments = ["bind".to_owned(), "tcp://127.0.0.1:*".to_owned(), COUNT.to_string()];
        let mut script = Script::python("plain.py", arguments);
        stream.connect(&script.hear("bound")).unwrap();
        script
    });
}
