//! `Reports`: a sink's reports of done tasks to its ventilator, which open the window at once. Settlements by way of
//! the workers then come in bulk.

use std::net::IpAddr;

use hairstreak_socket::settlement::TaskId;
use hairstreak_socket::{ConnectError, Context, Endpoint, Pull};

use super::error::PipelineError;
use super::options::PipelineOptions;

/// Largest number of runs of done tasks that are not reported.
const UNREPORTED_RUNS_MAX: usize = 256;

/// Done tasks, and the connection that reports them.
pub(super) struct Reports {
    socket: Pull,
    /// The control endpoint of the ventilator.
    control: Endpoint,
    /// The endpoint at which the ventilator takes reports, as it says and as seen from here.
    place: Option<(String, String)>,
    /// Tasks that are done and not reported: the first of each run, and their number.
    unreported: Vec<(TaskId, u64)>,
    unreported_count: u64,
    /// Number of done tasks at which a report goes out at once.
    count_max: u64,
    /// The last report went to the ventilator.
    is_heard: bool,
}

impl Reports {
    /// Opens the reports of a sink whose ventilator has the control endpoint `control`.
    pub fn new(
        context: &Context,
        control: &str,
        count_max: usize,
        options: &PipelineOptions,
    ) -> Result<Reports, PipelineError> {
        Ok(Reports {
            socket: Pull::with_options(context, options.reports())?,
            control: control.parse().map_err(ConnectError::from)?,
            place: None,
            unreported: Vec::new(),
            unreported_count: 0,
            count_max: count_max as u64,
            is_heard: false,
        })
    }

    /// Connects to the endpoint at which the ventilator takes reports.
    pub fn go_to(&mut self, place: &str) {
        if self.place.as_ref().is_some_and(|(said, _)| said == place) {
            return;
        }
        if let Some((_, before)) = self.place.take() {
            self.socket.disconnect(&before);
        }
        let Ok(mut endpoint) = place.parse::<Endpoint>() else { return };
        if let (Endpoint::Tcp(address), Endpoint::Tcp(control)) = (&mut endpoint, &self.control)
            && address.host.parse::<IpAddr>().is_ok_and(|host| host.is_unspecified())
        {
            address.host.clone_from(&control.host);
        }
        // Without this connection the ventilator hears of everything by way of the workers.
        let endpoint = endpoint.to_string();
        if self.socket.connect(&endpoint).is_ok() {
            self.place = Some((place.to_owned(), endpoint));
        }
    }

    /// Notes `count` done tasks from `first` on. The application has dealt with their results, which `results`
    /// received.
    pub fn note(&mut self, first: TaskId, count: u64, results: &Pull) {
        if count == 0 {
            return;
        }
        self.unreported_count += count;
        match self.unreported.last_mut() {
            Some((before, number)) if before.plus(*number) == first => *number += count,
            _ => self.unreported.push((first, count)),
        }
        if self.unreported_count >= self.count_max || self.unreported.len() >= UNREPORTED_RUNS_MAX {
            self.tell(results);
        }
    }

    /// Reports done tasks, if there are any.
    pub fn tell(&mut self, results: &Pull) {
        if self.unreported.is_empty() {
            return;
        }
        let is_heard = self.socket.report(&self.unreported);
        if is_heard != self.is_heard {
            self.is_heard = is_heard;
            results.settle_lazily(is_heard);
        }
        self.unreported.clear();
        self.unreported_count = 0;
    }
}
