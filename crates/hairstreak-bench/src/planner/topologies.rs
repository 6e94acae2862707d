//! The ten topologies.

use std::path::Path;

use anyhow::{Result, bail};
use hairstreak::topology::Topology;

/// Name and content of each.
const FILES: [(&str, &str); 10] = [
    ("busy-one", include_str!("../../topologies/busy-one.toml")),
    ("busy-two-stages", include_str!("../../topologies/busy-two-stages.toml")),
    ("busy-uneven", include_str!("../../topologies/busy-uneven.toml")),
    ("busy-copies", include_str!("../../topologies/busy-copies.toml")),
    ("busy-large", include_str!("../../topologies/busy-large.toml")),
    ("crowded-stages", include_str!("../../topologies/crowded-stages.toml")),
    ("crowded-copies", include_str!("../../topologies/crowded-copies.toml")),
    ("random-sleep", include_str!("../../topologies/random-sleep.toml")),
    ("random-spin", include_str!("../../topologies/random-spin.toml")),
    ("random-mixed", include_str!("../../topologies/random-mixed.toml")),
];

/// Returns the topologies of these names, or all if there are no names.
pub(super) fn topologies(names: &[String]) -> Result<Vec<(&'static str, Topology)>> {
    let known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no topology \"{name}\"; there are {}", known.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let files = FILES.into_iter().filter(|(name, _)| wanted(name));
    files.map(|(name, text)| Ok((name, Topology::parse(text, Path::new(name))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topology_can_be_planned_and_run() {
        for (name, topology) in topologies(&[]).unwrap() {
            assert!(topology.planned_pipeline().is_ok(), "{name}");
            assert!(topology.input.is_some(), "{name}");
            assert!(topology.stages.iter().all(|stage| stage.work.is_some()), "{name}");
        }
        let one = topologies(&["random-spin".into()]).unwrap();
        assert_eq!(one.len(), 1);
        let refusal = topologies(&["idle".into()]).unwrap_err().to_string();
        assert!(refusal.starts_with("there is no topology \"idle\"; there are busy-one, "), "{refusal}");
    }
}
