//! The table of routes: method, path, right and handler, a line each.
//!
//! The paths are RabbitMQ's, of 3.x and 4.x. The first path that fits counts, so that fixed words stand before names.
//! The lines of one path follow each other. HEAD goes with GET, and OPTIONS with every path.

use hairstreak_broker::policy::Scope;
use hyper::Method;

use super::{
    bindings, channels, connections, consumers, definitions, exchanges, health, limits, messages, nodes,
    overview, parameters, permissions, policies, queues, users, vhosts,
};
use crate::http::authorization::Requirement;
use crate::http::call::{Handler, Names};

/// A method of a path below `/api/`, where `:name` stands for any segment.
pub(crate) struct Route {
    method: Method,
    pub(crate) path: &'static str,
    pub(crate) requirement: Requirement,
    pub(crate) handler: Handler,
}

macro_rules! routes {
    ($($method:ident $path:literal $requirement:ident $noun:ident::$function:ident $(($argument:expr))?;)*) => {
        &[$(Route {
            method: Method::$method,
            path: $path,
            requirement: Requirement::$requirement,
            handler: |call| Box::pin($noun::$function(call $(, $argument)?)),
        }),*]
    };
}

/// All routes.
static ROUTES: &[Route] = routes! {
    GET    "overview"                                               Management       overview::show;
    GET    "cluster-name"                                           Management       parameters::show_cluster_name;
    PUT    "cluster-name"                                           Administrator    parameters::set_cluster_name;
    GET    "nodes"                                                  Monitoring       nodes::list;
    GET    "nodes/:node"                                            Monitoring       nodes::show;
    GET    "nodes/:node/memory"                                     Monitoring       nodes::show_memory;
    GET    "nodes/:node/memory/relative"                            Monitoring       nodes::show_relative_memory;
    GET    "extensions"                                             Management       nodes::list_nothing;
    GET    "all-configuration"                                      Administrator    definitions::export;
    POST   "all-configuration"                                      Administrator    definitions::import;
    GET    "definitions"                                            Administrator    definitions::export;
    POST   "definitions"                                            Administrator    definitions::import;
    GET    "definitions/:vhost"                                     Administrator    definitions::export;
    POST   "definitions/:vhost"                                     Administrator    definitions::import;
    GET    "whoami"                                                 Management       users::whoami;
    GET    "version"                                                Nothing          overview::version;
    GET    "auth"                                                   Nothing          users::auth;
    GET    "auth/attempts/:node"                                    Monitoring       users::attempts;
    DELETE "auth/attempts/:node"                                    Monitoring       users::reset_attempts;
    GET    "auth/attempts/:node/source"                             Monitoring       users::attempts_by_source;
    DELETE "auth/attempts/:node/source"                             Monitoring       users::reset_attempts;
    GET    "auth/hash_password/:password"                           Administrator    users::hash_password;
    GET    "parameters"                                             Policies         parameters::list;
    GET    "parameters/:component"                                  Policies         parameters::list;
    GET    "parameters/:component/:vhost"                           Policies         parameters::list;
    GET    "parameters/:component/:vhost/:name"                     Policies         parameters::show;
    PUT    "parameters/:component/:vhost/:name"                     Policies         parameters::set;
    DELETE "parameters/:component/:vhost/:name"                     Policies         parameters::clear;
    GET    "global-parameters"                                      GlobalParameters parameters::list_global;
    GET    "global-parameters/:name"                                GlobalParameters parameters::show_global;
    PUT    "global-parameters/:name"                                GlobalParameters parameters::set_global;
    DELETE "global-parameters/:name"                                GlobalParameters parameters::clear_global;
    GET    "policies"                                               VirtualHost      policies::list(Scope::User);
    GET    "policies/:vhost"                                        VirtualHost      policies::list(Scope::User);
    GET    "policies/:vhost/:name"                                  Policies         policies::show(Scope::User);
    PUT    "policies/:vhost/:name"                                  Policies         policies::set(Scope::User);
    DELETE "policies/:vhost/:name"                                  Policies         policies::clear(Scope::User);
    GET    "operator-policies"                                      VirtualHost      policies::list(Scope::Operator);
    GET    "operator-policies/:vhost"                               VirtualHost      policies::list(Scope::Operator);
    GET    "operator-policies/:vhost/:name"                         VirtualHost      policies::show(Scope::Operator);
    PUT    "operator-policies/:vhost/:name"                         Administrator    policies::set(Scope::Operator);
    DELETE "operator-policies/:vhost/:name"                         Administrator    policies::clear(Scope::Operator);
    GET    "vhost-limits"                                           VirtualHost      limits::list_of_vhosts;
    GET    "vhost-limits/:vhost"                                    SeenVirtualHost  limits::list_of_vhosts;
    PUT    "vhost-limits/:vhost/:name"                              Administrator    limits::set_of_vhost;
    DELETE "vhost-limits/:vhost/:name"                              Administrator    limits::clear_of_vhost;
    GET    "user-limits"                                            Management       limits::list_of_users;
    GET    "user-limits/:user"                                      Management       limits::list_of_users;
    PUT    "user-limits/:user/:name"                                Administrator    limits::set_of_user;
    DELETE "user-limits/:user/:name"                                Administrator    limits::clear_of_user;
    GET    "connections"                                            Management       connections::list;
    GET    "connections/username/:user"                             Management       connections::list_of_user;
    DELETE "connections/username/:user"                             Management       connections::close_of_user;
    GET    "connections/:connection"                                Management       connections::show;
    DELETE "connections/:connection"                                Management       connections::close;
    GET    "connections/:connection/channels"                       Management       channels::list_of_connection;
    GET    "channels"                                               Management       channels::list;
    GET    "channels/:channel"                                      Management       channels::show;
    GET    "consumers"                                              Management       consumers::list;
    GET    "consumers/:vhost"                                       Management       consumers::list;
    GET    "exchanges"                                              VirtualHost      exchanges::list;
    GET    "exchanges/:vhost"                                       VirtualHost      exchanges::list;
    GET    "exchanges/:vhost/:exchange"                             VirtualHost      exchanges::show;
    PUT    "exchanges/:vhost/:exchange"                             VirtualHost      exchanges::declare;
    DELETE "exchanges/:vhost/:exchange"                             VirtualHost      exchanges::delete;
    POST   "exchanges/:vhost/:exchange/publish"                     VirtualHost      messages::publish;
    GET    "exchanges/:vhost/:exchange/bindings/source"             VirtualHost      bindings::list_from;
    GET    "exchanges/:vhost/:exchange/bindings/destination"        VirtualHost      bindings::list_to;
    GET    "queues"                                                 VirtualHost      queues::list;
    GET    "queues/detailed"                                        VirtualHost      queues::list;
    GET    "queues/:vhost"                                          VirtualHost      queues::list;
    GET    "queues/:vhost/:queue"                                   VirtualHost      queues::show;
    PUT    "queues/:vhost/:queue"                                   VirtualHost      queues::declare;
    DELETE "queues/:vhost/:queue"                                   VirtualHost      queues::delete;
    GET    "queues/:vhost/:queue/bindings"                          VirtualHost      bindings::list_of_queue;
    DELETE "queues/:vhost/:queue/contents"                          VirtualHost      queues::purge;
    GET    "queues/:vhost/:queue/peek"                              VirtualHost      messages::peek;
    POST   "queues/:vhost/:queue/get"                               VirtualHost      messages::take;
    POST   "queues/:vhost/:queue/actions"                           Administrator    queues::act;
    GET    "bindings"                                               VirtualHost      bindings::list;
    GET    "bindings/:vhost"                                        VirtualHost      bindings::list;
    GET    "bindings/:vhost/e/:source/:type/:destination"           VirtualHost      bindings::list_between;
    POST   "bindings/:vhost/e/:source/:type/:destination"           VirtualHost      bindings::bind;
    GET    "bindings/:vhost/e/:source/:type/:destination/:key"      VirtualHost      bindings::show;
    DELETE "bindings/:vhost/e/:source/:type/:destination/:key"      VirtualHost      bindings::unbind;
    GET    "vhosts"                                                 Management       vhosts::list;
    GET    "vhosts/:vhost"                                          Administrator    vhosts::show;
    PUT    "vhosts/:vhost"                                          Administrator    vhosts::create;
    DELETE "vhosts/:vhost"                                          Administrator    vhosts::delete;
    POST   "vhosts/:vhost/start/:node"                              Administrator    vhosts::start;
    GET    "vhosts/:vhost/permissions"                              Administrator    permissions::list;
    GET    "vhosts/:vhost/topic-permissions"                        Administrator    permissions::list_topics;
    GET    "vhosts/:vhost/connections"                              VirtualHost      connections::list;
    GET    "vhosts/:vhost/channels"                                 VirtualHost      channels::list;
    POST   "vhosts/:vhost/deletion/protection"                      Administrator    vhosts::protect(true);
    DELETE "vhosts/:vhost/deletion/protection"                      Administrator    vhosts::protect(false);
    GET    "users"                                                  Administrator    users::list;
    POST   "users/bulk-delete"                                      Administrator    users::bulk_delete;
    GET    "users/without-permissions"                              Administrator    users::list_without_permissions;
    GET    "users/:user"                                            Administrator    users::show;
    PUT    "users/:user"                                            Administrator    users::create;
    DELETE "users/:user"                                            Administrator    users::delete;
    GET    "users/:user/permissions"                                Administrator    permissions::list;
    GET    "users/:user/topic-permissions"                          Administrator    permissions::list_topics;
    GET    "permissions"                                            Administrator    permissions::list;
    GET    "permissions/:vhost/:user"                               Administrator    permissions::show;
    PUT    "permissions/:vhost/:user"                               Administrator    permissions::set;
    DELETE "permissions/:vhost/:user"                               Administrator    permissions::clear;
    GET    "topic-permissions"                                      Administrator    permissions::list_topics;
    GET    "topic-permissions/:vhost/:user"                         Administrator    permissions::show_topics;
    PUT    "topic-permissions/:vhost/:user"                         Administrator    permissions::set_topic;
    DELETE "topic-permissions/:vhost/:user"                         Administrator    permissions::clear_topics;
    GET    "topic-permissions/:vhost/:user/:exchange"               Administrator    permissions::show_topics;
    PUT    "topic-permissions/:vhost/:user/:exchange"               Administrator    permissions::set_topic;
    DELETE "topic-permissions/:vhost/:user/:exchange"               Administrator    permissions::clear_topics;
    GET    "feature-flags"                                          Administrator    nodes::list_feature_flags;
    PUT    "feature-flags/:name/enable"                             Administrator    nodes::enable_feature_flag;
    GET    "deprecated-features"                                    Administrator    nodes::list_nothing;
    GET    "deprecated-features/used"                               Administrator    nodes::list_nothing;
    POST   "rebalance/queues"                                       Administrator    nodes::do_nothing;
    DELETE "reset"                                                  Administrator    nodes::do_nothing;
    DELETE "reset/:node"                                            Administrator    nodes::do_nothing;
    GET    "aliveness-test/:vhost"                                  Permissions      vhosts::test_aliveness;
    GET    "healthchecks/node"                                      Management       health::node;
    GET    "healthchecks/node/:node"                                Management       health::node;
    GET    "health/checks/alarms"                                   Management       health::alarms;
    GET    "health/checks/local-alarms"                             Management       health::alarms;
    GET    "health/checks/certificate-expiration/:within/:unit"     Management       health::certificates;
    GET    "health/checks/port-listener/:port"                      Management       health::port;
    GET    "health/checks/protocol-listener/:protocol"              Management       health::protocol;
    GET    "health/checks/virtual-hosts"                            Management       health::passed;
    GET    "health/checks/node-is-mirror-sync-critical"             Management       health::single_node;
    GET    "health/checks/node-is-quorum-critical"                  Management       health::single_node;
    GET    "health/checks/metadata-store/initialized"               Management       health::passed;
    GET    "health/checks/metadata-store/initialized/with-data"     Management       health::passed;
    GET    "health/checks/is-in-service"                            Nothing          health::passed;
    GET    "health/checks/ready-to-serve-clients"                   Nothing          health::passed;
    GET    "health/checks/reached-target-cluster-size"              Nothing          health::passed;
    GET    "health/checks/below-node-connection-limit"              Nothing          health::connections;
    GET    "shovels"                                                Management       nodes::list_nothing;
    GET    "shovels/:vhost"                                         Management       nodes::list_nothing;
    GET    "federation-links"                                       Management       nodes::list_nothing;
    GET    "federation-links/:vhost"                                Management       nodes::list_nothing;
};

/// The names of exchanges, which may be empty: `exchanges/%2F//publish` publishes to the default exchange.
const MAYBE_EMPTY: [&str; 3] = ["exchange", "source", "destination"];

/// Finds the routes of a path, and the segments that stand for names.
pub(crate) fn find(segments: &[Vec<u8>]) -> Option<(&'static [Route], Names)> {
    let (first, rest) = segments.split_first()?;
    if first != b"api" {
        return None;
    }
    let mut paths = ROUTES.chunk_by(|one, other| one.path == other.path);
    paths.find_map(|routes| Some((routes, names(routes[0].path, rest)?)))
}

/// The segments that stand for names, if the path fits.
fn names(path: &'static str, segments: &[Vec<u8>]) -> Option<Names> {
    let mut names = Names::new();
    let mut parts = path.split('/');
    for segment in segments {
        let part = parts.next()?;
        match part.strip_prefix(':') {
            Some(name) if !segment.is_empty() || MAYBE_EMPTY.contains(&name) => {
                names.push((name, segment.clone()));
            }
            None if part.as_bytes() == segment => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(names)
}

/// Returns the route of a method among the routes of a path.
pub(crate) fn of_method(routes: &'static [Route], method: &Method) -> Option<&'static Route> {
    let is_read = *method == Method::HEAD;
    routes.iter().find(|route| route.method == *method || is_read && route.method == Method::GET)
}

/// The value of the header `Allow`, in RabbitMQ's order.
pub(crate) fn allow(routes: &[Route]) -> String {
    let words = routes.iter().map(|route| match route.method {
        Method::GET => "HEAD, GET",
        ref method => method.as_str(),
    });
    words.chain(["OPTIONS"]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, route: Option<&str>, names: &[(&str, &str)]) {
        let path = crate::http::request::Path::parse(path, "").unwrap();
        let found = find(path.segments());
        assert_eq!(found.as_ref().map(|(routes, _)| routes[0].path), route, "{path:?}");
        for (name, value) in names {
            let (_, found) = found.as_ref().unwrap();
            let segment = found.iter().find(|(other, _)| other == name).map(|(_, segment)| &**segment);
            assert_eq!(segment, Some(value.as_bytes()), "{path:?}");
        }
    }

    #[test]
    fn paths_mean_resources() {
        check("/api/queues", Some("queues"), &[]);
        check("/api/queues/", Some("queues"), &[]);
        check("/api/queues/%2F", Some("queues/:vhost"), &[("vhost", "/")]);
        check("/api/queues/%2F/a%2Fb", Some("queues/:vhost/:queue"), &[("vhost", "/"), ("queue", "a/b")]);
        check("/api/users/bulk-delete", Some("users/bulk-delete"), &[]);
        check("/api/users/other", Some("users/:user"), &[("user", "other")]);
        check("/api/connections/username/guest", Some("connections/username/:user"), &[("user", "guest")]);
        check("/api/connections/username/channels", Some("connections/username/:user"), &[]);
        check(
            "/api/connections/a/channels",
            Some("connections/:connection/channels"),
            &[("connection", "a")],
        );
        check(
            "/api/bindings/%2F/e/x/q/y/k~h",
            Some("bindings/:vhost/e/:source/:type/:destination/:key"),
            &[("source", "x"), ("type", "q"), ("destination", "y"), ("key", "k~h")],
        );
        check(
            "/api/exchanges/%2F//publish",
            Some("exchanges/:vhost/:exchange/publish"),
            &[("vhost", "/"), ("exchange", "")],
        );
        check("/api/exchanges/%2F/", Some("exchanges/:vhost"), &[("vhost", "/")]);
        check("/api/exchanges/%2F//", Some("exchanges/:vhost/:exchange"), &[("exchange", "")]);
        check(
            "/api/bindings/%2F/e//q/y/y",
            Some("bindings/:vhost/e/:source/:type/:destination/:key"),
            &[("source", "")],
        );
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
            assert_eq!(super::allow(find(path.segments()).unwrap().0), allow, "{path:?}");
        }
    }

    #[test]
    fn the_routes_of_a_path_follow_each_other_in_the_order_of_allow() {
        let order = [Method::GET, Method::PUT, Method::POST, Method::DELETE];
        let place = |route: &Route| order.iter().position(|method| *method == route.method);
        for (index, route) in ROUTES.iter().enumerate() {
            let later = ROUTES[index + 1..].iter().filter(|other| other.path == route.path);
            for (distance, other) in later.enumerate() {
                assert!(
                    ROUTES[index + 1 + distance].path == route.path && place(route) < place(other),
                    "{}",
                    route.path
                );
            }
        }
    }
}
