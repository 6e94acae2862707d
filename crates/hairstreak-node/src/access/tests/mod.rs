//! Tests of the whole module. RabbitMQ's answers were taken from RabbitMQ 3.10.8.

mod checks;
mod floods;
mod hashes;
mod limits;
mod logins;
mod registry;
mod topics;

use std::sync::mpsc;
use std::time::Duration;

use super::*;

/// Long enough for any hash, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A peer that is not on this host.
const FAR: [u8; 4] = [192, 0, 2, 1];

/// A hash that takes microseconds.
fn cheap() -> Argon2idParameters {
    Argon2idParameters::new(8, 1).unwrap()
}

fn far() -> Peer {
    Peer::at(FAR.into())
}

fn hash(password: &str) -> PasswordHash {
    PasswordHash::of(password.as_bytes(), HashingAlgorithm::Argon2id, cheap()).unwrap()
}

/// The virtual hosts `/` and `other`, and no user.
fn access() -> Access {
    let access = Access::start(AccessOptions { argon2id: cheap(), ..AccessOptions::default() }).unwrap();
    assert!(access.add_virtual_host("/") && access.add_virtual_host("other"));
    access
}

impl Access {
    fn add(&self, name: &str, password: &str) {
        let update = UserUpdate { password_hash: Some(hash(password)), ..UserUpdate::default() };
        self.put_user(name, update).unwrap();
    }

    fn permit(&self, user: &str, virtual_host: &str, [configure, write, read]: [&str; 3]) {
        let permission = Permission {
            user: user.into(),
            virtual_host: virtual_host.into(),
            configure: configure.into(),
            write: write.into(),
            read: read.into(),
        };
        self.set_permission(permission).unwrap();
    }

    fn permit_topics(&self, user: &str, exchange: &str, write: &str, read: &str) {
        let permission = TopicPermission {
            user: user.into(),
            virtual_host: "/".into(),
            exchange: exchange.into(),
            write: write.into(),
            read: read.into(),
        };
        self.set_topic_permission(permission).unwrap();
    }

    /// Logs in and waits for the answer.
    fn log_in_and_wait(&self, name: &str, password: &str, peer: Peer) -> LoginResult {
        let (sender, receiver) = mpsc::channel();
        match self
            .log_in(name.as_bytes(), password.as_bytes(), peer, move |result| sender.send(result).unwrap())
        {
            Login::Now(result) => result,
            Login::Later => receiver.recv_timeout(PATIENCE).unwrap(),
        }
    }

    fn is_let_in(&self, name: &str, password: &str) -> bool {
        self.log_in_and_wait(name, password, far()).is_ok()
    }

    /// Returns the identity of a user without a check of the password.
    fn identity(&self, name: &str) -> std::sync::Arc<Identity> {
        self.log_in_without_password(name.as_bytes(), Peer::local()).unwrap()
    }
}
