//! `LoginFrom`: the part of a client's certificate that is the user's name for EXTERNAL.

use serde::Deserialize;

/// The part of a client's certificate that is the user's name, as `ssl_cert_login_from` of RabbitMQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginFrom {
    /// The common names, with a comma between them. The first choice of most.
    #[default]
    CommonName,
    /// The whole distinguished name, such as `CN=shop,O=Example`.
    DistinguishedName,
    /// An alternative name of the subject.
    SubjectAlternativeName {
        /// Which kind of name.
        kind: AlternativeNameKind,
        /// Which of several names of that kind, counted from 0.
        index: usize,
    },
}

/// A kind of alternative name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlternativeNameKind {
    /// A DNS name.
    #[default]
    Dns,
    /// A mail address.
    Email,
    /// A URI.
    Uri,
    /// An IP address.
    Ip,
}
