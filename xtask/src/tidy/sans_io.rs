//! Rule `sans_io`: protocols, state machines, networks and the model name no socket, no runtime and no clock.
//!
//! A simulator drives them on virtual time, and a fuzzer reaches all of them.

use super::Finding;
use super::code::Code;
use super::tree::Tree;

/// The folders without I/O.
const FOLDERS: &[&str] = &[
    "crates/hairstreak-wire/",
    "crates/hairstreak-broker/",
    "crates/hairstreak-fabric/",
    "crates/hairstreak-model/",
    "crates/hairstreak-services/src/broker/",
    "crates/hairstreak-services/src/names/",
];
/// A folder with I/O within one of [`FOLDERS`].
const EXCEPTION: &str = "crates/hairstreak-services/src/names/client/";
const BANNED: &[&str] = &[
    "std::net::Tcp",
    "std::net::Udp",
    "std::os",
    "std::thread",
    "std::fs",
    "std::process",
    "Instant::now",
    "SystemTime",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "tokio",
    "rustix",
    "libc::",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = tree.ending_in(".rs").filter(|file| is_sans_io(&file.path));
    // An example may measure time.
    for file in files.filter(|file| !file.path.contains("/examples/")) {
        for (number, line) in Code::of(&file.text, file.is_test()).product_lines() {
            if let Some(name) = BANNED.iter().find(|name| line.code.contains(*name)) {
                let advice =
                    format!("no `{name}` here: take bytes and times as arguments, give effects back");
                findings.push(Finding::new(&file.path, number, "sans_io", advice));
            }
        }
    }
    findings
}

fn is_sans_io(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.starts_with(EXCEPTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_in_a_codec_is_found() {
        let text = "use std::net::TcpStream;\nuse std::net::SocketAddr;\nlet a = Instant::now();\n";
        let tree = Tree::of(&[
            ("crates/hairstreak-wire/src/a.rs", text),
            ("crates/hairstreak-transport/src/a.rs", text),
            ("crates/hairstreak-services/src/names/machine.rs", text),
            ("crates/hairstreak-services/src/names/client/client.rs", text),
        ]);
        assert_eq!(check(&tree).iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 3, 1, 3]);
    }
}
