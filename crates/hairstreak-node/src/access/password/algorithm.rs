//! `HashingAlgorithm`: how a password is hashed, and the name of that in definitions.

/// Algorithm that hashes a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashingAlgorithm {
    /// Argon2id, which needs much memory for each try: the choice for new passwords. RabbitMQ does not know it.
    #[default]
    Argon2id,
    /// RabbitMQ's choice since 3.6: salt and SHA-256.
    Sha256,
    /// Salt and SHA-512, a choice of RabbitMQ's configuration.
    Sha512,
    /// Salt and MD5, RabbitMQ's choice until 3.5. For the import of old definitions only.
    Md5,
}

impl HashingAlgorithm {
    /// All algorithms.
    pub const ALL: [HashingAlgorithm; 4] = [
        HashingAlgorithm::Argon2id,
        HashingAlgorithm::Sha256,
        HashingAlgorithm::Sha512,
        HashingAlgorithm::Md5,
    ];

    /// The name: `hashing_algorithm` in definitions.
    pub const fn name(self) -> &'static str {
        match self {
            HashingAlgorithm::Argon2id => "hairstreak_argon2id",
            HashingAlgorithm::Sha256 => "rabbit_password_hashing_sha256",
            HashingAlgorithm::Sha512 => "rabbit_password_hashing_sha512",
            HashingAlgorithm::Md5 => "rabbit_password_hashing_md5",
        }
    }

    /// The algorithm with that name.
    pub fn from_name(name: &str) -> Option<HashingAlgorithm> {
        HashingAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// The algorithm of hashes without `hashing_algorithm`: MD5 in definitions that RabbitMQ 3.0 to 3.5 exported, else SHA-256.
    ///
    /// `rabbitmq_version` is the definitions' `rabbit_version` or `rabbitmq_version`.
    pub fn of_definitions(rabbitmq_version: Option<&str>) -> HashingAlgorithm {
        let is_old = |version: &str| (0..=5).any(|minor: u8| version.starts_with(&format!("3.{minor}.")));
        if rabbitmq_version.is_some_and(is_old) { HashingAlgorithm::Md5 } else { HashingAlgorithm::Sha256 }
    }
}
