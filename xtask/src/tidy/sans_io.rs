//! Rule `sans_io`: the crates of protocols, the broker, networks and the model name no socket, no runtime and no clock.
//!
//! That is what lets a simulator drive them on virtual time and a fuzzer reach all of them.

use super::Finding;
use super::code::Code;
use super::tree::Tree;

const CRATES: &[&str] = &["hairstreak-wire", "hairstreak-broker", "hairstreak-fabric", "hairstreak-model"];
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
    let files = tree.ending_in(".rs").filter(|file| CRATES.contains(&file.crate_name()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_in_a_codec_is_found() {
        let text = "use std::net::TcpStream;\nuse std::net::SocketAddr;\nlet a = Instant::now();\n";
        let tree = Tree::of(&[
            ("crates/hairstreak-wire/src/a.rs", text),
            ("crates/hairstreak-transport/src/a.rs", text),
        ]);
        assert_eq!(check(&tree).iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 3]);
    }
}
