//! `dispatch`: from a resource and a method to its function.

use hairstreak_broker::policy::Scope;
use hyper::Method;
use serde_json::Value;

use super::resource::{OfNode, OfObjects, OfSettings, OfUsers, Resource};
use super::{
    bindings, channels, connections, consumers, definitions, exchanges, feature_flags, health, identity,
    limits, messages, nodes, overview, parameters, permissions, policies, queues, users, vhosts,
};
use crate::http::call::{Answer, Call, nothing};
use crate::http::list::Held;

/// The method of a call, as far as routes tell methods apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Put,
    Post,
    Delete,
}

/// Answers a call whose route has its method.
pub(crate) async fn dispatch(call: &mut Call<'_>) -> Answer {
    let verb = match call.request.method {
        Method::PUT => Verb::Put,
        Method::POST => Verb::Post,
        Method::DELETE => Verb::Delete,
        _ => Verb::Get,
    };
    match call.found.route.resource {
        Resource::Node(resource) => answer_for_node(call, resource, verb).await,
        Resource::Users(resource) => answer_for_users(call, resource, verb).await,
        Resource::Settings(resource) => answer_for_settings(call, resource, verb).await,
        Resource::Objects(resource) => answer_for_objects(call, resource, verb).await,
    }
}

async fn answer_for_node(call: &mut Call<'_>, resource: OfNode, verb: Verb) -> Answer {
    match (resource, verb) {
        (OfNode::Overview, _) => overview::show(call),
        (OfNode::ClusterName, Verb::Put) => parameters::set_cluster_name(call).await,
        (OfNode::ClusterName, _) => parameters::show_cluster_name(call),
        (OfNode::Nodes, _) => nodes::list(call).await,
        (OfNode::Node, _) => nodes::show(call),
        (OfNode::NodeMemory, _) => nodes::show_memory(call),
        (OfNode::NodeMemoryRelative, _) => nodes::show_relative_memory(call),
        (OfNode::Extensions, _) => identity::extensions(call).await,
        (OfNode::Version, _) => identity::version(call),
        (OfNode::FeatureFlags, _) => feature_flags::list(call).await,
        (OfNode::FeatureFlagEnable, _) => feature_flags::enable(call),
        (OfNode::DeprecatedFeatures, _) => feature_flags::list_deprecated(call).await,
        (OfNode::HealthNode, _) => health::node(call),
        (OfNode::HealthAlarms, _) => health::alarms(call),
        (OfNode::HealthCertificates, _) => health::certificates(call),
        (OfNode::HealthPort, _) => health::port(call),
        (OfNode::HealthProtocol, _) => health::protocol(call),
        (OfNode::HealthSingleNode, _) => health::single_node(call),
        (OfNode::HealthConnections, _) => health::connections(call),
        (OfNode::HealthOk, _) => health::passed(call),
        // There is nothing to move between nodes, and statistics are not kept apart from the objects.
        (OfNode::RebalanceQueues | OfNode::Reset, _) => nothing(),
        (OfNode::NoRows, _) => call.list(Held::<Value>::default()).await,
    }
}

async fn answer_for_users(call: &mut Call<'_>, resource: OfUsers, verb: Verb) -> Answer {
    match (resource, verb) {
        (OfUsers::Whoami, _) => identity::whoami(call),
        (OfUsers::Auth, _) => identity::auth(call),
        (OfUsers::AuthAttempts | OfUsers::AuthAttemptsBySource, Verb::Delete) => {
            identity::reset_attempts(call)
        }
        (OfUsers::AuthAttempts, _) => identity::attempts(call).await,
        (OfUsers::AuthAttemptsBySource, _) => identity::attempts_by_source(call).await,
        (OfUsers::HashPassword, _) => identity::hash_password(call).await,
        (OfUsers::Users, _) => users::list(call).await,
        (OfUsers::UsersBulkDelete, _) => users::bulk_delete(call).await,
        (OfUsers::UsersWithoutPermissions, _) => users::list_without_permissions(call).await,
        (OfUsers::User, Verb::Put) => users::create(call).await,
        (OfUsers::User, Verb::Delete) => users::delete(call).await,
        (OfUsers::User, _) => users::show(call),
        (OfUsers::UserPermissions, _) => permissions::list_of_user(call).await,
        (OfUsers::UserTopicPermissions, _) => permissions::list_topics_of_user(call).await,
        (OfUsers::Permissions, _) => permissions::list(call).await,
        (OfUsers::Permission, Verb::Put) => permissions::set(call).await,
        (OfUsers::Permission, Verb::Delete) => permissions::clear(call).await,
        (OfUsers::Permission, _) => permissions::show(call),
        (OfUsers::TopicPermissions, _) => permissions::list_topics(call).await,
        (OfUsers::TopicPermission, Verb::Put) => permissions::set_topic(call).await,
        (OfUsers::TopicPermission, Verb::Delete) => permissions::clear_topics(call).await,
        (OfUsers::TopicPermission, _) => permissions::show_topics(call).await,
        (OfUsers::UserLimits, _) => limits::list_of_users(call).await,
        (OfUsers::UserLimit, Verb::Put) => limits::set_of_user(call).await,
        (OfUsers::UserLimit, _) => limits::clear_of_user(call).await,
    }
}

async fn answer_for_settings(call: &mut Call<'_>, resource: OfSettings, verb: Verb) -> Answer {
    match (resource, verb) {
        (OfSettings::Definitions, Verb::Post) => definitions::import(call).await,
        (OfSettings::Definitions, _) => definitions::export(call).await,
        (OfSettings::Parameters, _) => parameters::list(call).await,
        (OfSettings::Parameter, Verb::Put) => parameters::set(call).await,
        (OfSettings::Parameter, Verb::Delete) => parameters::clear(call).await,
        (OfSettings::Parameter, _) => parameters::show(call),
        (OfSettings::GlobalParameters, _) => parameters::list_global(call).await,
        (OfSettings::GlobalParameter, Verb::Put) => parameters::set_global(call).await,
        (OfSettings::GlobalParameter, Verb::Delete) => parameters::clear_global(call).await,
        (OfSettings::GlobalParameter, _) => parameters::show_global(call),
        (OfSettings::Policies, _) => policies::list(call, Scope::User).await,
        (OfSettings::OperatorPolicies, _) => policies::list(call, Scope::Operator).await,
        (OfSettings::Policy, verb) => answer_for_policy(call, Scope::User, verb).await,
        (OfSettings::OperatorPolicy, verb) => answer_for_policy(call, Scope::Operator, verb).await,
        (OfSettings::VhostLimits, _) => limits::list_of_vhosts(call).await,
        (OfSettings::VhostLimit, Verb::Put) => limits::set_of_vhost(call).await,
        (OfSettings::VhostLimit, _) => limits::clear_of_vhost(call).await,
        (OfSettings::Vhosts, _) => vhosts::list(call).await,
        (OfSettings::Vhost, Verb::Put) => vhosts::create(call).await,
        (OfSettings::Vhost, Verb::Delete) => vhosts::delete(call).await,
        (OfSettings::Vhost, _) => vhosts::show(call),
        (OfSettings::VhostStart, _) => vhosts::start(call),
        (OfSettings::VhostPermissions, _) => permissions::list_of_vhost(call).await,
        (OfSettings::VhostTopicPermissions, _) => permissions::list_topics_of_vhost(call).await,
        (OfSettings::VhostConnections, _) => connections::list_of_host(call).await,
        (OfSettings::VhostChannels, _) => channels::list_of_host(call).await,
        (OfSettings::VhostProtection, verb) => vhosts::protect(call, verb == Verb::Post).await,
        (OfSettings::AlivenessTest, _) => vhosts::test_aliveness(call),
    }
}

async fn answer_for_policy(call: &mut Call<'_>, scope: Scope, verb: Verb) -> Answer {
    match verb {
        Verb::Put => policies::set(call, scope).await,
        Verb::Delete => policies::clear(call, scope).await,
        _ => policies::show(call, scope),
    }
}

async fn answer_for_objects(call: &mut Call<'_>, resource: OfObjects, verb: Verb) -> Answer {
    match (resource, verb) {
        (OfObjects::Connections, _) => connections::list(call).await,
        (OfObjects::UserConnections, Verb::Delete) => connections::close_of_user(call),
        (OfObjects::UserConnections, _) => connections::list_of_user(call).await,
        (OfObjects::Connection, Verb::Delete) => connections::close(call),
        (OfObjects::Connection, _) => connections::show(call),
        (OfObjects::ConnectionChannels, _) => channels::list_of_connection(call).await,
        (OfObjects::Channels, _) => channels::list(call).await,
        (OfObjects::Channel, _) => channels::show(call),
        (OfObjects::Consumers, _) => consumers::list(call).await,
        (OfObjects::Exchanges, _) => exchanges::list(call).await,
        (OfObjects::Exchange, Verb::Put) => exchanges::declare(call).await,
        (OfObjects::Exchange, Verb::Delete) => exchanges::delete(call).await,
        (OfObjects::Exchange, _) => exchanges::show(call),
        (OfObjects::Publish, _) => messages::publish(call).await,
        (OfObjects::BindingsFrom, _) => bindings::list_from(call).await,
        (OfObjects::BindingsTo, _) => bindings::list_to(call).await,
        (OfObjects::Queues, _) => queues::list(call).await,
        (OfObjects::Queue, Verb::Put) => queues::declare(call).await,
        (OfObjects::Queue, Verb::Delete) => queues::delete(call).await,
        (OfObjects::Queue, _) => queues::show(call),
        (OfObjects::QueueBindings, _) => bindings::list_of_queue(call).await,
        (OfObjects::QueueContents, _) => queues::purge(call),
        (OfObjects::QueueGet, _) => messages::take(call).await,
        (OfObjects::QueuePeek, _) => messages::peek(call),
        (OfObjects::QueueActions, _) => queues::act(call).await,
        (OfObjects::Bindings, _) => bindings::list(call).await,
        (OfObjects::BindingsBetween, Verb::Post) => bindings::bind(call).await,
        (OfObjects::BindingsBetween, _) => bindings::list_between(call).await,
        (OfObjects::Binding, Verb::Delete) => bindings::unbind(call).await,
        (OfObjects::Binding, _) => bindings::show(call),
    }
}
