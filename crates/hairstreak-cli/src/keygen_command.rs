//! `hairstreak keygen`: makes a key pair for CURVE.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hairstreak_socket::security::{KeyPair, generate_key_pair};

use crate::arguments::KeygenArguments;
use crate::failure::Failure;
use crate::output::{announce, print};

/// Prints both keys, or writes the secret key to a file and prints the public key.
pub fn keygen(arguments: &KeygenArguments) -> Result<(), Failure> {
    let keys = generate_key_pair().map_err(Failure::failed)?;
    let Some(path) = &arguments.secret_file else {
        return print(&format!("public {}\nsecret {}\n", keys.public(), keys.secret().to_z85().as_str()));
    };
    write_secret(path, &keys).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    announce(format!("public {}\n", keys.public())).map_err(|failure| {
        // The public key was not printed and is lost. The file would only block the next try.
        let _ = fs::remove_file(path);
        if failure.is_quiet() {
            Failure::failed("nobody reads the public key on standard output")
        } else {
            failure
        }
    })
}

/// Writes a new file. An existing file is never replaced: it may have the only copy of a key.
fn write_secret(path: &Path, keys: &KeyPair) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let secret = keys.secret().to_z85();
    let written = file.write_all(secret.as_bytes()).and_then(|()| file.write_all(b"\n"));
    written.and_then(|()| file.sync_all()).inspect_err(|_| {
        // Half a key is useless. The first error is reported.
        let _ = fs::remove_file(path);
    })
}
