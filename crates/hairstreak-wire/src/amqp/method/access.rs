//! Class access: realms of AMQP 0-8, which old clients still request. RabbitMQ grants every request.

class! {
    30;
    /// The client asks for access to a realm.
    Request<'a> = 10, "access.request" {
        /// The name of the realm.
        realm: shortstr,
        /// Exclusive access.
        exclusive: bit,
        /// Access to check for objects.
        passive: bit,
        /// Access to create and delete objects.
        active: bit,
        /// Access to publish.
        write: bit,
        /// Access to consume.
        read: bit,
    }
    /// Access is granted.
    RequestOk = 11, "access.request-ok" {
        /// The ticket. Later methods carry it; servers ignore it.
        ticket: short,
    }
}
