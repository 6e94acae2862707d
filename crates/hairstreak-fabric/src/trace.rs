//! `Trace`: recorded packets, one in each line: `slot,from,to`.

use crate::traffic::Source;

/// Packets of all ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The packets of each port: slots, which go up, and destinations.
    ports: Vec<Vec<(u64, u32)>>,
}

/// A line that describes no packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TraceError {
    /// The number of the line, from 1 on.
    pub line: usize,
    /// The error.
    pub reason: String,
}

impl Trace {
    /// Reads a trace for a network of `port_count` ports. A line is `slot,from,to`. Empty lines and lines that begin with `#` are
    /// skipped. A port sends one packet in a slot: further packets of the same slot follow in the next slots.
    ///
    /// ```
    /// use hairstreak_fabric::trace::Trace;
    ///
    /// let trace = Trace::parse("# slot,from,to\n0,1,2\n0,1,3\n7,0,3\n", 4)?;
    /// assert_eq!(trace.sources().count(), 4);
    /// assert_eq!(Trace::parse("0,1,4", 4).unwrap_err().to_string(), "line 1: port 4, but the ports are 0 to 3");
    /// # Ok::<(), hairstreak_fabric::trace::TraceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TraceError`] names the line.
    pub fn parse(text: &str, port_count: u32) -> Result<Trace, TraceError> {
        let mut ports = vec![Vec::new(); port_count as usize];
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (slot, from, to) =
                packet(line, port_count).map_err(|reason| TraceError { line: index + 1, reason })?;
            ports[from as usize].push((slot, to));
        }
        ports.iter_mut().for_each(|packets| packets.sort_by_key(|(slot, _)| *slot));
        Ok(Trace { ports })
    }

    /// The slot of the last packet; `None` without packets.
    pub fn last_slot(&self) -> Option<u64> {
        self.ports.iter().filter_map(|packets| packets.last()).map(|(slot, _)| *slot).max()
    }

    /// The sources of all ports.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.ports.iter().enumerate().map(|(from, packets)| Source::recorded(from as u32, packets))
    }
}

fn packet(line: &str, port_count: u32) -> Result<(u64, u32, u32), String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [slot, from, to] = fields[..] else {
        return Err("three numbers are needed: slot,from,to".into());
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("\"{text}\" is no whole number"));
    let port = |text: &str| {
        let port = number(text)?;
        if port < u64::from(port_count) {
            Ok(port as u32)
        } else {
            Err(format!("port {port}, but the ports are 0 to {}", i64::from(port_count) - 1))
        }
    };
    Ok((number(slot)?, port(from)?, port(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_in_their_slots_and_one_in_a_slot() {
        let trace = Trace::parse("5,0,1\n2, 0, 3\n\n2,0,2\n", 4).unwrap();
        let mut source = trace.sources().next().unwrap();
        let drawn: Vec<_> = (0..7).map(|slot| source.draw(slot)).collect();
        assert_eq!(drawn, [None, None, Some(3), Some(2), None, Some(1), None]);
        assert_eq!(trace.last_slot(), Some(5));
    }

    #[test]
    fn a_line_that_is_no_packet_is_named() {
        for (text, reason) in [
            ("0,1", "line 1: three numbers are needed: slot,from,to"),
            ("0,1,2\n1,x,2", "line 2: \"x\" is no whole number"),
            ("-1,0,0", "line 1: \"-1\" is no whole number"),
            ("0,4,0", "line 1: port 4, but the ports are 0 to 3"),
        ] {
            assert_eq!(Trace::parse(text, 4).unwrap_err().to_string(), reason);
        }
    }
}
