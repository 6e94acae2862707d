//! The syncs of real files, without a loss of power: where the system refuses a sync, each operation that has to sync fails.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hairstreak_testkit::without_capabilities;

use crate::atomic_file;
use crate::directory::DataDirectory;
use crate::log::storage::{Directory, StorageBackend, StorageFile};

/// A file that can be written, and cannot be synced.
const UNSYNCABLE: &str = "/dev/null";

/// A directory of one test. It is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("hairstreak-syncs-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Place(path)
    }

    /// Forbids to open the directory, which a sync of its names has to do. Files in it can be created.
    fn forbid_syncs(&self) {
        fs::set_permissions(&self.0, Permissions::from_mode(0o300)).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, Permissions::from_mode(0o700));
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn content_of_the_log_is_synced() {
    let place = Place::new("content");
    symlink(UNSYNCABLE, place.0.join("file")).unwrap();
    assert!(StorageFile::sync(&File::open(UNSYNCABLE).unwrap()).is_err());
    for delay in [Duration::ZERO, Duration::from_nanos(1)] {
        let directory = Directory::open(&place.0).unwrap().with_sync_delay(delay);
        assert!(directory.open("file").unwrap().sync().is_err(), "{delay:?}");
    }
}

#[test]
fn names_of_the_log_are_synced() {
    assert!(atomic_file::sync_directory(Path::new(UNSYNCABLE)).is_err());
    let place = Place::new("names");
    let directory = Directory::open(&place.0).unwrap();
    place.forbid_syncs();
    assert!(without_capabilities(|| directory.sync_names()).is_err());
}

#[test]
fn the_name_of_the_folder_of_the_log_is_synced() {
    let place = Place::new("folder");
    place.forbid_syncs();
    let folder = place.0.join("messages");
    for _ in 0..2 {
        // Also that of a folder that a process left which was killed.
        assert!(without_capabilities(|| Directory::open(&folder)).is_err());
        assert!(folder.exists());
    }
}

#[test]
fn a_file_is_replaced_by_one_that_is_synced() {
    let place = Place::new("replaced");
    atomic_file::write(&place.0, "node", b"old").unwrap();
    symlink(UNSYNCABLE, place.0.join("node.new")).unwrap();
    assert!(atomic_file::write(&place.0, "node", b"new").is_err());
    assert_eq!(fs::read(place.0.join("node")).unwrap(), b"old");

    fs::remove_file(place.0.join("node.new")).unwrap();
    place.forbid_syncs();
    assert!(without_capabilities(|| atomic_file::write(&place.0, "node", b"new")).is_err());
    assert_eq!(fs::read(place.0.join("node")).unwrap(), b"new");
}

#[test]
fn the_name_of_a_data_directory_is_synced() {
    let place = Place::new("directory");
    place.forbid_syncs();
    let refused = without_capabilities(|| DataDirectory::open(&place.0.join("data"), "node@test"));
    assert!(refused.unwrap_err().to_string().contains(" is not permitted "));
}
