//! `Client`: a raw client of AMQP with one channel. Methods are sent without waiting, and answers are handed out in their order.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hairstreak_wire::amqp::{
    FrameKind, Method, PROTOCOL_HEADER, Properties, basic, channel, connection, decode_frame,
    encode_content_header,
};

/// The only channel.
pub const CHANNEL: u16 = 1;
/// The largest frame in bytes.
const FRAME_SIZE: u32 = 131_072;
/// A time limit that only a hanging node reaches.
const PATIENCE: Duration = Duration::from_secs(60);
/// A node that takes no bytes for this time has stopped reading.
const STUCK: Duration = Duration::from_secs(1);

pub struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    used: usize,
}

/// A method of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub name: &'static str,
    /// The routing key of a message that came back, or the text of a close.
    pub text: String,
}

impl Answer {
    fn of(method: &Method<'_>) -> Answer {
        let text = match method {
            Method::BasicReturn(back) => String::from_utf8_lossy(back.routing_key).into_owned(),
            Method::ChannelClose(close) => format!("{} {}", close.reply_code, show(close.reply_text)),
            Method::ConnectionClose(close) => format!("{} {}", close.reply_code, show(close.reply_text)),
            _ => String::new(),
        };
        Answer { name: method.name(), text }
    }
}

fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The bytes of a method on the channel.
pub fn encoded(method: &Method<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    method.encode(CHANNEL, &mut out);
    out
}

impl Client {
    /// A client of the virtual host `/`, with an open channel.
    pub fn connect(place: &str) -> io::Result<Client> {
        Client::log_in(place, b"/", b"guest")
    }

    /// A user whose password is the name.
    pub fn log_in(place: &str, virtual_host: &[u8], user: &[u8]) -> io::Result<Client> {
        let stream = TcpStream::connect(place)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut client = Client { stream, input: Vec::new(), used: 0 };
        let response = [&[0], user, &[0], user].concat();
        let start_ok = connection::StartOk { mechanism: b"PLAIN", response: &response, ..Default::default() };
        let tune_ok = connection::TuneOk { channel_max: 20, frame_max: FRAME_SIZE, heartbeat: 0 };
        let mut out = PROTOCOL_HEADER.to_vec();
        Method::ConnectionStartOk(start_ok).encode(0, &mut out);
        Method::ConnectionTuneOk(tune_ok).encode(0, &mut out);
        Method::ConnectionOpen(connection::Open { virtual_host }).encode(0, &mut out);
        out.extend(encoded(&Method::ChannelOpen(channel::Open {})));
        client.send(&out)?;
        loop {
            let answer = client.answer()?;
            match answer.name {
                "channel.open-ok" => return Ok(client),
                "connection.close" => return Err(io::Error::other(answer.text)),
                _ => {}
            }
        }
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends bytes. Returns `false` if the node does not take them.
    pub fn send_until_stuck(&mut self, bytes: &[u8]) -> bool {
        self.stream.set_write_timeout(Some(STUCK)).unwrap();
        match self.stream.write_all(bytes) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                false
            }
        }
    }

    /// Sends a method, and waits for its answer.
    pub fn ask(&mut self, method: &Method<'_>) -> io::Result<Answer> {
        self.send(&encoded(method))?;
        self.answer()
    }

    /// Sends a method. Returns `true` unless the answer is an error. After an error of the channel the channel is opened again.
    pub fn is_granted(&mut self, method: &Method<'_>) -> Result<(), String> {
        let answer = self.ask(method).unwrap();
        match answer.name {
            "channel.close" => {
                self.send(&encoded(&Method::ChannelCloseOk(channel::CloseOk {}))).unwrap();
                assert_eq!(self.ask(&Method::ChannelOpen(channel::Open {})).unwrap().name, "channel.open-ok");
                Err(answer.text)
            }
            "connection.close" => Err(answer.text),
            _ => Ok(()),
        }
    }

    /// The next method of the node. Contents are skipped.
    pub fn answer(&mut self) -> io::Result<Answer> {
        loop {
            let frame =
                decode_frame(&self.input[self.used..], FRAME_SIZE as usize).map_err(io::Error::other)?;
            let Some(frame) = frame else {
                self.receive()?;
                continue;
            };
            let size = frame.size();
            let answer = match frame.kind {
                FrameKind::Method => {
                    Some(Answer::of(&Method::decode(frame.payload).map_err(io::Error::other)?))
                }
                _ => None,
            };
            self.used += size;
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }

    /// Publishes empty messages. Returns the routing keys of the messages that went to no queue.
    pub fn unroutable(&mut self, exchange: &str, keys: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for key in keys {
            let publish = basic::Publish {
                exchange: exchange.as_bytes(),
                routing_key: key.as_bytes(),
                mandatory: true,
                ..Default::default()
            };
            Method::BasicPublish(publish).encode(CHANNEL, &mut out);
            let mut properties = Vec::new();
            Properties::default().encode(&mut properties);
            encode_content_header(CHANNEL, 0, &properties, &mut out);
        }
        out.extend(encoded(&Method::BasicQos(basic::Qos::default())));
        self.send(&out).unwrap();
        let mut back = Vec::new();
        loop {
            let answer = self.answer().unwrap();
            match answer.name {
                "basic.return" => back.push(answer.text),
                "basic.qos-ok" => return back,
                _ => panic!("{exchange}: {answer:?}"),
            }
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        self.input.drain(..self.used);
        self.used = 0;
        let mut buffer = [0; 65_536];
        match self.stream.read(&mut buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            size => {
                self.input.extend_from_slice(&buffer[..size]);
                Ok(())
            }
        }
    }
}
