//! The report: one row for each server and kind of peer, and one for each size of batches of letters.

use serde::Serialize;

use super::mail::MailRow;
use crate::run::Run;
use crate::statistics::Spread;

/// A run of the benchmark.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub run: Run,
    pub rows: Vec<Row>,
    /// Letters between two event loops, by the size of their batches.
    pub mail: Vec<MailRow>,
}

/// What was measured of one server.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// `relay`, or `node` and the version of its peers.
    pub server: &'static str,
    /// Connections of the server.
    pub connection_count: usize,
    /// Connections that were made in a second, one after the other, handshake included.
    pub connects_per_s: f64,
    /// Bytes that the server has in memory for each.
    pub bytes_per_connection: f64,
    pub bytes_target: f64,
    /// Percent of a core that the server uses while nothing happens.
    pub idle_cpu_percent: f64,
    /// PINGs of the server in a second, of all peers.
    pub pings_per_s: Option<f64>,
    /// Round trips of one client in a second: alone, and beside the others.
    pub alone_per_s: Option<Spread>,
    pub beside_per_s: Option<Spread>,
}

impl Report {
    pub fn render(&self) -> String {
        let mut text = self.run.heading("connections");
        for row in &self.rows {
            text.push_str(&row.render());
        }
        text.push_str("letters between two event loops\n");
        for row in &self.mail {
            if let Some(each) = &row.ns_per_letter {
                text.push_str(&format!(
                    "  batches of {:4}  {:8.1} ns a letter   ({:.1} to {:.1})\n",
                    row.batch_size, each.median, each.min, each.max
                ));
            }
        }
        text
    }
}

impl Row {
    fn render(&self) -> String {
        let Row { server, connection_count, connects_per_s, bytes_per_connection, bytes_target, .. } = self;
        let mut text = format!(
            "{server}: {connection_count} connections, made at {connects_per_s:.0}/s\n  \
             memory       {bytes_per_connection:8.0} bytes for each   (at most {bytes_target:.0})\n  \
             idle         {:8.2} % of a core",
            self.idle_cpu_percent
        );
        if let Some(pings) = self.pings_per_s {
            text.push_str(&format!(", {pings:.0} PINGs/s"));
        }
        text.push('\n');
        if let (Some(alone), Some(beside)) = (&self.alone_per_s, &self.beside_per_s) {
            text.push_str(&format!(
                "  round trips  {:8.0}/s alone ({:.0} to {:.0}), {:.0}/s beside the others ({:.0} to {:.0}): {:.0} %   (at least 90)\n",
                alone.median,
                alone.min,
                alone.max,
                beside.median,
                beside.min,
                beside.max,
                100.0 * beside.median / alone.median
            ));
        }
        text
    }
}
