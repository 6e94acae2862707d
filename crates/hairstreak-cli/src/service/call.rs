//! `hairstreak call`: one request, and its reply on standard output.

use std::io::{Read, Write, stdin, stdout};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use hairstreak::Message;
use hairstreak::service::{Client, ClientError, ClientOptions};

use super::arguments::CallArguments;
use crate::failure::Failure;
use crate::output::note;

/// A broker that is there says so sooner than this.
const GREETING_TIME: Duration = Duration::from_millis(500);

pub fn call(arguments: &CallArguments) -> Result<(), Failure> {
    let body = match &arguments.body {
        Some(body) => body.as_bytes().to_vec(),
        None => {
            let mut body = Vec::new();
            let read = stdin().lock().read_to_end(&mut body);
            read.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
            body
        }
    };
    let client = open(&arguments.brokers.list(), arguments.timeout)?;
    match client.is_numbered(GREETING_TIME) {
        Some(true) => {}
        Some(false) => {
            note("hairstreak: the broker does not number requests: one that is lost is not repeated\n")
        }
        None => note(&format!("hairstreak: waiting for a broker at {}\n", client.broker())),
    }
    let replies = client.stream(&arguments.service, body).map_err(Failure::usage)?;
    for reply in replies {
        let reply = reply.map_err(|error| Failure::failed(format!("{}: {error}", arguments.service)))?;
        print(&reply, arguments.raw)?;
    }
    Ok(())
}

/// A client of the first of these brokers that answers.
pub fn open(brokers: &[&str], timeout: Duration) -> Result<Client, Failure> {
    let options = ClientOptions { timeout: Some(timeout), ..ClientOptions::default() };
    Client::with_options(brokers, options).map_err(|error| match error {
        ClientError::Connect(_) | ClientError::NoBroker => Failure::usage(error),
        ClientError::Open(_) | ClientError::Random(_) => Failure::failed(error),
    })
}

fn print(reply: &Message, is_raw: bool) -> Result<(), Failure> {
    let mut output = stdout().lock();
    let newline: &[u8] = if is_raw { b"" } else { b"\n" };
    let frames = reply.frames().try_for_each(|frame| output.write_all(frame));
    let done = frames.and_then(|()| output.write_all(newline)).and_then(|()| output.flush());
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::quiet(0)),
        done => done.map_err(|error| Failure::failed(format!("cannot write to standard output: {error}"))),
    }
}
