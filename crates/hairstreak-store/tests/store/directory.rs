//! A data directory is of one process and of one node; each refusal is one clear line, and nothing is changed by it.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hairstreak_store::{DataDirectory, DataDirectoryError, DefinitionStore, DirectoryReader};
use hairstreak_testkit::{BoundedChild, until, without_capabilities};

use crate::place::Place;
use crate::{NODE, commit, entry, open, write};

const PLACE: &str = "HAIRSTREAK_TEST_HOLDS";

/// The error of opening the directory, which is one line with its path.
fn refusal(path: &Path, node: &str) -> String {
    let said = DataDirectory::open(path, node).unwrap_err().to_string();
    assert!(said.contains(path.to_str().unwrap()) && !said.contains('\n'), "{said}");
    said.replace(path.to_str().unwrap(), "DIR")
}

#[test]
fn a_directory_is_made_for_its_owner_alone_and_keeps_its_id() {
    let place = Place::new();
    let path = place.join("a/b");
    let directory = DataDirectory::open(&path, NODE).unwrap();
    assert_eq!((directory.path(), directory.node_name(), directory.is_new()), (&*path, NODE, true));
    for made in ["a", "a/b"] {
        assert_eq!(fs::metadata(place.join(made)).unwrap().permissions().mode() & 0o777, 0o700, "{made}");
    }
    let id = directory.node_id();
    drop(directory);
    let again = DataDirectory::open(&path, NODE).unwrap();
    assert_eq!((again.node_id(), again.is_new()), (id, false));
    assert_ne!(DataDirectory::open(&place.join("c"), NODE).unwrap().node_id(), id);
    let text = format!("hairstreak data directory\nversion 2\nnode {NODE}\nid {id}\n");
    assert_eq!(fs::read_to_string(path.join("node")).unwrap(), text);
    drop(DefinitionStore::open(&again).unwrap());
    assert_eq!(fs::read_to_string(path.join("node")).unwrap(), text + "holds definitions\n");
}

#[test]
fn a_directory_that_is_there_and_empty_is_used_as_it_is() {
    let place = Place::new();
    fs::set_permissions(&*place, Permissions::from_mode(0o750)).unwrap();
    // A file system of its own, and what a process left that died as it began.
    fs::create_dir(place.join("lost+found")).unwrap();
    fs::write(place.join("lock"), "").unwrap();
    fs::write(place.join("node.new"), "hairstreak data direc").unwrap();
    assert!(DataDirectory::open(&place, NODE).unwrap().is_new());
    assert_eq!(fs::metadata(&*place).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(place.names(), ["lock", "lost+found", "node"]);
}

#[test]
fn a_directory_has_one_process_at_a_time() {
    let place = Place::new();
    let directory = DataDirectory::open(&place, NODE).unwrap();
    let in_use = |holder: u32| {
        format!(
            "the data directory DIR is in use by process {holder}: stop that process, or choose another directory"
        )
    };
    assert_eq!(refusal(&place, NODE), in_use(std::process::id()));
    drop(directory);

    let mut holder = start_holder(&place);
    until("the holder has the directory", || match place.names() {
        names if names.contains(&"held".to_owned()) => Ok(()),
        names => Err(names),
    });
    assert_eq!(refusal(&place, NODE), in_use(holder.id()));
    // Also if the name is another one: what cannot be had need not be explained.
    assert_eq!(refusal(&place, "other@test"), in_use(holder.id()));
    holder.kill().unwrap();
    holder.end();
    DataDirectory::open(&place, NODE).unwrap();
}

fn start_holder(place: &Path) -> Child {
    let mut holder = Command::new(std::env::current_exe().unwrap());
    let holder = holder.args(["directory::the_holder", "--exact"]).env(PLACE, place);
    holder.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// The process that holds a directory until it is killed. Run with the others it holds none.
#[test]
fn the_holder() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let _directory = DataDirectory::open(Path::new(&place), NODE).unwrap();
    fs::write(Path::new(&place).join("held"), "").unwrap();
    // Nobody writes: this lasts until the process is killed, or the test is gone.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn a_store_keeps_the_directory_for_as_long_as_it_is_open() {
    let place = Place::new();
    let (directory, store, entries) = open(&place).unwrap();
    assert_eq!(entries, []);
    let said = DefinitionStore::open(&directory).err().unwrap().to_string();
    assert!(
        said.ends_with(
            "definitions.redb is open already, in this process or in a tool that reads it: close it there"
        ),
        "{said}"
    );
    drop(directory);
    assert!(refusal(&place, NODE).contains("in use"));
    commit(&store, vec![write("a", Some("1"))]).unwrap();
    drop(store);
    assert_eq!(open(&place).unwrap().2, [entry("a", "1")]);
}

#[test]
fn a_directory_is_of_one_node() {
    let place = Place::new();
    let id = DataDirectory::open(&place, "rabbit@old").unwrap().node_id();
    assert_eq!(
        refusal(&place, "rabbit@new"),
        "the data directory DIR is of the node \"rabbit@old\", and this node is called \"rabbit@new\": start this node as \
         \"rabbit@old\", choose another directory, or write \"rabbit@new\" into the line `node` of DIR/node to take the directory over"
    );
    // As the line says:
    let node = place.join("node");
    fs::write(&node, fs::read_to_string(&node).unwrap().replace("rabbit@old", "rabbit@new")).unwrap();
    assert_eq!(DataDirectory::open(&place, "rabbit@new").unwrap().node_id(), id);
    assert!(refusal(&place, "rabbit@old").contains("is of the node \"rabbit@new\""));
}

#[test]
fn a_directory_of_another_version_is_left_alone() {
    let place = Place::new();
    drop(DataDirectory::open(&place, NODE).unwrap());
    let node = place.join("node");
    fs::write(&node, fs::read_to_string(&node).unwrap().replace("version 2", "version 7")).unwrap();
    assert_eq!(
        refusal(&place, NODE),
        "the data directory DIR has format version 7, and this program reads version 2: use the program that wrote the directory, \
         or choose another directory"
    );
    fs::write(&node, "hairstreak data directory\nversion seven\n").unwrap();
    assert_eq!(
        refusal(&place, NODE),
        "DIR/node is damaged (its second line is not `version` and a number): the file was left as it is; restore it from a copy"
    );
    fs::write(&node, "").unwrap();
    assert!(refusal(&place, NODE).contains("DIR/node is damaged"));
    assert_eq!(fs::read(&node).unwrap(), b"");
}

#[test]
fn definitions_that_had_begun_and_are_missing_are_not_begun_anew() {
    let place = Place::new();
    let (node, file) = (place.join("node"), place.join("definitions.redb"));
    let lost = || {
        fs::remove_file(&file).unwrap();
        let said = open(&place).err().unwrap().to_string();
        let expected = format!("{} is missing, and the directory had definitions: ", file.display());
        assert!(said.starts_with(&expected) && !said.contains('\n'), "{said}");
        assert!(!file.exists());
    };
    drop(open(&place).unwrap());
    lost();
    // As the line says:
    fs::write(&node, fs::read_to_string(&node).unwrap().replace("holds definitions\n", "")).unwrap();
    drop(open(&place).unwrap());
    lost();
    // A directory of version 1 does not say whether definitions had begun. From its next start on it does.
    let text = fs::read_to_string(&node).unwrap();
    fs::write(&node, text.replace("version 2", "version 1").replace("holds definitions\n", "")).unwrap();
    drop(open(&place).unwrap());
    assert_eq!(fs::read_to_string(&node).unwrap(), text);
    lost();
}

#[test]
fn a_directory_with_a_store_of_a_later_program_is_left_alone() {
    let place = Place::new();
    drop(open(&place).unwrap());
    let node = place.join("node");
    let text = fs::read_to_string(&node).unwrap() + "holds log\n";
    fs::write(&node, &text).unwrap();
    assert_eq!(
        refusal(&place, NODE),
        "the data directory DIR holds `log`, which this program does not know: use the program that wrote the directory, \
         or choose another directory"
    );
    assert_eq!(fs::read_to_string(&node).unwrap(), text);
}

#[test]
fn a_directory_of_another_program_is_left_alone() {
    let place = Place::new();
    fs::write(place.join("photo.jpg"), "").unwrap();
    assert_eq!(
        refusal(&place, NODE),
        "DIR is not a data directory: it holds photo.jpg, and no file `node` of Hairstreak's: choose an empty directory, or a new one"
    );
    assert_eq!(place.names(), ["photo.jpg"]);
    // Definitions whose directory has lost its name are not taken by another node.
    let place = Place::new();
    drop(open(&place).unwrap());
    fs::remove_file(place.join("node")).unwrap();
    assert!(refusal(&place, NODE).contains("holds definitions.redb"));
}

#[test]
fn a_path_that_is_no_directory_is_said_to_be_none() {
    let place = Place::new();
    let file = place.join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(refusal(&file, NODE), "DIR is not a directory: choose another path");
    assert_eq!(refusal(&file.join("below"), NODE), "DIR is not a directory: choose another path");
}

#[test]
fn a_node_has_a_name_without_spaces() {
    let place = Place::new();
    for name in ["", "a b", "a\nb"] {
        let error = DataDirectory::open(&place, name).unwrap_err();
        assert!(
            matches!(error, DataDirectoryError::NodeName { .. }) && !error.to_string().contains('\n'),
            "{error}"
        );
    }
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn what_the_system_does_not_permit_is_said_with_the_user() {
    let place = Place::new();
    drop(open(&place).unwrap());
    let user = rustix::process::geteuid().as_raw();
    for (name, said) in [("", "DIR"), ("lock", "DIR/lock"), ("node", "DIR/node")] {
        let path = place.join(name);
        let mode = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        let refused = without_capabilities(|| refusal(&place, NODE));
        fs::set_permissions(&path, mode).unwrap();
        let expected = format!(
            "user {user} is not permitted to read and write {said}: change its owner or mode, or choose another directory"
        );
        assert_eq!(refused, expected);
    }
    let file = place.join("definitions.redb");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let directory = DataDirectory::open(&place, NODE).unwrap();
    let refused = without_capabilities(|| DefinitionStore::open(&directory).err().unwrap().to_string());
    let expected = format!(
        "user {user} is not permitted to read and write {}: change its owner or mode",
        file.display()
    );
    assert_eq!(refused, expected);
}

#[test]
fn a_reader_changes_nothing_and_keeps_a_node_out() {
    let place = Place::new();
    let (directory, store, _) = open(&place).unwrap();
    commit(&store, vec![write("a", Some("1"))]).unwrap();
    let read = |path: &Path| DirectoryReader::open(path).map_err(|error| error.to_string());
    let said = read(&place).unwrap_err();
    assert!(said.contains(&format!("is in use by process {}: ", std::process::id())), "{said}");
    let id = directory.node_id();
    drop((directory, store));

    // The text of the lock names a process that has ended.
    fs::write(place.join("lock"), "4000000 here\n").unwrap();
    let contents =
        || place.names().into_iter().map(|name| fs::read(place.join(name)).unwrap()).collect::<Vec<_>>();
    let before = contents();
    let reader = read(&place).unwrap();
    assert_eq!((reader.path(), reader.node_name(), reader.node_id()), (&*place, NODE, id));
    assert!(!reader.has_messages());
    assert_eq!(DefinitionStore::read(&reader).unwrap(), [entry("a", "1")]);
    let second = read(&place).unwrap();
    assert!(refusal(&place, NODE).starts_with("the data directory DIR is in use by another process: "));
    drop((reader, second));
    assert_eq!(contents(), before);
    drop(open(&place).unwrap());

    fs::remove_file(place.join("lock")).unwrap();
    fs::remove_file(place.join("definitions.redb")).unwrap();
    let names = place.names();
    let said = DefinitionStore::read(&read(&place).unwrap()).unwrap_err().to_string();
    assert!(said.contains("definitions.redb is missing, and the directory had definitions"), "{said}");
    assert_eq!(place.names(), names);
}

#[test]
fn a_reader_wants_a_data_directory() {
    let place = Place::new();
    let said = |path: &Path| DirectoryReader::open(path).unwrap_err().to_string();
    assert!(said(&place).contains(" is not a data directory: it has no file `node`"), "{}", said(&place));
    assert!(said(&place.join("none")).contains("No such file"));
    fs::write(place.join("a"), "").unwrap();
    assert!(said(&place).contains(" is not a data directory: it holds a, "), "{}", said(&place));
    assert!(said(&place.join("a")).contains(" is not a directory: "), "{}", said(&place.join("a")));
    assert_eq!(place.names(), ["a"]);
}
