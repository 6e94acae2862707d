//! The table of routes: which resource a path means, the methods of the resource, and the rights that each asks for.
//!
//! The paths are RabbitMQ's, those of 3.x and 4.x. The first route that fits counts, so that fixed words stand before names.

use hyper::Method;

use super::requirement::Requirement;
use super::resource::{OfNode, OfObjects, OfSettings, OfUsers, Resource};

/// A route: a path below `/api/`, where `:name` stands for any segment, and the methods of the resource. HEAD goes with GET, and OPTIONS with every path.
#[derive(Debug)]
pub(crate) struct Route {
    path: &'static str,
    pub(crate) resource: Resource,
    methods: &'static [(Verb, Requirement)],
}

/// The methods that routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Put,
    Post,
    Delete,
}

use Requirement::{
    Administrator, GlobalParameters, Management, Monitoring, Nothing, Permissions, Policies, SeenVirtualHost,
    VirtualHost,
};
use Verb::{Delete, Get, Post, Put};

/// Methods that occur often.
const OPEN: &[(Verb, Requirement)] = &[(Get, Nothing)];
const READ: &[(Verb, Requirement)] = &[(Get, Management)];
const READ_MONITORING: &[(Verb, Requirement)] = &[(Get, Monitoring)];
const COUNTS_MONITORING: &[(Verb, Requirement)] = &[(Get, Monitoring), (Delete, Monitoring)];
const READ_ADMINISTRATOR: &[(Verb, Requirement)] = &[(Get, Administrator)];
const READ_HOST: &[(Verb, Requirement)] = &[(Get, VirtualHost)];
const READ_POLICIES: &[(Verb, Requirement)] = &[(Get, Policies)];
const OBJECT_HOST: &[(Verb, Requirement)] = &[(Get, VirtualHost), (Put, VirtualHost), (Delete, VirtualHost)];
const OBJECT_ADMINISTRATOR: &[(Verb, Requirement)] =
    &[(Get, Administrator), (Put, Administrator), (Delete, Administrator)];
const OBJECT_POLICIES: &[(Verb, Requirement)] = &[(Get, Policies), (Put, Policies), (Delete, Policies)];
const SET_ADMINISTRATOR: &[(Verb, Requirement)] = &[(Put, Administrator), (Delete, Administrator)];
const DEFINITIONS: &[(Verb, Requirement)] = &[(Get, Administrator), (Post, Administrator)];
const RESET: &[(Verb, Requirement)] = &[(Delete, Administrator)];

const fn route(path: &'static str, resource: Resource, methods: &'static [(Verb, Requirement)]) -> Route {
    Route { path, resource, methods }
}

/// All routes.
pub(crate) const ROUTES: &[Route] = &[
    route("overview", Resource::Node(OfNode::Overview), READ),
    route("cluster-name", Resource::Node(OfNode::ClusterName), &[(Get, Management), (Put, Administrator)]),
    route("nodes", Resource::Node(OfNode::Nodes), READ_MONITORING),
    route("nodes/:node", Resource::Node(OfNode::Node), READ_MONITORING),
    route("nodes/:node/memory", Resource::Node(OfNode::NodeMemory), READ_MONITORING),
    route("nodes/:node/memory/relative", Resource::Node(OfNode::NodeMemoryRelative), READ_MONITORING),
    route("extensions", Resource::Node(OfNode::Extensions), READ),
    route("all-configuration", Resource::Settings(OfSettings::Definitions), DEFINITIONS),
    route("definitions", Resource::Settings(OfSettings::Definitions), DEFINITIONS),
    route("definitions/:vhost", Resource::Settings(OfSettings::Definitions), DEFINITIONS),
    route("whoami", Resource::Users(OfUsers::Whoami), READ),
    route("version", Resource::Node(OfNode::Version), OPEN),
    route("auth", Resource::Users(OfUsers::Auth), OPEN),
    route("auth/attempts/:node", Resource::Users(OfUsers::AuthAttempts), COUNTS_MONITORING),
    route("auth/attempts/:node/source", Resource::Users(OfUsers::AuthAttemptsBySource), COUNTS_MONITORING),
    route("auth/hash_password/:password", Resource::Users(OfUsers::HashPassword), READ_ADMINISTRATOR),
    route("parameters", Resource::Settings(OfSettings::Parameters), READ_POLICIES),
    route("parameters/:component", Resource::Settings(OfSettings::Parameters), READ_POLICIES),
    route("parameters/:component/:vhost", Resource::Settings(OfSettings::Parameters), READ_POLICIES),
    route("parameters/:component/:vhost/:name", Resource::Settings(OfSettings::Parameter), OBJECT_POLICIES),
    route("global-parameters", Resource::Settings(OfSettings::GlobalParameters), &[(Get, GlobalParameters)]),
    route(
        "global-parameters/:name",
        Resource::Settings(OfSettings::GlobalParameter),
        &[(Get, GlobalParameters), (Put, GlobalParameters), (Delete, GlobalParameters)],
    ),
    route("policies", Resource::Settings(OfSettings::Policies), READ_HOST),
    route("policies/:vhost", Resource::Settings(OfSettings::Policies), READ_HOST),
    route("policies/:vhost/:name", Resource::Settings(OfSettings::Policy), OBJECT_POLICIES),
    route("operator-policies", Resource::Settings(OfSettings::OperatorPolicies), READ_HOST),
    route("operator-policies/:vhost", Resource::Settings(OfSettings::OperatorPolicies), READ_HOST),
    route(
        "operator-policies/:vhost/:name",
        Resource::Settings(OfSettings::OperatorPolicy),
        &[(Get, VirtualHost), (Put, Administrator), (Delete, Administrator)],
    ),
    route("vhost-limits", Resource::Settings(OfSettings::VhostLimits), READ_HOST),
    route("vhost-limits/:vhost", Resource::Settings(OfSettings::VhostLimits), &[(Get, SeenVirtualHost)]),
    route("vhost-limits/:vhost/:name", Resource::Settings(OfSettings::VhostLimit), SET_ADMINISTRATOR),
    route("user-limits", Resource::Users(OfUsers::UserLimits), READ),
    route("user-limits/:user", Resource::Users(OfUsers::UserLimits), READ),
    route("user-limits/:user/:name", Resource::Users(OfUsers::UserLimit), SET_ADMINISTRATOR),
    route("connections", Resource::Objects(OfObjects::Connections), READ),
    route(
        "connections/username/:user",
        Resource::Objects(OfObjects::UserConnections),
        &[(Get, Management), (Delete, Management)],
    ),
    route(
        "connections/:connection",
        Resource::Objects(OfObjects::Connection),
        &[(Get, Management), (Delete, Management)],
    ),
    route("connections/:connection/channels", Resource::Objects(OfObjects::ConnectionChannels), READ),
    route("channels", Resource::Objects(OfObjects::Channels), READ),
    route("channels/:channel", Resource::Objects(OfObjects::Channel), READ),
    route("consumers", Resource::Objects(OfObjects::Consumers), READ),
    route("consumers/:vhost", Resource::Objects(OfObjects::Consumers), READ),
    route("exchanges", Resource::Objects(OfObjects::Exchanges), READ_HOST),
    route("exchanges/:vhost", Resource::Objects(OfObjects::Exchanges), READ_HOST),
    route("exchanges/:vhost/:exchange", Resource::Objects(OfObjects::Exchange), OBJECT_HOST),
    route(
        "exchanges/:vhost/:exchange/publish",
        Resource::Objects(OfObjects::Publish),
        &[(Post, VirtualHost)],
    ),
    route(
        "exchanges/:vhost/:exchange/bindings/source",
        Resource::Objects(OfObjects::BindingsFrom),
        READ_HOST,
    ),
    route(
        "exchanges/:vhost/:exchange/bindings/destination",
        Resource::Objects(OfObjects::BindingsTo),
        READ_HOST,
    ),
    route("queues", Resource::Objects(OfObjects::Queues), READ_HOST),
    route("queues/detailed", Resource::Objects(OfObjects::Queues), READ_HOST),
    route("queues/:vhost", Resource::Objects(OfObjects::Queues), READ_HOST),
    route("queues/:vhost/:queue", Resource::Objects(OfObjects::Queue), OBJECT_HOST),
    route("queues/:vhost/:queue/bindings", Resource::Objects(OfObjects::QueueBindings), READ_HOST),
    route(
        "queues/:vhost/:queue/contents",
        Resource::Objects(OfObjects::QueueContents),
        &[(Delete, VirtualHost)],
    ),
    route("queues/:vhost/:queue/peek", Resource::Objects(OfObjects::QueuePeek), READ_HOST),
    route("queues/:vhost/:queue/get", Resource::Objects(OfObjects::QueueGet), &[(Post, VirtualHost)]),
    route(
        "queues/:vhost/:queue/actions",
        Resource::Objects(OfObjects::QueueActions),
        &[(Post, Administrator)],
    ),
    route("bindings", Resource::Objects(OfObjects::Bindings), READ_HOST),
    route("bindings/:vhost", Resource::Objects(OfObjects::Bindings), READ_HOST),
    route(
        "bindings/:vhost/e/:source/:type/:destination",
        Resource::Objects(OfObjects::BindingsBetween),
        &[(Get, VirtualHost), (Post, VirtualHost)],
    ),
    route(
        "bindings/:vhost/e/:source/:type/:destination/:key",
        Resource::Objects(OfObjects::Binding),
        &[(Get, VirtualHost), (Delete, VirtualHost)],
    ),
    route("vhosts", Resource::Settings(OfSettings::Vhosts), READ),
    route("vhosts/:vhost", Resource::Settings(OfSettings::Vhost), OBJECT_ADMINISTRATOR),
    route("vhosts/:vhost/start/:node", Resource::Settings(OfSettings::VhostStart), &[(Post, Administrator)]),
    route("vhosts/:vhost/permissions", Resource::Settings(OfSettings::VhostPermissions), READ_ADMINISTRATOR),
    route(
        "vhosts/:vhost/topic-permissions",
        Resource::Settings(OfSettings::VhostTopicPermissions),
        READ_ADMINISTRATOR,
    ),
    route("vhosts/:vhost/connections", Resource::Settings(OfSettings::VhostConnections), READ_HOST),
    route("vhosts/:vhost/channels", Resource::Settings(OfSettings::VhostChannels), READ_HOST),
    route(
        "vhosts/:vhost/deletion/protection",
        Resource::Settings(OfSettings::VhostProtection),
        &[(Post, Administrator), (Delete, Administrator)],
    ),
    route("users", Resource::Users(OfUsers::Users), READ_ADMINISTRATOR),
    route("users/bulk-delete", Resource::Users(OfUsers::UsersBulkDelete), &[(Post, Administrator)]),
    route("users/without-permissions", Resource::Users(OfUsers::UsersWithoutPermissions), READ_ADMINISTRATOR),
    route("users/:user", Resource::Users(OfUsers::User), OBJECT_ADMINISTRATOR),
    route("users/:user/permissions", Resource::Users(OfUsers::UserPermissions), READ_ADMINISTRATOR),
    route(
        "users/:user/topic-permissions",
        Resource::Users(OfUsers::UserTopicPermissions),
        READ_ADMINISTRATOR,
    ),
    route("permissions", Resource::Users(OfUsers::Permissions), READ_ADMINISTRATOR),
    route("permissions/:vhost/:user", Resource::Users(OfUsers::Permission), OBJECT_ADMINISTRATOR),
    route("topic-permissions", Resource::Users(OfUsers::TopicPermissions), READ_ADMINISTRATOR),
    route("topic-permissions/:vhost/:user", Resource::Users(OfUsers::TopicPermission), OBJECT_ADMINISTRATOR),
    route(
        "topic-permissions/:vhost/:user/:exchange",
        Resource::Users(OfUsers::TopicPermission),
        OBJECT_ADMINISTRATOR,
    ),
    route("feature-flags", Resource::Node(OfNode::FeatureFlags), READ_ADMINISTRATOR),
    route("feature-flags/:name/enable", Resource::Node(OfNode::FeatureFlagEnable), &[(Put, Administrator)]),
    route("deprecated-features", Resource::Node(OfNode::DeprecatedFeatures), READ_ADMINISTRATOR),
    route("deprecated-features/used", Resource::Node(OfNode::DeprecatedFeatures), READ_ADMINISTRATOR),
    route("rebalance/queues", Resource::Node(OfNode::RebalanceQueues), &[(Post, Administrator)]),
    route("reset", Resource::Node(OfNode::Reset), RESET),
    route("reset/:node", Resource::Node(OfNode::Reset), RESET),
    route("aliveness-test/:vhost", Resource::Settings(OfSettings::AlivenessTest), &[(Get, Permissions)]),
    route("healthchecks/node", Resource::Node(OfNode::HealthNode), READ),
    route("healthchecks/node/:node", Resource::Node(OfNode::HealthNode), READ),
    route("health/checks/alarms", Resource::Node(OfNode::HealthAlarms), READ),
    route("health/checks/local-alarms", Resource::Node(OfNode::HealthAlarms), READ),
    route(
        "health/checks/certificate-expiration/:within/:unit",
        Resource::Node(OfNode::HealthCertificates),
        READ,
    ),
    route("health/checks/port-listener/:port", Resource::Node(OfNode::HealthPort), READ),
    route("health/checks/protocol-listener/:protocol", Resource::Node(OfNode::HealthProtocol), READ),
    route("health/checks/virtual-hosts", Resource::Node(OfNode::HealthOk), READ),
    route("health/checks/node-is-mirror-sync-critical", Resource::Node(OfNode::HealthSingleNode), READ),
    route("health/checks/node-is-quorum-critical", Resource::Node(OfNode::HealthSingleNode), READ),
    route("health/checks/metadata-store/initialized", Resource::Node(OfNode::HealthOk), READ),
    route("health/checks/metadata-store/initialized/with-data", Resource::Node(OfNode::HealthOk), READ),
    route("health/checks/is-in-service", Resource::Node(OfNode::HealthOk), OPEN),
    route("health/checks/ready-to-serve-clients", Resource::Node(OfNode::HealthOk), OPEN),
    route("health/checks/reached-target-cluster-size", Resource::Node(OfNode::HealthOk), OPEN),
    route("health/checks/below-node-connection-limit", Resource::Node(OfNode::HealthConnections), OPEN),
    route("shovels", Resource::Node(OfNode::NoRows), READ),
    route("shovels/:vhost", Resource::Node(OfNode::NoRows), READ),
    route("federation-links", Resource::Node(OfNode::NoRows), READ),
    route("federation-links/:vhost", Resource::Node(OfNode::NoRows), READ),
];

/// The names of exchanges, which may be empty: `exchanges/%2F//publish` publishes to the default exchange.
const MAYBE_EMPTY: [&str; 3] = ["exchange", "source", "destination"];

/// A route that fits a path, and the segments that stand for names.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) route: &'static Route,
    names: Vec<(&'static str, Vec<u8>)>,
}

/// The route of a path; `None`: there is none.
pub(crate) fn find(segments: &[Vec<u8>]) -> Option<Found> {
    let (first, rest) = segments.split_first()?;
    if first != b"api" {
        return None;
    }
    ROUTES.iter().find_map(|route| Some(Found { route, names: names(route.path, rest)? }))
}

/// The segments that stand for names, if the path fits.
fn names(path: &'static str, segments: &[Vec<u8>]) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let mut names = Vec::new();
    let mut parts = path.split('/');
    for segment in segments {
        match parts.next()?.strip_prefix(':') {
            Some(name) if !segment.is_empty() || MAYBE_EMPTY.contains(&name) => {
                names.push((name, segment.clone()));
            }
            Some(_) => return None,
            None => {}
        }
    }
    let is_whole = parts.next().is_none();
    let fits = path
        .split('/')
        .zip(segments)
        .all(|(part, segment)| part.starts_with(':') || part.as_bytes() == segment);
    (is_whole && fits).then_some(names)
}

impl Found {
    /// The segment of that name.
    pub(crate) fn name(&self, name: &str) -> Option<&[u8]> {
        self.names.iter().find(|(other, _)| *other == name).map(|(_, segment)| &**segment)
    }
}

impl Route {
    /// The rights that the method asks for; `None`: the resource does not have the method.
    pub(crate) fn requirement(&self, method: &Method) -> Option<Requirement> {
        let verb = match *method {
            Method::GET | Method::HEAD => Get,
            Method::PUT => Put,
            Method::POST => Post,
            Method::DELETE => Delete,
            _ => return None,
        };
        self.methods.iter().find(|(other, _)| *other == verb).map(|(_, requirement)| *requirement)
    }

    /// The value of the header `Allow`, in RabbitMQ's order.
    pub(crate) fn allow(&self) -> String {
        let words = self.methods.iter().map(|(verb, _)| match verb {
            Get => "HEAD, GET, ",
            Put => "PUT, ",
            Post => "POST, ",
            Delete => "DELETE, ",
        });
        words.collect::<String>() + "OPTIONS"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, resource: Option<Resource>, names: &[(&str, &str)]) {
        let path = crate::http::request::Path::parse(path, "").unwrap();
        let found = find(path.segments());
        assert_eq!(found.as_ref().map(|found| found.route.resource), resource, "{path:?}");
        for (name, value) in names {
            assert_eq!(found.as_ref().unwrap().name(name), Some(value.as_bytes()), "{path:?}");
        }
    }

    #[test]
    fn paths_mean_resources() {
        check("/api/queues", Some(Resource::Objects(OfObjects::Queues)), &[]);
        check("/api/queues/", Some(Resource::Objects(OfObjects::Queues)), &[]);
        check("/api/queues/%2F", Some(Resource::Objects(OfObjects::Queues)), &[("vhost", "/")]);
        check(
            "/api/queues/%2F/a%2Fb",
            Some(Resource::Objects(OfObjects::Queue)),
            &[("vhost", "/"), ("queue", "a/b")],
        );
        check("/api/users/bulk-delete", Some(Resource::Users(OfUsers::UsersBulkDelete)), &[]);
        check("/api/users/other", Some(Resource::Users(OfUsers::User)), &[("user", "other")]);
        check(
            "/api/connections/username/guest",
            Some(Resource::Objects(OfObjects::UserConnections)),
            &[("user", "guest")],
        );
        check("/api/connections/username/channels", Some(Resource::Objects(OfObjects::UserConnections)), &[]);
        check(
            "/api/connections/a/channels",
            Some(Resource::Objects(OfObjects::ConnectionChannels)),
            &[("connection", "a")],
        );
        check(
            "/api/bindings/%2F/e/x/q/y/k~h",
            Some(Resource::Objects(OfObjects::Binding)),
            &[("source", "x"), ("type", "q"), ("destination", "y"), ("key", "k~h")],
        );
        check(
            "/api/exchanges/%2F//publish",
            Some(Resource::Objects(OfObjects::Publish)),
            &[("vhost", "/"), ("exchange", "")],
        );
        check("/api/exchanges/%2F/", Some(Resource::Objects(OfObjects::Exchanges)), &[("vhost", "/")]);
        check("/api/exchanges/%2F//", Some(Resource::Objects(OfObjects::Exchange)), &[("exchange", "")]);
        check("/api/bindings/%2F/e//q/y/y", Some(Resource::Objects(OfObjects::Binding)), &[("source", "")]);
        for path in [
            "/api",
            "/api/",
            "/",
            "/queues",
            "/api/nope",
            "/api//queues",
            "/api/queues/a/b/c",
            "/api/queues/a//bindings",
        ] {
            check(path, None, &[]);
        }
    }

    /// The answers of RabbitMQ 3.10.8 to OPTIONS.
    #[test]
    fn resources_have_the_methods_of_rabbitmq() {
        for (path, allow) in [
            ("/api/overview", "HEAD, GET, OPTIONS"),
            ("/api/queues/%2F/x", "HEAD, GET, PUT, DELETE, OPTIONS"),
            ("/api/queues/%2F/x/get", "POST, OPTIONS"),
            ("/api/queues/%2F/x/contents", "DELETE, OPTIONS"),
            ("/api/bindings/%2F/e/x/q/y", "HEAD, GET, POST, OPTIONS"),
            ("/api/bindings/%2F/e/x/q/y/~", "HEAD, GET, DELETE, OPTIONS"),
            ("/api/vhost-limits/%2F/max-queues", "PUT, DELETE, OPTIONS"),
            ("/api/reset", "DELETE, OPTIONS"),
        ] {
            let path = crate::http::request::Path::parse(path, "").unwrap();
            assert_eq!(find(path.segments()).unwrap().route.allow(), allow, "{path:?}");
        }
    }
}
