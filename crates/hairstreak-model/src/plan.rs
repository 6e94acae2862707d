//! The equations of the butterfly tutorial, applied to one pipeline: the rate of each stage, the slowest stage,
//! and the rates of the same work undivided and as parallel copies.
//!
//! Rates are of a full pipeline, in messages a second. [`simulate`](crate::simulate) computes the time of N messages,
//! including the time to fill and to empty the pipeline. A rate that nothing limits (all times are zero) is `None`.

use std::time::Duration;

use serde::Serialize;

use crate::pipeline::{INSTANCES_MAX, Pipeline, Stage, Times};

/// The rates and the latency of a pipeline, by the equations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<StagePlan>,
    /// The name of the slowest stage. Of equally slow stages, the name of the first.
    pub bottleneck: String,
    /// The resource that limits the rate.
    pub limited_by: Limit,
    /// Results a second while the pipeline is full.
    pub steady_per_s: Option<f64>,
    /// The time of one message in an empty pipeline, in seconds.
    pub latency_s: f64,
    /// `true` if replies come in the order of their requests: no stage has a second
    /// instance, which could overtake the first.
    pub order_kept: bool,
    /// One copy of the undivided application.
    pub monolith: Layout,
    /// One instance of each stage.
    pub pipelined: Layout,
    /// Copies of the undivided application, one for each instance of this pipeline.
    pub parallel: Layout,
    /// The gain of this pipeline over the monolith: 0.33 is a third more.
    pub gain: Option<f64>,
    /// The needs of the requested rate, if a rate was requested.
    pub target: Option<Target>,
}

/// The rate of one stage, and its times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StagePlan {
    /// The name of the stage.
    pub name: String,
    /// The number of instances.
    pub instances: u32,
    /// Seconds to receive a message.
    pub receive_s: f64,
    /// Seconds to process the message.
    pub process_s: f64,
    /// Seconds to send the result.
    pub send_s: f64,
    /// The part of these seconds in which the instance holds the shared resource.
    pub serial_s: f64,
    /// The rate of a single instance.
    pub per_instance_per_s: Option<f64>,
    /// The rate of all instances.
    pub rate_per_s: Option<f64>,
    /// `true` if the shared resource limits this rate, and not the instances.
    pub capped_by_serial: bool,
    /// Instances that the target rate needs. `None` without a target, and if the shared resource
    /// is too slow for the target.
    pub instances_needed: Option<u64>,
}

/// The resource that limits the rate of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The instances of the slowest stage.
    Instances,
    /// The shared resource of the slowest stage.
    Serial,
    /// The machine's cores.
    Cores,
}

/// One way to arrange the same work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// The number of processes.
    pub processes: u32,
    /// The steady rate.
    pub per_s: Option<f64>,
    /// The gain over the monolith: 0.33 is a third more.
    pub gain: Option<f64>,
    /// The time of one message, in seconds.
    pub latency_s: f64,
}

/// The needs of a requested rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// The rate.
    pub per_s: f64,
    /// `true` if the cores suffice and each stage reaches the rate with at most [`INSTANCES_MAX`] instances.
    pub reachable: bool,
    /// The number of cores that this rate keeps busy.
    pub cores_needed: u64,
    /// `true` if the pipeline has at least this number of cores, or no bound on them.
    pub cores_suffice: bool,
}

/// Applies the equations to `pipeline`. `target_per_s` is a positive rate that the plan sizes the stages for.
pub fn plan(pipeline: &Pipeline, target_per_s: Option<f64>) -> Plan {
    let stages: Vec<StagePlan> =
        pipeline.stages().iter().map(|stage| plan_stage(stage, target_per_s)).collect();
    let monolith_per_s = monolith_rate(pipeline, 1);
    let layout = |processes, rate: f64, latency: Duration| Layout {
        processes,
        per_s: finite(rate),
        gain: gain(rate, monolith_per_s),
        latency_s: latency.as_secs_f64(),
    };
    let instances = pipeline.stages().iter().map(|stage| stage.instances).sum();
    let latency = latency(pipeline);
    let rate = steady_rate(pipeline);
    let (bottleneck, limited_by) = bottleneck(pipeline);
    Plan {
        bottleneck,
        limited_by,
        steady_per_s: finite(rate),
        latency_s: latency.as_secs_f64(),
        order_kept: pipeline.stages().iter().all(|stage| stage.instances == 1),
        monolith: layout(1, monolith_per_s, pipeline.monolith()),
        pipelined: layout(pipeline.stages().len() as u32, pipelined_rate(pipeline), latency),
        parallel: layout(instances, monolith_rate(pipeline, instances), pipeline.monolith()),
        gain: gain(rate, monolith_per_s),
        target: target_per_s.map(|per_s| target(pipeline, &stages, per_s)),
        stages,
    }
}

fn plan_stage(stage: &Stage, target_per_s: Option<f64>) -> StagePlan {
    let Times { receive, process, send, serial, .. } = stage.times;
    let of_instances = rate(stage.times.busy(), stage.instances);
    let of_resource = rate(serial, 1);
    let capped_by_serial = of_resource < of_instances;
    let instances_needed = target_per_s
        .filter(|&target| target <= of_resource * (1.0 + ROUNDING))
        .map(|target| whole(target * stage.times.busy().as_secs_f64()).max(1));
    StagePlan {
        name: stage.name.clone(),
        instances: stage.instances,
        receive_s: receive.as_secs_f64(),
        process_s: process.as_secs_f64(),
        send_s: send.as_secs_f64(),
        serial_s: serial.as_secs_f64(),
        per_instance_per_s: finite(rate(stage.times.busy(), 1)),
        rate_per_s: finite(of_instances.min(of_resource)),
        capped_by_serial,
        instances_needed,
    }
}

fn target(pipeline: &Pipeline, stages: &[StagePlan], per_s: f64) -> Target {
    let cores_needed = whole(per_s * pipeline.cpu().as_secs_f64());
    let cores_suffice = pipeline.cores().is_none_or(|cores| u64::from(cores) >= cores_needed);
    let is_allowed = |needed: Option<u64>| needed.is_some_and(|needed| needed <= INSTANCES_MAX.into());
    let reachable = cores_suffice && stages.iter().all(|stage| is_allowed(stage.instances_needed));
    Target { per_s, reachable, cores_needed, cores_suffice }
}

/// The rate of the slowest stage or of the cores.
fn steady_rate(pipeline: &Pipeline) -> f64 {
    pipeline.stages().iter().map(stage_rate).fold(core_rate(pipeline), f64::min)
}

/// The rate with one instance of each stage.
fn pipelined_rate(pipeline: &Pipeline) -> f64 {
    pipeline.stages().iter().map(|stage| rate(stage.times.busy(), 1)).fold(core_rate(pipeline), f64::min)
}

/// The rate of `copies` copies of the undivided application. They contend for the same shared
/// resources, one copy never waits for itself, and their CPU time is at most their whole time.
fn monolith_rate(pipeline: &Pipeline, copies: u32) -> f64 {
    let mut slowest = rate(pipeline.monolith(), copies);
    if let Some(cores) = pipeline.cores() {
        slowest = slowest.min(rate(pipeline.cpu().min(pipeline.monolith()), cores));
    }
    if copies > 1 {
        let resources = pipeline.stages().iter().map(|stage| rate(stage.times.serial, 1));
        slowest = resources.fold(slowest, f64::min);
    }
    slowest
}

fn core_rate(pipeline: &Pipeline) -> f64 {
    pipeline.cores().map_or(f64::INFINITY, |cores| rate(pipeline.cpu(), cores))
}

fn latency(pipeline: &Pipeline) -> Duration {
    let hops = pipeline.stages().len().saturating_sub(1) as u32;
    pipeline.stages().iter().map(|stage| stage.times.busy()).sum::<Duration>() + pipeline.hop() * hops
}

fn bottleneck(pipeline: &Pipeline) -> (String, Limit) {
    let mut slowest = &pipeline.stages()[0];
    for stage in &pipeline.stages()[1..] {
        if stage_rate(stage) < stage_rate(slowest) {
            slowest = stage;
        }
    }
    let limit = if core_rate(pipeline) < stage_rate(slowest) {
        Limit::Cores
    } else if rate(slowest.times.serial, 1) < rate(slowest.times.busy(), slowest.instances) {
        Limit::Serial
    } else {
        Limit::Instances
    };
    (slowest.name.clone(), limit)
}

fn stage_rate(stage: &Stage) -> f64 {
    rate(stage.times.busy(), stage.instances).min(rate(stage.times.serial, 1))
}

/// Messages a second of `count` workers that take `time` for each message. One division of whole numbers:
/// 1 / 8 us is 125,000 and not a little less.
fn rate(time: Duration, count: u32) -> f64 {
    if time.is_zero() { f64::INFINITY } else { f64::from(count) * 1e9 / time.as_nanos() as f64 }
}

/// The relative difference below which two numbers are equal: 125,000 messages of 8 us need one instance and not two.
const ROUNDING: f64 = 1e-10;

fn whole(count: f64) -> u64 {
    let nearest = count.round();
    if (count - nearest).abs() <= count * ROUNDING { nearest as u64 } else { count.ceil() as u64 }
}

fn finite(rate: f64) -> Option<f64> {
    rate.is_finite().then_some(rate)
}

fn gain(rate: f64, monolith: f64) -> Option<f64> {
    (rate.is_finite() && monolith.is_finite()).then(|| rate / monolith - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn stage(name: &str, instances: u32, receive: u64, process: u64, send: u64) -> Stage {
        let (receive, process, send) = (us(receive), us(process), us(send));
        let cpu = receive + process + send;
        let times = Times { receive, process, send, serial: Duration::ZERO, cpu };
        Stage { name: name.into(), instances, times, distribution: Distribution::Constant }
    }

    /// The tutorial's application, divided into two stages whose processing takes 6 us and 2 us.
    fn divided(first: u32, second: u32) -> Pipeline {
        let stages = vec![stage("component1", first, 4, 6, 2), stage("component2", second, 2, 2, 4)];
        Pipeline::new(stages).unwrap()
    }

    #[test]
    fn one_monolith_does_62_500() {
        let plan = plan(&Pipeline::new(vec![stage("monolith", 1, 4, 8, 4)]).unwrap(), None);
        assert_eq!(plan.steady_per_s, Some(62_500.0));
        assert_eq!(plan.monolith.per_s, Some(62_500.0));
        assert_eq!(plan.gain, Some(0.0));
    }

    #[test]
    fn two_steps_do_83_333_a_third_more() {
        let plan = plan(&divided(1, 1), None);
        let rates: Vec<f64> = plan.stages.iter().map(|stage| stage.rate_per_s.unwrap().floor()).collect();
        assert_eq!(rates, [83_333.0, 125_000.0]);
        assert_eq!(plan.steady_per_s.unwrap().floor(), 83_333.0);
        assert_eq!(plan.monolith.per_s, Some(62_500.0));
        assert_eq!((plan.gain.unwrap() * 100.0).round(), 33.0);
        assert_eq!((plan.bottleneck.as_str(), plan.limited_by), ("component1", Limit::Instances));
        assert!(plan.order_kept);
    }

    #[test]
    fn three_copies_do_187_500() {
        let plan = plan(&Pipeline::new(vec![stage("monolith", 3, 4, 8, 4)]).unwrap(), None);
        assert_eq!(plan.steady_per_s, Some(187_500.0));
        assert!(!plan.order_kept);
    }

    #[test]
    fn two_of_the_slow_step_do_125_000() {
        let plan = plan(&divided(2, 1), None);
        assert_eq!(plan.stages[0].rate_per_s.unwrap().floor(), 166_666.0);
        assert_eq!(plan.stages[1].rate_per_s, Some(125_000.0));
        assert_eq!(plan.steady_per_s, Some(125_000.0));
        assert_eq!(plan.parallel.per_s, Some(187_500.0), "three copies for three instances");
        assert_eq!(plan.bottleneck, "component2");
    }

    #[test]
    fn steps_of_half_a_second_nearly_double_a_second() {
        let half = |name| stage(name, 1, 4, 500_000, 4);
        let pipeline = Pipeline::new(vec![half("component1"), half("component2")]).unwrap();
        let gain = plan(&pipeline.with_monolith(us(1_000_000)).unwrap(), None).gain.unwrap();
        assert_eq!((gain * 1e5).round() / 1e3, 99.997);
    }

    #[test]
    fn pipelining_costs_latency_and_parallel_copies_do_not() {
        let pipeline = divided(2, 1).with_hop(us(3)).unwrap();
        let plan = plan(&pipeline, None);
        assert_eq!(plan.latency_s, 23e-6);
        assert_eq!(plan.parallel.latency_s, 16e-6);
        assert_eq!(plan.monolith.latency_s, 16e-6);
    }

    #[test]
    fn a_target_says_how_many_instances_each_stage_needs() {
        let needed = |target| {
            let plan = plan(&divided(1, 1), Some(target));
            plan.stages.iter().map(|stage| stage.instances_needed.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(needed(1.0), [1, 1]);
        assert_eq!(needed(83_333.0), [1, 1]);
        assert_eq!(needed(125_000.0), [2, 1], "exactly what one of the second can do");
        assert_eq!(needed(125_001.0), [2, 2]);
        assert_eq!(needed(1_000_000.0), [12, 8]);
    }

    #[test]
    fn a_target_for_more_instances_than_there_may_be_is_out_of_reach() {
        let at = |target| plan(&divided(1, 1), Some(target));
        let most = 1024.0 / 12e-6;
        assert_eq!(at(most).stages[0].instances_needed, Some(1024));
        assert!(at(most).target.unwrap().reachable);
        assert_eq!(at(most + 1.0).stages[0].instances_needed, Some(1025));
        assert!(!at(most + 1.0).target.unwrap().reachable);
        assert_eq!(at(1e18).stages[0].instances_needed, Some(12_000_000_000_000), "and not a little less");
    }

    #[test]
    fn a_shared_resource_caps_parallel_copies() {
        let mut copies = stage("monolith", 64, 4, 8, 4);
        copies.times.serial = us(2);
        let pipeline = Pipeline::new(vec![copies]).unwrap();
        let at_cap = plan(&pipeline, Some(500_000.0));
        assert_eq!(at_cap.steady_per_s, Some(500_000.0));
        assert_eq!(at_cap.limited_by, Limit::Serial);
        assert_eq!(at_cap.stages[0].instances_needed, Some(8));
        assert_eq!(at_cap.parallel.per_s, Some(500_000.0));
        assert_eq!(at_cap.monolith.per_s, Some(62_500.0));
        let past_cap = plan(&pipeline, Some(500_001.0));
        assert_eq!(past_cap.stages[0].instances_needed, None);
        assert!(!past_cap.target.unwrap().reachable);
    }

    #[test]
    fn cores_cap_all_stages_together() {
        let pipeline = divided(8, 8).with_cores(2).unwrap();
        let plan = plan(&pipeline, Some(200_000.0));
        assert_eq!(plan.steady_per_s, Some(100_000.0), "2 cores / 20 us");
        assert_eq!(plan.limited_by, Limit::Cores);
        assert_eq!(plan.parallel.per_s, Some(125_000.0), "2 cores / 16 us");
        let target = plan.target.unwrap();
        assert_eq!((target.cores_needed, target.cores_suffice, target.reachable), (4, false, false));
    }

    #[test]
    fn stages_without_any_time_have_no_rate() {
        let plan = plan(&Pipeline::new(vec![stage("echo", 1, 0, 0, 0)]).unwrap(), Some(10.0));
        assert_eq!((plan.steady_per_s, plan.monolith.per_s, plan.gain), (None, None, None));
        assert_eq!(plan.stages[0].instances_needed, Some(1));
    }
}
