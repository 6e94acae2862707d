//! The two roles of each mechanism, as options of our sockets and as arguments of tests/python/secure.py.

use hairstreak_socket::Options;
use hairstreak_socket::security::{
    AccessTable, Authenticator, KeyPair, Login, Mechanisms, Security, Server, generate_key_pair,
};

pub const MECHANISMS: [&str; 3] = ["null", "plain", "curve"];

/// A server, a client it knows, and what it calls that client.
pub struct Roles {
    mechanism: &'static str,
    pub server_keys: KeyPair,
    pub client_keys: KeyPair,
}

impl Roles {
    pub fn new(mechanism: &'static str) -> Roles {
        let keys = || generate_key_pair().unwrap();
        Roles { mechanism, server_keys: keys(), client_keys: keys() }
    }

    pub fn server(&self) -> Options {
        let mechanisms = Mechanisms {
            null: self.mechanism == "null",
            plain: self.mechanism == "plain",
            curve: (self.mechanism == "curve").then(|| self.server_keys.clone()),
        };
        secured(Security::Server(Server::new(mechanisms, Authenticator::Table(self.table()))))
    }

    pub fn table(&self) -> AccessTable {
        let table = AccessTable::new().allow_null().allow_login("ann", "secret");
        table.allow_key(*self.client_keys.public(), "ann's key")
    }

    pub fn client(&self) -> Options {
        secured(match self.mechanism {
            "null" => Security::Null,
            "plain" => Security::Plain(Login::new(b"ann", b"secret").unwrap()),
            _ => self.curve_client(&self.client_keys),
        })
    }

    /// A client with any keys, of this server.
    pub fn curve_client(&self, keys: &KeyPair) -> Security {
        Security::Curve { keys: keys.clone(), server_key: *self.server_keys.public() }
    }

    /// What the server calls the client.
    pub fn user_id(&self) -> Option<String> {
        match self.mechanism {
            "null" => None,
            "plain" => Some("ann".to_owned()),
            _ => Some("ann's key".to_owned()),
        }
    }

    /// The server's role for the script.
    pub fn server_arguments(&self) -> Vec<String> {
        let allowed = self.client_keys.public().to_string();
        match self.mechanism {
            "null" => vec!["null".to_owned()],
            "plain" => ["plain-server", "ann", "secret"].map(str::to_owned).into(),
            _ => [vec!["curve-server".to_owned()], pair(&self.server_keys), vec![allowed]].concat(),
        }
    }

    /// The client's role for the script.
    pub fn client_arguments(&self) -> Vec<String> {
        let server = self.server_keys.public().to_string();
        match self.mechanism {
            "null" => vec!["null".to_owned()],
            "plain" => ["plain-client", "ann", "secret"].map(str::to_owned).into(),
            _ => [vec!["curve-client".to_owned(), server], pair(&self.client_keys)].concat(),
        }
    }
}

fn pair(keys: &KeyPair) -> Vec<String> {
    vec![keys.public().to_string(), keys.secret().to_z85().to_string()]
}

pub fn secured(security: Security) -> Options {
    Options { security, ..Options::default() }
}
