//! `Api`: the management HTTP API of a node, as the user `guest`.

use std::time::Duration;

use serde_json::Value;
use ureq::{Agent, Error};

/// A time limit that only a hanging node reaches.
const PATIENCE: Duration = Duration::from_secs(60);
/// `guest:guest`.
const AUTHORIZATION: &str = "Basic Z3Vlc3Q6Z3Vlc3Q=";

pub struct Api {
    agent: Agent,
    url: String,
}

/// Sends a request that changes an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Put(String, Value),
    Post(String, Value),
    Delete(String),
}

impl Api {
    pub fn new(url: &str) -> Api {
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
        Api { agent: config.build().new_agent(), url: url.to_owned() }
    }

    /// The status and the body of the answer. `Err`: the node is gone.
    pub fn send(&self, request: &Request) -> Result<(u16, String), Error> {
        let url = |path: &str| format!("{}/api/{path}", self.url);
        let mut response = match request {
            Request::Put(path, body) => {
                let put = self.agent.put(url(path)).header("authorization", AUTHORIZATION);
                put.header("content-type", "application/json").send(body.to_string())?
            }
            Request::Post(path, body) => {
                let post = self.agent.post(url(path)).header("authorization", AUTHORIZATION);
                post.header("content-type", "application/json").send(body.to_string())?
            }
            Request::Delete(path) => {
                self.agent.delete(url(path)).header("authorization", AUTHORIZATION).call()?
            }
        };
        Ok((response.status().as_u16(), response.body_mut().read_to_string()?))
    }

    /// The status and the body of the answer to a GET.
    pub fn ask(&self, path: &str) -> (u16, String) {
        let url = format!("{}/api/{path}", self.url);
        let mut response = self.agent.get(url).header("authorization", AUTHORIZATION).call().unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let (status, text) = self.ask(path);
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }
}
