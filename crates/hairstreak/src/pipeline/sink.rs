//! `Sink`: has each result once, and knows when it has them all.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use hairstreak_socket::settlement::{Batch, ControlMessage, TaskId};
use hairstreak_socket::{
                Err(RecvError::TimedOut | RecvError::Ended) if self.ended.is_some() => {
                    self.results.settle_lazily(false);
                    return Ok(None);
                }
                Err(RecvError::TimedOut | RecvError::Ended) if !waits => return Ok(None),
                Err(RecvError::TimedOut | RecvError::Ended) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What has been seen so far.
    pub fn completion(&self) -> Completion {
        let mut completion = self.past;
        for (_, seen) in &self.sources {
            completion.add(seen);
        }
        if let Some((_, count, rejected)) = self.ended {
            completion.task_count = Some(count);
            completion.rejected_count = rejected;
        }
        completion
    }

    /// Asks the ventilator for no more tasks.
    pub fn stop(&self) {
        self.say(ControlMessage::Stop);
    }

    /// Asks the ventilator for a pause.
    pub fn pause(&self) {
        self.say(ControlMessage::Pause);
    }

    /// Asks it to go on.
    pub fn resume(&self) {
        self.say(ControlMessage::Resume);
    }

    fn say(&self, message: ControlMessage<'_>) {
        let bytes = message.encode();
        // It waits for a ventilator that has not come yet; one that takes nothing has stopped anyway.
        let _ = self.control.try_send(Outgoing::Body(&bytes));
        self.control.flush();
    }

    /// Takes up the next run of the batch, telling new results from those that came before. Returns whether there was
    /// one.
    fn begin_run(&mut self) -> bool {
        let Some(&(run, count)) = self.batch.as_ref().and_then(|batch| batch.runs.get(self.next_run)) else {
            return false;
        };
        self.next_run += 1;
        let keep_order = self.keep_order;
        if self.source(run.id.epoch).take_new(run, count, keep_order) {
            self.present = Some((run.id, count));
            self.returned = keep_order.then_some((run.id, count));
            return true;
        }
        let mut ready = std::mem::take(&mut self.ready);
        let (first, end) = (self.next_message, self.next_message + count as usize);
        let mut messages = std::mem::take(&mut self.messages);
        let results = messages[first..end].iter_mut().map(std::mem::take);
        self.source(run.id.epoch).take(run, count, results, keep_order, &mut |done| ready.push_back(done));
        (self.messages, self.ready, self.next_message) = (messages, ready, end);
        true
    }

    /// What is known of a source.
    fn source(&mut self, epoch: u64) -> &mut Seen<Message> {
        let known = self.sources.iter().position(|(other, _)| *other == epoch);
        let last = self.sources.len().saturating_sub(1);
        match known {
            Some(at) if at == last => {}
            Some(at) => self.sources[at..].rotate_left(1),
            None => {
                if self.sources.len() >= SOURCE_COUNT_MAX {
                    let (_, forgotten) = self.sources.remove(0);
                    self.past.add(&forgotten);
                }
                self.sources.push((epoch, Seen::default()));
            }
        }
        let at = self.sources.len() - 1;
        &mut self.sources[at].1
    }

    /// What the ventilator has to say.
    fn hear(&mut self) {
        while let Ok(message) = self.control.try_recv() {
            self.last_seen = Instant::now();
            match ControlMessage::decode(message.body()) {
                Some(ControlMessage::Floor(floor)) => self.raise_floor(floor),
                Some(ControlMessage::Tasks(place)) => self.report_to(place),
                Some(ControlMessage::End { epoch, count, rejected }) => {
                    self.raise_floor(TaskId { epoch, sequence: count });
                    self.ended = Some((epoch, count, rejected));
                }
                _ => {}
            }
        }
    }

    /// All tasks below are settled.
    fn raise_floor(&mut self, floor: TaskId) {
        let mut ready = std::mem::take(&mut self.ready);
        self.source(floor.epoch).raise_floor(floor.sequence, &mut |done| ready.push_back(done));
        self.ready = ready;
    }

    /// The ventilator is to hear that these are done: at half of the window, and before the sink sleeps.
    fn note_done(&mut self, first: TaskId, count: u64) {
        self.unreported_count += count;
        match self.unreported.last_mut() {
            Some((before, number)) if before.plus(*number) == first => *number += count,
            _ => self.unreported.push((first, count)),
        }
        if self.unreported_count >= self.batch_count_max as u64
            || self.unreported.len() >= UNREPORTED_RUNS_MAX
        {
            self.report();
        }
    }

    fn report(&mut self) {
        if self.unreported.is_empty() {
            return;
        }
        let is_told = self.reports.report(&self.unreported);
        // Else it hears of it by way of the workers.
        if is_told != self.is_reporting {
            self.is_reporting = is_told;
            self.results.settle_lazily(is_told);
        }
        self.unreported.clear();
        self.unreported_count = 0;
    }

    /// Where the ventilator takes reports.
    fn report_to(&mut self, place: &str) {
        if self.reports_place.as_ref().is_some_and(|(said, _)| said == place) {
            return;
        }
        if let Some((_, before)) = self.reports_place.take() {
            // It may be gone already.
            let _ = self.reports.disconnect(&before);
        }
        let Ok(mut endpoint) = place.parse::<Endpoint>() else { return };
        if let (Endpoint::Tcp(address), Endpoint::Tcp(control)) = (&mut endpoint, &self.control_place)
            && address.host.parse::<IpAddr>().is_ok_and(|host| host.is_unspecified())
        {
            address.host.clone_from(&control.host);
        }
        // A place that cannot be connected to leaves the way by the workers.
        let endpoint = endpoint.to_string();
        if self.reports.connect(&endpoint).is_ok() {
            self.reports_place = Some((place.to_owned(), endpoint));
        }
    }

    /// Waits for results, and hears what the ventilator says meanwhile.
    fn wait(&mut self) -> Result<(), SinkError> {
        self.report();
        self.poller.wait_timeout(&mut self.found, LOOK_INTERVAL)?;
        if self.found.iter().any(|found| found.key == CONTROL) {
            self.hear();
        }
        if self.is_greeted && !self.found.is_empty() {
            return Ok(());
        }
        let is_there = self.control.wait_for_peers(1, Duration::ZERO);
        // Again and again: it may be another by now.
        if is_there {
            self.say(ControlMessage::Hello);
        }
        self.is_greeted = is_there;
        if is_there {
            self.last_seen = Instant::now();
        }
        let lost_for = self.last_seen.elapsed();
        if lost_for >= self.lost_after {
            return Err(SinkError::VentilatorLost(lost_for));
        }
        Ok(())
    }
}
