//! `Resource`: whatever a path may mean.

/// A resource of the API, by what it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Node(OfNode),
    Users(OfUsers),
    Settings(OfSettings),
    Objects(OfObjects),
}

/// The node: its versions, its health, and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfNode {
    Overview,
    ClusterName,
    Nodes,
    Node,
    NodeMemory,
    NodeMemoryRelative,
    Extensions,
    Version,
    FeatureFlags,
    FeatureFlagEnable,
    DeprecatedFeatures,
    RebalanceQueues,
    Reset,
    HealthNode,
    HealthAlarms,
    HealthCertificates,
    HealthPort,
    HealthProtocol,
    /// A check that a node that answers has passed.
    HealthOk,
    HealthSingleNode,
    HealthConnections,
    /// A list that is empty here: shovels, links of federations.
    NoRows,
}

/// Users and their rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfUsers {
    Whoami,
    Auth,
    AuthAttempts,
    AuthAttemptsBySource,
    HashPassword,
    Users,
    UsersBulkDelete,
    UsersWithoutPermissions,
    User,
    UserPermissions,
    UserTopicPermissions,
    Permissions,
    Permission,
    TopicPermissions,
    TopicPermission,
    UserLimits,
    UserLimit,
}

/// Definitions, and virtual hosts with their settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfSettings {
    Definitions,
    Parameters,
    Parameter,
    GlobalParameters,
    GlobalParameter,
    Policies,
    Policy,
    OperatorPolicies,
    OperatorPolicy,
    VhostLimits,
    VhostLimit,
    Vhosts,
    Vhost,
    VhostStart,
    VhostPermissions,
    VhostTopicPermissions,
    VhostConnections,
    VhostChannels,
    VhostProtection,
    AlivenessTest,
}

/// Live objects: connections, exchanges, queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfObjects {
    Connections,
    UserConnections,
    Connection,
    ConnectionChannels,
    Channels,
    Channel,
    Consumers,
    Exchanges,
    Exchange,
    Publish,
    BindingsFrom,
    BindingsTo,
    Queues,
    Queue,
    QueueBindings,
    QueueContents,
    QueueGet,
    QueuePeek,
    QueueActions,
    Bindings,
    BindingsBetween,
    Binding,
}
