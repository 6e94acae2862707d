//! `LoginQueue`: the logins that wait for the hashing thread, with a turn for each network.
//!
//! A flood of wrong passwords from one network waits behind itself. When the queue is full, a login from a network with fewer
//! waiting takes the place of the newest one from the network with most. Logins with the same name and password wait together.
//!
//! - `LoginJob`: a name and a password that the hashing thread checks, and the connections that wait for the answer.

use std::collections::VecDeque;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::peer::{LoginError, Network, Peer};
use crate::access::credential_mac::CredentialMac;
use crate::access::identity::Identity;

/// The most different names and passwords that wait, some 5 MiB with the longest passwords and 2 s of hashing.
const LOGINS_WAITING_MAX: usize = 256;
/// Maximum number of waiting connections, over all names and passwords.
const ANSWERS_WAITING_MAX: usize = 65_536;

/// Logins by network. The front network is next.
#[derive(Default)]
pub(super) struct LoginQueue {
    turns: VecDeque<Turn>,
    job_count: usize,
    waiting_count: usize,
    /// Logins whose place another login took. The hashing thread answers them.
    displaced: Vec<Waiting>,
}

/// The logins of a network, the oldest first. Never empty.
struct Turn {
    network: Network,
    jobs: VecDeque<LoginJob>,
}

impl LoginQueue {
    /// Adds a login from one connection. Returns false if there is no room: the login is dropped without an answer.
    pub fn push(&mut self, job: LoginJob) -> bool {
        if self.waiting_count >= ANSWERS_WAITING_MAX {
            return false;
        }
        let Some(first) = job.waiting.first() else { return true };
        let network = first.peer.network();
        let mut jobs = self.turns.iter_mut().flat_map(|turn| &mut turn.jobs);
        if let Some(same) = jobs.find(|waiting| waiting.mac.is(&job.mac)) {
            self.waiting_count += job.waiting.len();
            same.waiting.extend(job.waiting);
            return true;
        }
        if self.job_count >= LOGINS_WAITING_MAX && !self.displace_for(network) {
            return false;
        }
        self.job_count += 1;
        self.waiting_count += job.waiting.len();
        match self.turns.iter_mut().find(|turn| turn.network == network) {
            Some(turn) => turn.jobs.push_back(job),
            None => self.turns.push_back(Turn { network, jobs: VecDeque::from([job]) }),
        }
        true
    }

    /// Takes the next login: the oldest of the network at the front.
    pub fn pop(&mut self) -> Option<LoginJob> {
        let mut turn = self.turns.pop_front()?;
        let job = turn.jobs.pop_front();
        if !turn.jobs.is_empty() {
            self.turns.push_back(turn);
        }
        self.job_count -= usize::from(job.is_some());
        self.waiting_count -= job.as_ref().map_or(0, |job| job.waiting.len());
        job
    }

    /// Returns the logins that lost their place since the last call.
    pub fn take_displaced(&mut self) -> Vec<Waiting> {
        self.waiting_count -= self.displaced.len();
        std::mem::take(&mut self.displaced)
    }

    /// Makes room for a login of a network. False if no other network has two more waiting.
    fn displace_for(&mut self, network: Network) -> bool {
        let own = self.turns.iter().find(|turn| turn.network == network).map_or(0, |turn| turn.jobs.len());
        let Some(longest) = self.turns.iter_mut().max_by_key(|turn| turn.jobs.len()) else { return false };
        if longest.jobs.len() < own + 2 {
            return false;
        }
        if let Some(job) = longest.jobs.pop_back() {
            self.job_count -= 1;
            // They count as waiting until they are answered.
            self.displaced.extend(job.waiting);
        }
        true
    }
}

/// The outcome of a login.
pub type LoginResult = Result<Arc<Identity>, LoginError>;

/// Called once with the end of a login, on the hashing thread: it must not block.
pub type LoginAnswer = Box<dyn FnOnce(LoginResult) + Send>;

/// A name and a password to check. The password is wiped when it is dropped.
pub(in crate::access) struct LoginJob {
    pub mac: CredentialMac,
    pub name: Box<[u8]>,
    pub password: Zeroizing<Box<[u8]>>,
    /// All connections that gave this name and password.
    pub waiting: Vec<Waiting>,
}

/// A connection that waits for its login.
pub(in crate::access) struct Waiting {
    pub peer: Peer,
    pub answer: LoginAnswer,
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::access::credential_mac::CredentialKey;
    use crate::access::login::Peer;

    fn job(key: &CredentialKey, password: &[u8]) -> LoginJob {
        LoginJob {
            mac: key.mac(b"alice", password),
            name: b"alice"[..].into(),
            password: Zeroizing::new(password.into()),
            waiting: vec![Waiting { peer: Peer::local(), answer: Box::new(|_| {}) }],
        }
    }

    #[test]
    fn those_who_wait_are_bounded_too() {
        let (key, mut queue) = (CredentialKey::random().unwrap(), LoginQueue::default());
        for number in 0..ANSWERS_WAITING_MAX {
            assert!(queue.push(job(&key, b"same")), "{number}");
        }
        assert!(!queue.push(job(&key, b"same")) && !queue.push(job(&key, b"another")));
        assert_eq!(queue.pop().unwrap().waiting.len(), ANSWERS_WAITING_MAX);
        assert!(queue.pop().is_none() && queue.push(job(&key, b"another")));
        assert_eq!((queue.job_count, queue.waiting_count), (1, 1));
    }
}
