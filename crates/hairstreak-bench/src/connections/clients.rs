//! The relay's clients, and the ends that its connections lead to, all in this process.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The body of a round trip.
const BODY_SIZE: usize = 64;

/// A client of the relay, and the far end of its way.
pub(super) struct Way {
    client: TcpStream,
    far: TcpStream,
}

impl Way {
    /// Connects through the relay at `relay`, which leads to `far`.
    pub fn open(relay: SocketAddr, far: &TcpListener) -> io::Result<Way> {
        let client = TcpStream::connect(relay)?;
        let (far, _) = far.accept()?;
        for end in [&client, &far] {
            end.set_nodelay(true)?;
        }
        Ok(Way { client, far })
    }

    /// Round trips, one at a time, for as long as `time`. Returns how many there were in a second.
    pub fn round_trips(&mut self, time: Duration) -> io::Result<f64> {
        let (start, mut count) = (Instant::now(), 0);
        let mut body = [0; BODY_SIZE];
        while start.elapsed() < time {
            self.client.write_all(&body)?;
            self.far.read_exact(&mut body)?;
            self.far.write_all(&body)?;
            self.client.read_exact(&mut body)?;
            count += 1;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    }
}
