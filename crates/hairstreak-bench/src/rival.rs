//! The rival, as reports name it.

use serde::Serialize;

use crate::sample::libzmq_version;

/// The rival's name in reports.
pub const RIVAL_NAME: &str = "libzmq";

/// A rival and its version.
#[derive(Debug, Serialize)]
pub struct Rival {
    /// Its name.
    pub name: &'static str,
    /// As the library itself says.
    pub version: String,
}

impl Rival {
    /// The rival in the library `libzmq`, unless it is left out or not there: then a note says so.
    pub fn find(libzmq: &str, is_left_out: bool, notes: &mut Vec<String>) -> Option<Rival> {
        if is_left_out {
            notes.push(format!("{RIVAL_NAME} was left out: hairstreak is measured alone"));
            return None;
        }
        match libzmq_version(libzmq) {
            Ok(version) => Some(Rival { name: RIVAL_NAME, version }),
            Err(error) => {
                notes.push(format!("no {RIVAL_NAME} here, hairstreak is measured alone ({error})"));
                None
            }
        }
    }
}
