//! `Reports`: by which a sink tells its ventilator what is done, so that the window opens at once. By way of the workers
//! settlements then come in bulk.

use std::net::IpAddr;

use hairstreak_socket::settlement::TaskId;
use hairstreak_socket::{ConnectError, Context, Endpoint, Pull};

use super::error::PipelineError;
use super::options::PipelineOptions;

/// Runs of tasks that are done before they are reported.
const UNREPORTED_RUNS_MAX: usize = 256;

/// What is done, and where that is told.
pub(super) struct Reports {
    socket: Pull,
    /// Where the ventilator is spoken to.
    control: Endpoint,
    /// Where it says that it takes reports, and where that is from here.
    place: Option<(String, String)>,
    /// Tasks that are done and not reported: the first of each run, and how many.
    unreported: Vec<(TaskId, u64)>,
    unreported_count: u64,
    /// Reports go out when so many tasks are done, whatever the sink does next.
    count_max: u64,
    /// Whether the last report went to the ventilator.
    is_heard: bool,
}

impl Reports {
    /// For a sink that speaks to its ventilator at `control`.
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

    /// The ventilator says that it takes reports there.
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
        // If it cannot be connected to, the ventilator hears of everything by way of the workers.
        let endpoint = endpoint.to_string();
        if self.socket.connect(&endpoint).is_ok() {
            self.place = Some((place.to_owned(), endpoint));
        }
    }

    /// These tasks are done, if there are any: the application has dealt with their results, which `results` received.
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

    /// Reports what is done, if anything is.
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
