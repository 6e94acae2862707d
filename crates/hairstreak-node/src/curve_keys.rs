//! The node's keys for CURVE: read from a file, or made and kept in the data directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hairstreak_socket::security::{KeyPair, SecretKey, generate_key_pair};
use zeroize::Zeroizing;

/// The file in the data directory.
const FILE_NAME: &str = "curve.key";
/// The most bytes of such a file. A key has 40.
const FILE_SIZE_MAX: u64 = 1024;

/// The keys in a file with a secret key, as `hairstreak keygen` writes it.
pub(crate) fn read_keys(path: &Path) -> io::Result<KeyPair> {
    let mut text = Zeroizing::new(String::with_capacity(FILE_SIZE_MAX as usize));
    File::open(path)?.take(FILE_SIZE_MAX).read_to_string(&mut text)?;
    let secret: SecretKey = text.trim_end().parse().map_err(io::Error::other)?;
    Ok(KeyPair::new(secret))
}

/// The node's own keys. The caller has the data directory for itself.
pub(crate) fn own_keys(directory: &Path) -> io::Result<KeyPair> {
    let path = directory.join(FILE_NAME);
    match read_keys(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        read => return read,
    }
    let keys = generate_key_pair()?;
    let text = keys.secret().to_z85();
    let unfinished = directory.join(format!("{FILE_NAME}.new"));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&unfinished, &path)?;
    File::open(directory)?.sync_all()?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_node_makes_its_keys_once_and_refuses_a_file_with_something_else() {
        let directory = std::env::temp_dir().join(format!("hairstreak-curve-key-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let keys = own_keys(&directory).unwrap();
        assert_eq!(own_keys(&directory).unwrap(), keys);
        let path = directory.join(FILE_NAME);
        assert_eq!(read_keys(&path).unwrap(), keys);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for text in ["", "key", "\u{0}"] {
            fs::write(&path, text).unwrap();
            own_keys(&directory).unwrap_err();
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "what may be a key is never replaced");
        }
        fs::remove_dir_all(directory).unwrap();
    }
}
