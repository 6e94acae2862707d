//! `Source`: the source of the messages: one repeated message, or the messages of a stream.

use std::fs::File;
use std::io::{self, Read, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use hairstreak_process::Splitter;

use super::arguments::FormArguments;
use crate::failure::Failure;

/// The largest message of a stream: RabbitMQ takes no larger ones.
const RECORD_BYTES_MAX: usize = 512 << 20;
/// The size of one read, if the input is a single message.
const READ_SIZE: usize = 128 * 1024;

/// The source of the messages.
pub struct Source {
    /// The unread rest of the input.
    input: Option<File>,
    name: String,
    form: Form,
    /// The number of the last message.
    number: u64,
}

enum Form {
    One { body: Vec<u8>, left: u64 },
    Many(Splitter),
}

/// The next message.
pub enum Next<'a> {
    Message {
        number: u64,
        bytes: &'a [u8],
    },
    /// More input has to be read first.
    Wait,
    End,
}

impl Source {
    pub fn open(arguments: &FormArguments) -> Result<Source, Failure> {
        let form = match arguments.framing() {
            Some(framing) => Form::Many(Splitter::new(framing, RECORD_BYTES_MAX)),
            None => Form::One { body: Vec::new(), left: arguments.count },
        };
        let mut source = Source { input: None, name: "standard input".into(), form, number: 0 };
        match (&arguments.body, &arguments.file) {
            (Some(body), _) => {
                source.form = Form::One { body: body.as_bytes().to_vec(), left: arguments.count };
            }
            (None, Some(path)) => {
                source.name = path.display().to_string();
                source.input = Some(File::open(path).map_err(|error| source.unreadable(&error))?);
            }
            (None, None) => {
                let opened = stdin().as_fd().try_clone_to_owned();
                source.input = Some(opened.map_err(|error| source.unreadable(&error))?.into());
            }
        }
        Ok(source)
    }

    /// The descriptor to wait for before the next read.
    pub fn input(&self) -> Option<BorrowedFd<'_>> {
        self.input.as_ref().map(AsFd::as_fd)
    }

    /// Reads once.
    pub fn read(&mut self) -> Result<(), Failure> {
        let Some(input) = &mut self.input else { return Ok(()) };
        let read = match &mut self.form {
            Form::One { body, .. } => read_some(input, body),
            Form::Many(splitter) => {
                let read = input.read(splitter.room());
                read.inspect(|&count| splitter.filled(count))
            }
        };
        match read {
            Ok(0) => self.input = None,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(self.unreadable(&error)),
        }
        Ok(())
    }

    pub fn next(&mut self) -> Result<Next<'_>, Failure> {
        let has_input = self.input.is_some();
        match &mut self.form {
            Form::One { .. } if has_input => Ok(Next::Wait),
            Form::One { left: 0, .. } => Ok(Next::End),
            Form::One { body, left } => {
                *left -= 1;
                self.number += 1;
                Ok(Next::Message { number: self.number, bytes: body })
            }
            Form::Many(splitter) => {
                let found = match splitter.next_record() {
                    Ok(None) if has_input => return Ok(Next::Wait),
                    Ok(None) => splitter.last(),
                    found => found,
                };
                self.number += 1;
                let name = &self.name;
                match found {
                    Ok(Some(record)) => {
                        Ok(Next::Message { number: self.number, bytes: splitter.bytes(&record) })
                    }
                    Ok(None) => Ok(Next::End),
                    Err(error) => Err(Failure::failed(format!("message {} of {name}: {error}", self.number))),
                }
            }
        }
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        Failure::failed(format!("cannot read {}: {error}", self.name))
    }
}

fn read_some(input: &mut File, body: &mut Vec<u8>) -> io::Result<usize> {
    let before = body.len();
    body.resize(before + READ_SIZE, 0);
    let read = input.read(&mut body[before..]);
    body.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}
