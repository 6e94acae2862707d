//! `CredentialArguments`: the credentials of `call`, `worker`, `services` and `directory`, from options, else from the environment.

use std::path::PathBuf;

use clap::Args;
use hairstreak::{
    CURVE_KEY_VARIABLE, Credentials, PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE, PublicKey,
    SERVER_KEY_VARIABLE, USER_VARIABLE,
};

use crate::failure::Failure;
use crate::operator::ask;

/// A user of the node, by password or by key. Without credentials a program may do what every program on the node's host may do.
#[derive(Debug, Args)]
pub struct CredentialArguments {
    /// Log in as this user. [default: the environment's HAIRSTREAK_USER, else no login]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["curve_key", "server_key"])]
    user: Option<String>,
    /// The password is the first line of this file. [default: the environment's HAIRSTREAK_PASSWORD, else the file
    /// HAIRSTREAK_PASSWORD_FILE, else a question on the terminal]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["curve_key", "server_key"])]
    password_file: Option<PathBuf>,
    /// Log in as the user of this key, and encrypt everything: a file that `hairstreak keygen --secret-file` wrote. [default: the
    /// environment's HAIRSTREAK_CURVE_KEY]
    #[arg(long, value_name = "FILE")]
    curve_key: Option<PathBuf>,
    /// The node's public key, which it prints when it starts. [default: the environment's HAIRSTREAK_SERVER_KEY]
    // One key in 85 begins with a hyphen.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    server_key: Option<PublicKey>,
}

impl CredentialArguments {
    /// The credentials. The terminal may be asked for the password.
    pub fn credentials(&self) -> Result<Credentials, Failure> {
        self.with_environment(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn with_environment(&self, environment: impl Fn(&str) -> Option<String>) -> Result<Credentials, Failure> {
        let by_password = self.user.is_some() || self.password_file.is_some();
        let by_key = self.curve_key.is_some() || self.server_key.is_some();
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        // An option overrides its own variable, and the variables of the other ways to log in.
        let variable = |name: &str| match name {
            USER_VARIABLE if by_key => None,
            USER_VARIABLE => self.user.clone().or_else(|| environment(name)),
            PASSWORD_VARIABLE if by_key || self.password_file.is_some() => None,
            PASSWORD_FILE_VARIABLE if by_key => None,
            PASSWORD_FILE_VARIABLE if self.password_file.is_some() => path(&self.password_file),
            PASSWORD_FILE_VARIABLE if environment(PASSWORD_VARIABLE).is_some() => None,
            CURVE_KEY_VARIABLE if by_password => None,
            CURVE_KEY_VARIABLE => path(&self.curve_key).or_else(|| environment(name)),
            SERVER_KEY_VARIABLE if by_password => None,
            SERVER_KEY_VARIABLE => self.server_key.map(|key| key.to_string()).or_else(|| environment(name)),
            _ => environment(name),
        };
        let has_password =
            [PASSWORD_VARIABLE, PASSWORD_FILE_VARIABLE].iter().any(|name| variable(name).is_some());
        match variable(USER_VARIABLE) {
            Some(user) if !has_password => {
                let password = ask(&format!("password of user '{user}': "))?.ok_or_else(|| {
                    Failure::usage(format!(
                        "there is no password for user '{user}': --password-file or {PASSWORD_VARIABLE} has one"
                    ))
                })?;
                Credentials::password(&user, &password).map_err(Failure::usage)
            }
            _ => Credentials::from_variables(variable).map_err(Failure::usage),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hairstreak::KeyPair;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        credentials: CredentialArguments,
    }

    fn check(options: &[&str], environment: &[(&str, &str)]) -> Result<Credentials, String> {
        let words = ["x"].iter().chain(options);
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let find = |name: &str| {
            environment
                .iter()
                .find(|(key, _)| format!("HAIRSTREAK_{key}") == name)
                .map(|(_, value)| (*value).into())
        };
        line.credentials.with_environment(find).map_err(|failure| failure.line().unwrap())
    }

    #[test]
    fn options_override_the_environment_and_what_says_something_else_there() {
        let folder = std::env::temp_dir().join(format!("hairstreak-options-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, format!("{text}\n")).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let keys: KeyPair = hairstreak_socket::security::generate_key_pair().unwrap();
        let key = file("key", keys.secret().to_z85().as_str());
        let server_key = "-[s.o//W.!yWo[!W(38*r{H+i-Q%NT(63Wg!WevU".to_owned();
        let (one, two) = (file("one", "one"), file("two", "two"));
        let login = |user: &str, password: &str| Ok(Credentials::password(user, password).unwrap());
        let curve = Ok(Credentials::curve(keys, server_key.parse().unwrap()));
        let by_key = [("CURVE_KEY", &*key), ("SERVER_KEY", &server_key)];
        let by_password = [("USER", "bob"), ("PASSWORD", "pw")];
        assert_eq!(check(&[], &[]), Ok(Credentials::default()));
        assert_eq!(check(&[], &by_password), login("bob", "pw"));
        assert_eq!(check(&[], &by_key), curve);
        assert_eq!(check(&["--user", "ann"], &by_password), login("ann", "pw"));
        assert_eq!(check(&["--user", "ann", "--password-file", &one], &by_password), login("ann", "one"));
        assert_eq!(check(&["--password-file", &one], &by_password), login("bob", "one"));
        assert_eq!(check(&["--user", "ann"], &[("PASSWORD_FILE", &two)]), login("ann", "two"));
        assert_eq!(check(&["--user", "ann", "--password-file", &one], &by_key), login("ann", "one"));
        assert_eq!(check(&["--curve-key", &key, "--server-key", &server_key], &by_password), curve);
        assert_eq!(check(&["--curve-key", &key], &[("SERVER_KEY", &server_key)]), curve);
        let mixed = check(&["--user", "ann", "--curve-key", &key], &[]).unwrap_err();
        assert!(mixed.contains("cannot be used with"), "{mixed}");
        let half = check(&["--curve-key", &key], &[]).unwrap_err();
        assert!(half.contains("HAIRSTREAK_CURVE_KEY without HAIRSTREAK_SERVER_KEY"), "{half}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
