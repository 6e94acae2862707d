//! `CurveConfig`: the part `[curve]` of a node's configuration file.

use std::path::{Path, PathBuf};

use hairstreak_socket::security::KeyPair;
use serde::Deserialize;

use crate::curve_keys::read_keys;

/// The node's key for CURVE, as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveConfig {
    /// The file with the secret key, as `hairstreak keygen` writes it. A path that is not absolute begins at the folder of the
    /// configuration file. Without it the node has a key of its own in its data directory.
    pub secret_key_file: Option<PathBuf>,
}

impl CurveConfig {
    /// The keys. `folder` is that of the configuration file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no key.
    pub(super) fn keys(&self, folder: &Path) -> Result<Option<KeyPair>, String> {
        let Some(path) = &self.secret_key_file else { return Ok(None) };
        let path = folder.join(path);
        let keys = read_keys(&path);
        keys.map(Some).map_err(|error| format!("curve.secret_key_file: {}: {error}", path.display()))
    }
}
