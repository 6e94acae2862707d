//! `Credentials`: the login data that a program shows its node, and the sources of this data.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hairstreak_socket::security::{KeyError, KeyPair, Login, PublicKey, SecretKey, Security};
use thiserror::Error;
use zeroize::Zeroizing;

/// Environment variable with the name of the user.
pub const USER_VARIABLE: &str = "HAIRSTREAK_USER";
/// Environment variable with the user's password.
pub const PASSWORD_VARIABLE: &str = "HAIRSTREAK_PASSWORD";
/// Environment variable with the path of a file. The first line of the file is the user's password.
pub const PASSWORD_FILE_VARIABLE: &str = "HAIRSTREAK_PASSWORD_FILE";
/// Environment variable with the path of a file that has the user's secret key, as `hairstreak keygen` writes it.
pub const CURVE_KEY_VARIABLE: &str = "HAIRSTREAK_CURVE_KEY";
/// Environment variable with the public key of the node.
pub const SERVER_KEY_VARIABLE: &str = "HAIRSTREAK_SERVER_KEY";

/// Most bytes of a file with a password or a key. Each of these has 255 bytes at most.
const FILE_SIZE_MAX: usize = 4096;

/// Credentials of a program: none, a name and a password (PLAIN), or a key (CURVE). Only a key encrypts all messages,
/// and only a key ensures that no other host can take the node's place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials(Security);

/// Credentials that cannot be used.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// PLAIN has no room for longer texts.
    #[error("a user name and a password have at most 255 bytes each")]
    TooLong,
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file begins with an empty line.
    #[error("{}: the first line, the password, is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file does not hold a secret key.
    #[error("{}: {source}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// The error.
        source: KeyError,
    },
    /// A variable of the environment does not hold a public key.
    #[error("{SERVER_KEY_VARIABLE}: {0}")]
    ServerKey(KeyError),
    /// Variables of the environment contradict each other.
    #[error("the environment: {0}")]
    Environment(String),
}

impl Credentials {
    /// Returns a name and a password. Both cross the network in the clear.
    ///
    /// # Errors
    ///
    /// One of them is too long.
    pub fn password(user: &str, password: &str) -> Result<Credentials, CredentialsError> {
        let login = Login::new(user.as_bytes(), password.as_bytes()).ok_or(CredentialsError::TooLong)?;
        Ok(Credentials(Security::Plain(login)))
    }

    /// Returns a name and the password in the first line of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or begins with an empty line; the name or the password is too long.
    pub fn password_file(user: &str, path: &Path) -> Result<Credentials, CredentialsError> {
        let text = read(path)?;
        match text.lines().next().unwrap_or_default() {
            "" => Err(CredentialsError::Empty { path: path.into() }),
            password => Credentials::password(user, password),
        }
    }

    /// Returns the key pair of a user, for the node with this public key.
    pub fn curve(keys: KeyPair, server_key: PublicKey) -> Credentials {
        Credentials(Security::Curve { keys, server_key })
    }

    /// Returns the secret key in a file of `hairstreak keygen --secret-file`, for the node with this public key.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no secret key.
    pub fn curve_file(path: &Path, server_key: PublicKey) -> Result<Credentials, CredentialsError> {
        let text = read(path)?;
        let secret: Result<SecretKey, KeyError> = text.trim_end().parse();
        let secret = secret.map_err(|source| CredentialsError::KeyFile { path: path.into(), source })?;
        Ok(Credentials::curve(KeyPair::new(secret), server_key))
    }

    /// Returns the credentials of the environment: `HAIRSTREAK_USER` with `HAIRSTREAK_PASSWORD` or
    /// `HAIRSTREAK_PASSWORD_FILE`, or `HAIRSTREAK_CURVE_KEY` (a file) with `HAIRSTREAK_SERVER_KEY`. Without these
    /// variables there are no credentials. Empty variables do not count.
    ///
    /// # Errors
    ///
    /// The variables contradict each other, or their contents are malformed.
    pub fn from_environment() -> Result<Credentials, CredentialsError> {
        Credentials::from_variables(|name| env::var(name).ok())
    }

    /// Does the same as [`Credentials::from_environment`], with variables from any source.
    ///
    /// # Errors
    ///
    /// See [`Credentials::from_environment`].
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Credentials, CredentialsError> {
        let variable = |name| variable(name).filter(|value| !value.is_empty()).map(Zeroizing::new);
        let wrong = |text: String| Err(CredentialsError::Environment(text));
        let (user, password) = (variable(USER_VARIABLE), variable(PASSWORD_VARIABLE));
        let password_file = variable(PASSWORD_FILE_VARIABLE);
        let (key, server_key) = (variable(CURVE_KEY_VARIABLE), variable(SERVER_KEY_VARIABLE));
        match (user, password, password_file, key, server_key) {
            (None, None, None, None, None) => Ok(Credentials::default()),
            (Some(user), Some(password), None, None, _) => Credentials::password(&user, &password),
            (Some(user), None, Some(file), None, _) => Credentials::password_file(&user, Path::new(&*file)),
            (None, None, None, Some(file), Some(server_key)) => {
                let server_key = server_key.parse().map_err(CredentialsError::ServerKey)?;
                Credentials::curve_file(Path::new(&*file), server_key)
            }
            (Some(_), _, _, Some(_), _) => {
                wrong(format!("{USER_VARIABLE} and {CURVE_KEY_VARIABLE} exclude each other"))
            }
            (_, Some(_), Some(_), _, _) => {
                wrong(format!("{PASSWORD_VARIABLE} and {PASSWORD_FILE_VARIABLE} exclude each other"))
            }
            (Some(_), None, None, _, _) => {
                wrong(format!("{USER_VARIABLE} without {PASSWORD_VARIABLE} or {PASSWORD_FILE_VARIABLE}"))
            }
            (None, Some(_), _, _, _) => wrong(format!("{PASSWORD_VARIABLE} without {USER_VARIABLE}")),
            (None, _, Some(_), _, _) => wrong(format!("{PASSWORD_FILE_VARIABLE} without {USER_VARIABLE}")),
            (None, None, None, Some(_), None) => {
                wrong(format!("{CURVE_KEY_VARIABLE} without {SERVER_KEY_VARIABLE}"))
            }
            (None, None, None, None, Some(_)) => {
                wrong(format!("{SERVER_KEY_VARIABLE} without {CURVE_KEY_VARIABLE}"))
            }
        }
    }

    /// Returns whether there are no credentials.
    pub fn are_none(&self) -> bool {
        self.0 == Security::Null
    }

    pub(crate) fn security(&self) -> Security {
        self.0.clone()
    }
}

/// Reads the text of a file. The text is wiped when it is dropped.
fn read(path: &Path) -> Result<Zeroizing<String>, CredentialsError> {
    let mut text = Zeroizing::new(String::with_capacity(FILE_SIZE_MAX + 1));
    let read = File::open(path).and_then(|file| {
        file.take(FILE_SIZE_MAX as u64 + 1).read_to_string(&mut text)?;
        if text.len() > FILE_SIZE_MAX { Err(io::Error::other("the file is too long")) } else { Ok(()) }
    });
    read.map_err(|source| CredentialsError::Read { path: path.into(), source })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;

    use hairstreak_socket::security::generate_key_pair;

    use super::*;

    fn check(variables: &[(&str, &str)]) -> Result<Credentials, String> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        let found = Credentials::from_variables(|name| variables.get(name).map(|text| (*text).to_owned()));
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn the_environment_has_a_password_or_a_key_or_nothing() {
        let folder = std::env::temp_dir().join(format!("hairstreak-credentials-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let password = file("password", "secret\nmore\n");
        let (keys, server) = (generate_key_pair().unwrap(), generate_key_pair().unwrap());
        let server_key = server.public().to_string();
        let key = file("key", &format!("{}\n", keys.secret().to_z85().as_str()));
        let secret = Credentials::password("ann", "secret").unwrap();
        assert_eq!(check(&[]), Ok(Credentials::default()));
        assert_eq!(check(&[("HAIRSTREAK_USER", "")]), Ok(Credentials::default()));
        assert_eq!(
            check(&[("HAIRSTREAK_USER", "ann"), ("HAIRSTREAK_PASSWORD", "secret")]),
            Ok(secret.clone())
        );
        assert_eq!(check(&[("HAIRSTREAK_USER", "ann"), ("HAIRSTREAK_PASSWORD_FILE", &password)]), Ok(secret));
        let curve = check(&[("HAIRSTREAK_CURVE_KEY", &key), ("HAIRSTREAK_SERVER_KEY", &server_key)]);
        assert_eq!(curve, Ok(Credentials::curve(keys, *server.public())));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_does_not_go_together_or_makes_no_sense_is_named() {
        let long = "x".repeat(256);
        for (variables, said) in [
            (&[("USER", "a")][..], "USER without HAIRSTREAK_PASSWORD or"),
            (&[("PASSWORD", "a")], "PASSWORD without HAIRSTREAK_USER"),
            (&[("PASSWORD_FILE", "a")], "PASSWORD_FILE without HAIRSTREAK_USER"),
            (&[("USER", "a"), ("PASSWORD", "a"), ("PASSWORD_FILE", "a")], "exclude each other"),
            (&[("USER", "a"), ("PASSWORD", "a"), ("CURVE_KEY", "a")], "exclude each other"),
            (&[("CURVE_KEY", "a")], "CURVE_KEY without HAIRSTREAK_SERVER_KEY"),
            (&[("SERVER_KEY", "a")], "SERVER_KEY without HAIRSTREAK_CURVE_KEY"),
            (&[("CURVE_KEY", "a"), ("SERVER_KEY", "a")], "SERVER_KEY: "),
            (&[("USER", "a"), ("PASSWORD_FILE", "/nowhere/file")], "/nowhere/file: "),
            (&[("USER", "a"), ("PASSWORD_FILE", "/dev/zero")], "/dev/zero: the file is too long"),
            (&[("USER", "a"), ("PASSWORD_FILE", "/dev/null")], "/dev/null: the first line"),
            (&[("USER", "a"), ("PASSWORD", &long)], "at most 255 bytes"),
        ] {
            let names: Vec<_> =
                variables.iter().map(|(name, value)| (format!("HAIRSTREAK_{name}"), *value)).collect();
            let variables: Vec<_> = names.iter().map(|(name, value)| (&**name, *value)).collect();
            let error = check(&variables).unwrap_err();
            assert!(error.contains(said), "{variables:?}: {error}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", Credentials::password("ann", "s3cret").unwrap()).contains("s3cret"));
    }
}
