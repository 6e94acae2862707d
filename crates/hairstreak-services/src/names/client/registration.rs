//! `Registration`: a name that is held in the directory until this is dropped.

use std::sync::Arc;
use std::time::Instant;

use hairstreak_wire::directory::{Attributes, FieldError, Name, Registration as Entry, Reply, Request};
use thiserror::Error;

use super::client::{AskError, Client, Purpose};
use super::publication::Publication;

/// Life of a name after the end of its holder, in milliseconds. Renewals are five times as frequent.
const LEASE_MS: u32 = 5_000;

/// Reason that a name could not be registered.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// The name is held by another owner.
    #[error("its holder is at {0}")]
    Duplicate(String),
    /// The directory gave no good answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The name or an attribute is too long or empty.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// State that the client's thread needs to renew a registration.
pub(super) struct Held {
    pub name: Name,
    pub publication: Publication,
    pub attributes: Attributes,
    /// Result of the last renewal.
    pub is_confirmed: bool,
}

/// A held name. Dropping it releases the name.
pub struct Registration {
    client: Arc<Client>,
    number: u64,
}

impl Registration {
    /// Registers a name, and repeats the request until the directory answers or `deadline` has passed.
    pub fn register(
        client: &Arc<Client>,
        name: &Name,
        publication: Publication,
        attributes: Attributes,
        deadline: Instant,
    ) -> Result<Registration, RegisterError> {
        let held = Held { name: name.clone(), publication, attributes, is_confirmed: true };
        // The endpoint may depend on the connection, so each attempt computes it again.
        held.publication.endpoint(None)?;
        match client.ask_until(deadline, || registration_of(client, &held))? {
            Reply::Ok { .. } => {}
            Reply::Duplicate { endpoint, .. } => return Err(RegisterError::Duplicate(endpoint.to_string())),
            other => return Err(AskError::refused(client, other).into()),
        }
        let number = client.next_number();
        client.state().held.insert(number, held);
        Ok(Registration { client: Arc::clone(client), number })
    }

    /// Returns whether the directory confirmed the name at the last renewal. The directory refuses if this component
    /// was cut off for longer than its lease and another one took the name.
    pub fn is_confirmed(&self) -> bool {
        // The lock belongs to the parent. A forked child does not touch it.
        !self.client.is_forked()
            && self.client.state().held.get(&self.number).is_some_and(|held| held.is_confirmed)
    }
}

/// Returns the request to register. `None` while the address of this machine is unknown.
fn registration_of(client: &Client, held: &Held) -> Option<Request> {
    Some(Request::Register(Entry {
        name: held.name.clone(),
        owner: client.owner(),
        lease_ms: LEASE_MS,
        endpoint: held.publication.endpoint(client.local_address()?).ok()?,
        attributes: held.attributes.clone(),
    }))
}

/// Renews every registration. The lock is held, so that no renewal follows a farewell.
pub(super) fn renew(client: &Client) {
    for (number, held) in &client.state().held {
        if let Some(request) = registration_of(client, held) {
            client.send(Purpose::Renewal, *number, &request);
        }
    }
}

/// Handles the reply to a renewal.
pub(super) fn handle_renewal(client: &Client, number: u64, reply: &Reply) {
    if let Some(held) = client.state().held.get_mut(&number) {
        held.is_confirmed = matches!(reply, Reply::Ok { .. });
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.client.is_forked() {
            return;
        }
        let mut state = self.client.state();
        if let Some(Held { name, .. }) = state.held.remove(&self.number) {
            let request = Request::Unregister { name, owner: self.client.owner() };
            self.client.send(Purpose::Farewell, self.number, &request);
        }
    }
}
