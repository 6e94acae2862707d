//! `hairstreak keygen`: the two keys fit, and a secret key stays in its file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use hairstreak_socket::security::{KeyPair, PublicKey, SecretKey};
use hairstreak_testkit::BoundedCommand;

fn keygen(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hairstreak")).arg("keygen").args(arguments).run_to_end()
}

/// The key on the line that begins with `word`.
fn key<'a>(text: &'a str, word: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(word)).unwrap().trim()
}

#[test]
fn a_pair_is_printed_and_never_the_same() {
    let texts = [(), ()].map(|()| String::from_utf8(keygen(&[]).stdout).unwrap());
    for text in &texts {
        let secret: SecretKey = key(text, "secret ").parse().unwrap();
        let public: PublicKey = key(text, "public ").parse().unwrap();
        assert_eq!(KeyPair::new(secret).public(), &public);
    }
    assert_ne!(texts[0], texts[1]);
}

#[test]
fn a_secret_is_written_for_its_owner_only_and_not_printed() {
    let path = std::env::temp_dir().join(format!("hs-keygen-{}", std::process::id()));
    let output = keygen(&["--secret-file", path.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let (printed, written) = (String::from_utf8(output.stdout).unwrap(), fs::read_to_string(&path).unwrap());
    let keys = KeyPair::new(written.trim_end().parse().unwrap());
    assert_eq!(printed, format!("public {}\n", keys.public()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let again = keygen(&["--secret-file", path.to_str().unwrap()]);
    assert_eq!((again.status.code(), again.stdout.as_slice()), (Some(1), &b""[..]));
    let line = String::from_utf8(again.stderr).unwrap();
    assert!(line.contains("exists") && line.lines().count() == 1, "{line}");
    assert_eq!(fs::read_to_string(&path).unwrap(), written, "the key that was there stays");
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let output = keygen(&["--secret-file", "/nowhere/at/all"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("hairstreak: /nowhere/at/all: "));
}
