//! Messages in a stream of bytes: one message a line, or each message behind its length.

use std::io::{self, BufRead, Read, Write};

use super::definition::{Framing, MESSAGE_SIZE_MAX};

/// Writes one message. With [`Framing::Lines`], a newline inside would make it two messages. Callers look for newlines
/// where that matters.
pub(super) fn write_message(writer: &mut impl Write, framing: Framing, body: &[u8]) -> io::Result<()> {
    match framing {
        Framing::Lines => {
            writer.write_all(body)?;
            writer.write_all(b"\n")
        }
        Framing::Length => {
            let size = u32::try_from(body.len()).map_err(|_| too_large(body.len()))?;
            writer.write_all(&size.to_be_bytes())?;
            writer.write_all(body)
        }
    }
}

/// Reads the next message; `None` at the end of the stream. The last line may lack its newline.
pub(super) fn read_message(reader: &mut impl BufRead, framing: Framing) -> io::Result<Option<Vec<u8>>> {
    Ok(read_part(reader, framing)?.map(|(body, _)| body))
}

/// Reads the next message, and whether it is certainly complete: a line without its newline may be cut off.
pub(super) fn read_part(reader: &mut impl BufRead, framing: Framing) -> io::Result<Option<(Vec<u8>, bool)>> {
    match framing {
        Framing::Lines => read_line(reader),
        Framing::Length => Ok(read_sized(reader)?.map(|body| (body, true))),
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<Option<(Vec<u8>, bool)>> {
    let mut line = Vec::new();
    let limit = MESSAGE_SIZE_MAX + 1;
    reader.take(limit as u64).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some((line, true)));
    }
    if line.len() == limit {
        return Err(too_large(line.len()));
    }
    Ok((!line.is_empty()).then_some((line, false)))
}

fn read_sized(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    if reader.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut size = [0; 4];
    reader.read_exact(&mut size)?;
    let size = u32::from_be_bytes(size) as usize;
    if size > MESSAGE_SIZE_MAX {
        return Err(too_large(size));
    }
    let mut body = Vec::new();
    reader.take(size as u64).read_to_end(&mut body)?;
    if body.len() < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(body))
}

fn too_large(size: usize) -> io::Error {
    io::Error::other(format!("a message of {size} bytes or more, the most is {MESSAGE_SIZE_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut stream: &[u8], framing: Framing) -> io::Result<Vec<Vec<u8>>> {
        std::iter::from_fn(|| read_message(&mut stream, framing).transpose()).collect()
    }

    #[test]
    fn messages_come_back_as_they_were_written() {
        let messages: [&[u8]; 4] = [b"one", b"", b"\r", b"four \xff"];
        for framing in [Framing::Lines, Framing::Length] {
            let mut stream = Vec::new();
            for message in messages {
                write_message(&mut stream, framing, message).unwrap();
            }
            assert_eq!(read_all(&stream, framing).unwrap(), messages, "{framing:?}");
        }
    }

    #[test]
    fn the_last_line_may_lack_its_newline() {
        assert_eq!(read_all(b"a\nb", Framing::Lines).unwrap(), [b"a", b"b"]);
        assert_eq!(read_all(b"", Framing::Lines).unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_torn_or_oversized_length_is_an_error() {
        let claim = (MESSAGE_SIZE_MAX as u32 + 1).to_be_bytes();
        for stream in [&b"\0\0\0"[..], b"\0\0\0\x02a", &claim] {
            assert!(read_all(stream, Framing::Length).is_err(), "{stream:?}");
        }
        assert_eq!(read_all(b"\0\0\0\x01a", Framing::Length).unwrap(), [b"a"]);
    }
}
