//! `AcceptFailures`: the lines about endpoints at which nothing can be accepted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hairstreak_socket::Endpoint;

/// The time between two lines about the same failure.
const FAILURE_INTERVAL: Duration = Duration::from_secs(60);

/// Says why nothing can be accepted at an endpoint, each reason once a minute: a listener asks some times a second.
#[derive(Default)]
pub struct AcceptFailures(Mutex<HashMap<(String, String), Instant>>);

impl AcceptFailures {
    pub fn tell(&self, endpoint: &Endpoint, reason: &str) {
        let now = Instant::now();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|_, at| now.duration_since(*at) < FAILURE_INTERVAL);
        if let Entry::Vacant(place) = told.entry((endpoint.to_string(), reason.to_owned())) {
            place.insert(now);
            log::warn!(endpoint:% = endpoint, reason = reason; "nobody is accepted, trying again");
        }
    }
}
