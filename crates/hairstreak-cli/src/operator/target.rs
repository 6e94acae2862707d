//! `TargetArguments`: the API of an operator's command, its user, and the form of the output.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hairstreak_transport::tls::{Pem, TlsClient, TlsClientOptions};
use serde_json::Value;

use super::client::{Client, HttpAddress};
use super::secret::{ask, read_secret};
use crate::amqp::server_name;
use crate::failure::Failure;
use crate::numbers::bounded;
use crate::output::tell;

/// The default URL of the API.
const URL: &str = "http://127.0.0.1:15672";
/// The variable with the URL.
const URL_VARIABLE: &str = "HAIRSTREAK_HTTP_URL";
/// The variable with the password.
const PASSWORD_VARIABLE: &str = "HAIRSTREAK_HTTP_PASSWORD";
/// The user of a new broker, whose password is the same.
const USER: &str = "guest";
/// The longest that an answer may take.
const TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// The API.
#[derive(Debug, Args)]
pub struct TargetArguments {
    /// The management HTTP API: http://USER:PASSWORD@HOST:PORT, or https. [default: the environment's
    /// HAIRSTREAK_HTTP_URL, else http://guest:guest@127.0.0.1:15672]
    #[arg(long, value_name = "URL", global = true)]
    url: Option<String>,
    /// Log in as this user. [default: the one in the URL, else guest]
    // Actions have arguments of their own that are called user, and a global argument would take their value.
    #[arg(long = "user", value_name = "NAME", global = true)]
    login_user: Option<String>,
    /// The password is the first line of this file; - is standard input. [default: the one in the URL, else the
    /// environment's HAIRSTREAK_HTTP_PASSWORD, else the terminal is asked]
    #[arg(long, value_name = "FILE", global = true)]
    password_file: Option<PathBuf>,
    /// For https: trust the authorities whose certificates are in this file. [default: the environment's SSL_CERT_FILE
    /// and SSL_CERT_DIR, else those of the system]
    #[arg(long, value_name = "FILE", global = true)]
    ca: Option<PathBuf>,
    /// How long each answer may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout, global = true)]
    timeout: Duration,
    /// Print JSON: each object of a list on a line, as the API has it.
    #[arg(long, global = true)]
    pub json: bool,
}

impl TargetArguments {
    /// A client. Nothing is sent yet.
    pub fn open(&self) -> Result<Client, Failure> {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let (source, url) = match (&self.url, variable(URL_VARIABLE)) {
            (Some(url), _) => ("--url", url.clone()),
            (None, Some(url)) => (URL_VARIABLE, url),
            (None, None) => ("the default", URL.to_owned()),
        };
        let address: HttpAddress =
            url.parse().map_err(|error| Failure::usage(format!("{source}: {error}")))?;
        let named = self.login_user.clone().or_else(|| address.user.clone());
        let user = named.clone().unwrap_or_else(|| USER.to_owned());
        if user.contains(':') {
            return Err(Failure::usage(format!(
                "user '{user}' cannot log in over HTTP, whose user names have no colon"
            )));
        }
        // The password in the URL is that of the user in the URL.
        let in_url = address.password.clone().filter(|_| address.user.as_ref() == Some(&user));
        let password = match (&self.password_file, in_url, variable(PASSWORD_VARIABLE)) {
            (Some(file), _, _) => read_secret(file)?,
            (None, Some(password), _) | (None, None, Some(password)) => password,
            (None, None, None) if named.is_none() => USER.to_owned(),
            (None, None, None) => ask(&format!("password of user '{user}' at {}: ", address.place))?
                .ok_or_else(|| Failure::usage(format!(
                    "there is no password for user '{user}': --password-file or {PASSWORD_VARIABLE} has one"
                )))?,
        };
        let tls = address.is_tls.then(|| self.tls(&address)).transpose()?;
        Ok(Client::new(address, &user, &password, self.timeout, tls))
    }

    /// Deletes objects one after the other, and tells of each that this is `done`. `object` returns the path of a name, its
    /// description, and the fields of its JSON.
    pub fn delete_each(
        &self,
        names: &[String],
        done: &str,
        object: impl Fn(&str) -> (String, String, Value),
    ) -> Result<(), Failure> {
        let client = self.open()?;
        for name in names {
            let (path, what, mut json) = object(name);
            client.delete(&path).map_err(|error| error.named(|| what.clone()))?;
            json["change"] = done.into();
            tell(self.json, &format!("{what} {done}"), &json)?;
        }
        Ok(())
    }

    fn tls(&self, address: &HttpAddress) -> Result<TlsClient, Failure> {
        let options = TlsClientOptions::new(self.ca.as_ref().map_or(Pem::System, Pem::file));
        TlsClient::load(&options, server_name(address.host())).map_err(Failure::failed)
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a timeout", TIMEOUT_MAX)
}
