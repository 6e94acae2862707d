//! Class connection: negotiation, opening and closing.

class! {
    10;
    /// The server's first method: its versions, mechanisms and locales.
    Start<'a> = 10, "connection.start" {
        /// The major version of the protocol: 0.
        version_major: octet,
        /// The minor version of the protocol: 9.
        version_minor: octet,
        /// The server's product, version and capabilities.
        server_properties: table,
        /// SASL mechanisms, with spaces between them.
        mechanisms: longstr,
        /// Locales, with spaces between them.
        locales: longstr,
    }
    /// The client chooses a mechanism.
    StartOk<'a> = 11, "connection.start-ok" {
        /// The client's product, version and capabilities.
        client_properties: table,
        /// The SASL mechanism.
        mechanism: shortstr,
        /// The first response of the mechanism.
        response: longstr,
        /// The locale.
        locale: shortstr,
    }
    /// A challenge of the SASL mechanism.
    Secure<'a> = 20, "connection.secure" {
        /// The challenge.
        challenge: longstr,
    }
    /// The response to a challenge.
    SecureOk<'a> = 21, "connection.secure-ok" {
        /// The response.
        response: longstr,
    }
    /// The server proposes limits.
    Tune = 30, "connection.tune" {
        /// The highest channel number; 0: no limit.
        channel_max: short,
        /// The largest frame in bytes, header and end included; 0: no limit.
        frame_max: long,
        /// The interval of heartbeats in seconds; 0: none.
        heartbeat: short,
    }
    /// The client settles the limits.
    TuneOk = 31, "connection.tune-ok" {
        /// The highest channel number; 0: no limit.
        channel_max: short,
        /// The largest frame in bytes, header and end included; 0: no limit.
        frame_max: long,
        /// The interval of heartbeats in seconds; 0: none.
        heartbeat: short,
    }
    /// The client opens a virtual host.
    Open<'a> = 40, "connection.open" {
        /// The name of the virtual host.
        virtual_host: shortstr,
        ; _: shortstr
        ; _: bit
    }
    /// The virtual host is open.
    OpenOk = 41, "connection.open-ok" {
        _: shortstr,
    }
    /// Either side closes the connection.
    Close<'a> = 50, "connection.close" {
        /// Reason as a number.
        reply_code: short,
        /// Reason as a text.
        reply_text: shortstr,
        /// Class of the method that failed; 0: no method failed.
        class_id: short,
        /// The method that failed; 0: no method failed.
        method_id: short,
    }
    /// The connection is closed.
    CloseOk = 51, "connection.close-ok" {}
    /// The server stops reading from a connection that publishes.
    Blocked<'a> = 60, "connection.blocked" {
        /// Reason.
        reason: shortstr,
    }
    /// The server resumes reading.
    Unblocked = 61, "connection.unblocked" {}
    /// The client replaces its secret before it expires.
    UpdateSecret<'a> = 70, "connection.update-secret" {
        /// The new secret.
        new_secret: longstr,
        /// Reason.
        reason: shortstr,
    }
    /// The new secret is in effect.
    UpdateSecretOk = 71, "connection.update-secret-ok" {}
}
