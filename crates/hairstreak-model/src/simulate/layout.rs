//! `Layout`: the steps that messages pass, and their servers, numbered over all steps.

use std::collections::VecDeque;
use std::time::Duration;

use super::load::has_hubs;
use super::server::{Server, Times};
use crate::pipeline::{Pipeline, Stage, Wiring};

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Source,
    Stage(usize),
    /// A hub between two stages.
    Hub,
    Sink,
}

/// Identical servers that share messages.
pub(super) struct Step {
    pub(super) role: Role,
    /// The index of the first server.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) times: Times,
    /// The next server in turn, if all senders share one turn.
    pub(super) turn: usize,
    /// Senders that wait for room, in order.
    pub(super) blocked: VecDeque<usize>,
    /// The server that holds the shared resource, and the servers that wait for the resource.
    pub(super) holder: Option<usize>,
    pub(super) lock_queue: VecDeque<usize>,
    /// `true` if messages take the pipeline's hop to the next step.
    pub(super) hops: bool,
}

pub(super) struct Layout {
    pub(super) steps: Vec<Step>,
    pub(super) servers: Vec<Server>,
    /// `true` if all senders of a step share one turn, as behind a hub.
    pub(super) shares_turn: bool,
}

impl Layout {
    pub(super) fn new(pipeline: &Pipeline) -> Layout {
        let mut roles = vec![(Role::Source, 1, Times::default())];
        for (index, stage) in pipeline.stages().iter().enumerate() {
            if index > 0 && has_hubs(pipeline) {
                roles.push((Role::Hub, 1, Times::default()));
            }
            roles.push((Role::Stage(index), stage.instances as usize, times(stage, pipeline)));
        }
        roles.push((Role::Sink, 1, Times::default()));
        let (mut steps, mut servers) = (Vec::new(), Vec::new());
        let last_stage = pipeline.stages().len() - 1;
        for (role, count, times) in roles {
            let first = servers.len();
            servers.extend((0..count).map(|_| Server::new(steps.len())));
            let hops = matches!(role, Role::Stage(index) if index < last_stage);
            steps.push(Step {
                role,
                first,
                count,
                times,
                turn: 0,
                blocked: VecDeque::new(),
                holder: None,
                lock_queue: VecDeque::new(),
                hops,
            });
        }
        let mut links = 0;
        for step in 0..steps.len() - 1 {
            let (own, next) = (&steps[step], steps[step + 1].count);
            for (place, server) in servers[own.first..own.first + own.count].iter_mut().enumerate() {
                // If all senders began at the first instance, they would stay together on their way from instance to instance.
                server.turn = place % next;
                server.first_link = links;
                links += next;
            }
        }
        Layout { steps, servers, shares_turn: pipeline.wiring() == Wiring::Hub }
    }

    pub(super) fn link_count(&self) -> usize {
        self.steps.windows(2).map(|pair| pair[0].count * pair[1].count).sum()
    }
}

fn times(stage: &Stage, pipeline: &Pipeline) -> Times {
    let nanoseconds = |time: Duration| time.as_nanos() as f64;
    let own = stage.times;
    let (ends, process) = (nanoseconds(own.receive + own.send), nanoseconds(own.process));
    let cpu = nanoseconds(own.cpu);
    let process_work = (cpu - ends).clamp(0.0, process);
    let busy = ends + process;
    Times {
        ends_work: cpu - process_work,
        ends_wait: ends - (cpu - process_work),
        process_work,
        process_wait: process - process_work,
        serial_share: if busy > 0.0 { nanoseconds(own.serial) / busy } else { 0.0 },
        wake_up: nanoseconds(pipeline.wake_up()),
        distribution: stage.distribution,
    }
}
