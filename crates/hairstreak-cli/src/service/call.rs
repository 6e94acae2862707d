//! `hairstreak call`: one request, and its reply on standard output.

use std::io::{Read, stdin};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use hairstreak::service::{Client, ClientError, ClientOptions};
use hairstreak::{Credentials, Message};

use super::arguments::CallArguments;
use crate::failure::Failure;
use crate::output::{announce, note};

/// The time in which a running broker answers.
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
    let credentials = arguments.credentials.credentials()?;
    let client = open(&arguments.brokers.list(), credentials, arguments.timeout)?;
    let replies = client.stream(&arguments.service, body).map_err(Failure::usage)?;
    match client.uses_hsn1(GREETING_TIME.min(arguments.timeout)) {
        Some(true) => {}
        Some(false) => {
            note("hairstreak: the broker does not number requests: one that is repeated may be done twice\n")
        }
        // It has refused.
        None if client.open_count() == 0 => {}
        None => note(&format!("hairstreak: waiting for a broker at {}\n", client.broker())),
    }
    for reply in replies {
        let reply = reply.map_err(|error| Failure::failed(format!("{}: {error}", arguments.service)))?;
        print(&reply, arguments.raw)?;
    }
    Ok(())
}

/// A client of the first broker in the list that answers.
pub fn open(brokers: &[&str], credentials: Credentials, timeout: Duration) -> Result<Client, Failure> {
    let options = ClientOptions { credentials, timeout: Some(timeout), ..ClientOptions::default() };
    Client::with_options(brokers, options).map_err(|error| match error {
        ClientError::Connect(_) | ClientError::NoBroker => Failure::usage(error),
        ClientError::Open(_) | ClientError::Random(_) => Failure::failed(error),
    })
}

fn print(reply: &Message, is_raw: bool) -> Result<(), Failure> {
    let mut bytes = reply.frames().collect::<Vec<_>>().concat();
    if !is_raw {
        bytes.push(b'\n');
    }
    announce(&bytes)
}
