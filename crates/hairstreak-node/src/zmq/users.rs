//! `Users`: the users who log in at the ROUTERs of the node, and their rights.
//!
//! ```text
//!   client --- NULL ------------------> from this host: let in, without a user; else refused
//!          --- PLAIN, name, password -> Access, on a thread of its own if the password was not right before
//!          --- CURVE, key ------------> Access
//!                                         |
//!                routing id: "0 and a number"@"LOGIN NAME" <--- which Machine and Gate find the user by
//! ```
//!
//! A name does not identify a user: a user may be deleted, and another one of that name created. LOGIN numbers them.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use hairstreak_services::{Gate, Operation};
use hairstreak_socket::reqrep::user_of;
use hairstreak_socket::security::{
    Answer, Applicant, Authenticator, Credentials, KeyPair, Mechanisms, Security, Server, Verdict,
};
use parking_lot::Mutex;

use crate::access::{self, Identity, Login, LoginError, LoginResult, Peer, Protocol, VirtualHostPermissions};
use crate::node::Node;

/// The virtual host whose permissions hold for services and the directory.
const VIRTUAL_HOST: &str = "/";
/// Number of logins at which deleted users are first searched for. Later searches start at twice the number after the last one.
const SEARCHED_COUNT_MIN: usize = 64;

/// Admits peers and keeps their rights. Shared by the directory and services.
pub(crate) struct Users {
    node: Arc<Node>,
    /// True if peers of this host need no credentials.
    allows_anonymous: bool,
    logins: Mutex<Logins>,
}

/// Users who have logged in, by name.
#[derive(Default)]
struct Logins {
    by_name: HashMap<Arc<str>, KnownUser>,
    last_number: u64,
    searched_count: usize,
}

struct KnownUser {
    number: u64,
    identity: Arc<Identity>,
    /// As of that generation.
    permissions: Option<Arc<VirtualHostPermissions>>,
    generation: Option<u64>,
}

impl Users {
    pub fn new(node: Arc<Node>, allows_anonymous: bool) -> Arc<Users> {
        Arc::new(Users { node, allows_anonymous, logins: Mutex::default() })
    }

    /// Returns the security of a ROUTER. Without keys there is no CURVE.
    pub fn security(self: &Arc<Users>, keys: Option<KeyPair>) -> Security {
        let mechanisms = Mechanisms { null: true, plain: true, curve: keys };
        let users = Arc::clone(self);
        let authenticator = Authenticator::deferred(move |applicant, answer| users.judge(&applicant, answer));
        Security::Server(Server::new(mechanisms, authenticator).assigning_ids())
    }

    fn judge(self: &Arc<Users>, applicant: &Applicant, answer: Answer) {
        // A dropped answer refuses.
        let Some(peer) = place_of(applicant.remote, &applicant.endpoint) else { return };
        match &applicant.credentials {
            Credentials::Null if self.allows_anonymous && peer.is_loopback() => {
                answer.give(Verdict::Accept { user_id: None });
            }
            Credentials::Null => {
                self.node.refused_logins.tell(applicant.remote, "ZMTP NULL", "credentials are needed");
            }
            Credentials::Plain { username, password } => {
                // The login is decided here or on the thread of logins.
                let waiting = Arc::new(Mutex::new(Some(answer)));
                let (users, later) = (Arc::clone(self), Arc::clone(&waiting));
                let remote = applicant.remote;
                let then = move |result| users.answer(&later, result, remote);
                if let Login::Now(result) = self.node.access.log_in(username, password, peer, then) {
                    self.answer(&waiting, result, remote);
                }
            }
            Credentials::Curve { public_key } => {
                let result = self.node.access.log_in_by_curve_key(public_key, peer);
                answer.give(self.verdict(result, applicant.remote, "ZMTP CURVE"));
            }
        }
    }

    fn answer(&self, waiting: &Mutex<Option<Answer>>, result: LoginResult, remote: Option<SocketAddr>) {
        let answer = waiting.lock().take();
        if let Some(answer) = answer {
            answer.give(self.verdict(result, remote, "ZMTP PLAIN"));
        }
    }

    fn verdict(&self, result: LoginResult, remote: Option<SocketAddr>, mechanism: &str) -> Verdict {
        if let Err(error) = &result {
            self.node.refused_logins.tell(remote, mechanism, error);
        }
        match result {
            Ok(identity) => match self.logins.lock().add(identity) {
                Some(user_id) => Verdict::Accept { user_id: Some(user_id) },
                None => Verdict::Refuse,
            },
            Err(LoginError::TryLater) => Verdict::TryLater,
            Err(_) => Verdict::Refuse,
        }
    }

    /// The present rights of a user, by the user id that `add` gave. None: the user has no rights.
    fn permissions(&self, user_id: &str) -> Option<Arc<VirtualHostPermissions>> {
        let (number, name) = user_id.split_once(' ')?;
        let number = number.parse().ok()?;
        self.logins.lock().find(number, name)?.permissions().cloned()
    }
}

impl Logins {
    /// Notes a user who has logged in, and returns the user id for the peer. `None`: the user was deleted meanwhile.
    fn add(&mut self, identity: Arc<Identity>) -> Option<String> {
        if identity.is_deleted() {
            return None;
        }
        let name = Arc::clone(identity.user());
        if let Some(known) = self.by_name.get(&name).filter(|known| !known.identity.is_deleted()) {
            return Some(format!("{} {name}", known.number));
        }
        if self.by_name.len() >= (2 * self.searched_count).max(SEARCHED_COUNT_MIN) {
            self.by_name.retain(|_, known| !known.identity.is_deleted());
            self.searched_count = self.by_name.len();
        }
        self.last_number += 1;
        let number = self.last_number;
        let user_id = format!("{number} {name}");
        self.by_name.insert(name, KnownUser { number, identity, permissions: None, generation: None });
        Some(user_id)
    }

    fn find(&mut self, number: u64, name: &str) -> Option<&mut KnownUser> {
        self.by_name.get_mut(name).filter(|known| known.number == number)
    }
}

impl KnownUser {
    fn permissions(&mut self) -> Option<&Arc<VirtualHostPermissions>> {
        // Read before the permissions: a change in between makes the next check read the permissions again.
        let generation = self.identity.generation();
        if self.generation != Some(generation) {
            self.permissions = self.identity.permissions(VIRTUAL_HOST);
            self.generation = Some(generation);
        }
        self.permissions.as_ref()
    }
}

/// The gate of one machine.
#[derive(Clone)]
pub(crate) struct UserGate(pub Arc<Users>);

impl Gate for UserGate {
    fn user<'id>(&self, routing_id: &'id [u8]) -> Option<&'id str> {
        user_of(routing_id)
    }

    fn generation(&self) -> u64 {
        self.0.node.access.generation()
    }

    fn allows(&self, user: &str, operation: Operation, name: &[u8]) -> bool {
        let operation = match operation {
            Operation::Configure => access::Operation::Configure,
            Operation::Write => access::Operation::Write,
            Operation::Read => access::Operation::Read,
        };
        self.0.permissions(user).is_some_and(|permissions| permissions.allows(operation, name))
    }
}

impl fmt::Debug for UserGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserGate")
    }
}

/// Returns the host that a login comes from. `None`: unknown, because the peer of a tcp connection has left.
fn place_of(remote: Option<SocketAddr>, endpoint: &str) -> Option<Peer> {
    match remote {
        Some(address) => Some(Peer::at(address.ip()).by(Protocol::Zmtp)),
        None if endpoint.starts_with("tcp://") => None,
        None => Some(Peer::local().by(Protocol::Zmtp)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use crate::definitions::PermissionDefinition;
    use crate::operator;
    use crate::operator::users::{By, UserChanges};

    /// A user with a permission to write to `name`.
    fn add_user(node: &Node, name: &str) {
        operator::users::put(node, name, UserChanges::default(), By::Operator).unwrap();
        let (user, vhost, write) = (name.to_owned(), VIRTUAL_HOST.to_owned(), "^name$".to_owned());
        let permission =
            PermissionDefinition { user, vhost, configure: "^$".into(), write, read: "^$".into() };
        operator::users::set_permission(node, permission, By::Operator).unwrap();
    }

    fn log_in(users: &Users, name: &str) -> String {
        let identity = users.node.access.log_in_without_password(name.as_bytes(), Peer::local()).unwrap();
        users.logins.lock().add(identity).unwrap()
    }

    #[test]
    fn a_user_of_the_same_name_later_is_another_one() {
        let node = Arc::new(operator::open(&NodeConfig::default()).unwrap());
        let users = Users::new(Arc::clone(&node), true);
        let gate = UserGate(Arc::clone(&users));
        let writes = |user: &str| gate.allows(user, Operation::Write, b"name");
        add_user(&node, "ann");
        let first = log_in(&users, "ann");
        assert_eq!(log_in(&users, "ann"), first, "another connection of the same user");
        assert!(writes(&first) && !gate.allows(&first, Operation::Read, b"name"));
        assert!(!gate.allows(&first, Operation::Write, b"other"));
        let late = node.access.log_in_without_password(b"ann", Peer::local()).unwrap();
        let generation = gate.generation();
        drop(operator::users::delete(&node, "ann", By::Operator).unwrap());
        assert_ne!(gate.generation(), generation);
        assert!(!writes(&first));
        assert_eq!(users.logins.lock().add(late), None, "deleted while the password was checked");
        add_user(&node, "ann");
        assert!(!writes(&first));
        let second = log_in(&users, "ann");
        assert!(writes(&second) && !writes(&first));
        for nobody in ["ann", "", "1", " ann", "x ann", "99 ann", "1 bob"] {
            assert!(!writes(nobody), "{nobody}");
        }
    }

    #[test]
    fn users_who_were_deleted_are_forgotten() {
        let node = Arc::new(operator::open(&NodeConfig::default()).unwrap());
        let users = Users::new(Arc::clone(&node), true);
        for number in 0..1_000 {
            let name = format!("user {number}");
            add_user(&node, &name);
            assert!(log_in(&users, &name).ends_with(&name));
            drop(operator::users::delete(&node, &name, By::Operator).unwrap());
        }
        assert!(users.logins.lock().by_name.len() <= SEARCHED_COUNT_MIN);
    }

    #[test]
    fn peers_without_an_address_are_of_this_host_unless_they_came_by_tcp() {
        let at = |text: &str| Some(text.parse().unwrap());
        for (remote, endpoint, is_loopback) in [
            (at("127.3.2.1:5"), "tcp://*:5555", Some(true)),
            (at("[::1]:5"), "tcp://*:5555", Some(true)),
            (at("[::ffff:127.0.0.1]:5"), "tcp://*:5555", Some(true)),
            (at("10.0.0.1:5"), "tcp://*:5555", Some(false)),
            (at("[::ffff:10.0.0.1]:5"), "tcp://*:5555", Some(false)),
            (at("[fe80::1]:5"), "tcp://*:5555", Some(false)),
            (None, "tcp://127.0.0.1:5555", None),
            (None, "ipc:///run/services", Some(true)),
            (None, "shm://services", Some(true)),
            (None, "vortex://a/1", Some(true)),
        ] {
            let place = place_of(remote, endpoint);
            assert_eq!(place.map(Peer::is_loopback), is_loopback, "{remote:?} {endpoint}");
        }
    }
}
