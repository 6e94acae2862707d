//! `Selection`: the page and the objects that a request asks for.

use super::exposition::Group;
use crate::http::Query;

/// The pages, by the segment of the path behind `metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registry {
    /// `/metrics`: everything, with the sums over all objects.
    Aggregated,
    /// `/metrics/per-object`: everything, with a series for each object.
    PerObject,
    /// `/metrics/detailed`: the groups that are asked for, with a series for each object.
    Detailed,
    /// `/metrics/memory-breakdown`: the memory by its use.
    MemoryBreakdown,
}

/// The metrics that a page has.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) registry: Registry,
    /// The groups, where not all are asked for.
    groups: Option<Vec<String>>,
    /// The virtual hosts, where not all are asked for.
    virtual_hosts: Option<Vec<String>>,
    /// The queues, where not all are asked for.
    queues: Option<Vec<String>>,
}

impl Registry {
    /// The page at a path. `None`: there is none.
    pub(super) fn of_path(segments: &[Vec<u8>]) -> Option<Registry> {
        let [first, rest @ ..] = segments else { return None };
        match (&**first, rest) {
            (b"metrics", []) => Some(Registry::Aggregated),
            (b"metrics", [name]) => match &**name {
                b"default" => Some(Registry::Aggregated),
                b"per-object" => Some(Registry::PerObject),
                b"detailed" => Some(Registry::Detailed),
                b"memory-breakdown" => Some(Registry::MemoryBreakdown),
                _ => None,
            },
            _ => None,
        }
    }

    /// The label `rabbitmq_endpoint`, which distinguishes series of several pages.
    pub(super) fn endpoint(self) -> &'static str {
        match self {
            Registry::Aggregated => "aggregated",
            Registry::PerObject => "per-object",
            Registry::Detailed => "detailed",
            Registry::MemoryBreakdown => "memory-breakdown",
        }
    }

    /// The beginning of the names of metrics.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Registry::Detailed => "rabbitmq_detailed_",
            _ => "rabbitmq_",
        }
    }
}

impl Selection {
    pub(super) fn new(registry: Registry, query: &Query) -> Selection {
        let mut selection = Selection { registry, groups: None, virtual_hosts: None, queues: None };
        if registry == Registry::Detailed {
            let all = |name: &str| -> Vec<String> { query.all(name).map(str::to_owned).collect() };
            let some = |name: &str| Some(all(name)).filter(|values| !values.is_empty());
            selection.groups = Some(all("family"));
            (selection.virtual_hosts, selection.queues) = (some("vhost"), some("queue"));
        }
        selection
    }

    /// Returns the groups that are asked for.
    pub(super) fn pick<T, const N: usize>(&self, groups: [&'static Group<T>; N]) -> Vec<&'static Group<T>> {
        groups.into_iter().filter(|group| self.has_group(group.name)).collect()
    }

    pub(super) fn has_group(&self, name: &str) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.iter().any(|group| group == name))
    }

    pub(super) fn has_virtual_host(&self, name: &str) -> bool {
        self.virtual_hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| host == name))
    }

    pub(super) fn has_queue(&self, name: &[u8]) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.iter().any(|queue| queue.as_bytes() == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::exposition::group;

    fn of_path(path: &str) -> Option<Registry> {
        let segments: Vec<Vec<u8>> = path.split('/').map(|segment| segment.as_bytes().to_vec()).collect();
        Registry::of_path(&segments)
    }

    #[test]
    fn a_path_names_a_page() {
        assert_eq!(of_path("metrics"), Some(Registry::Aggregated));
        assert_eq!(of_path("metrics/per-object"), Some(Registry::PerObject));
        for path in ["", "metric", "metrics/nothing", "metrics/per-object/x", "per-object"] {
            assert_eq!(of_path(path), None, "{path}");
        }
    }

    #[test]
    fn only_the_detailed_page_selects() {
        static GROUP: Group<u8> = group!("a", |_object| { Gauge "x" "X." = 0.0; });
        let query = Query::parse("family=a&family=b&vhost=%2F&queue=q");
        let detailed = Selection::new(Registry::Detailed, &query);
        assert!(detailed.has_group("b") && !detailed.has_group("c"));
        assert_eq!(detailed.pick([&GROUP]).len(), 1);
        assert!(detailed.has_virtual_host("/") && !detailed.has_virtual_host("other"));
        assert!(detailed.has_queue(b"q") && !detailed.has_queue(b"qq"));
        let nothing = Selection::new(Registry::Detailed, &Query::parse(""));
        assert!(!nothing.has_group("a") && nothing.has_virtual_host("other") && nothing.has_queue(b"qq"));
        let all = Selection::new(Registry::PerObject, &query);
        assert!(all.has_group("c") && all.has_virtual_host("other") && all.has_queue(b"qq"));
    }
}
