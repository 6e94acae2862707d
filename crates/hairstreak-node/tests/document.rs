//! The example of docs/directory.md, run as it stands there with pyzmq.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hairstreak::{Component, Scope};
use hairstreak_node::{NodeConfig, Server};
use hairstreak_testkit::BoundedChild;

#[test]
fn the_documented_example_looks_a_name_up() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = checkout.join(".venv/bin/python");
    assert!(python.exists(), "{} is missing; scripts/test-setup makes it", python.display());
    let document = std::fs::read_to_string(checkout.join("docs/directory.md")).unwrap();
    let (_, rest) = document.split_once("```python\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();

    let bind = vec!["tcp://127.0.0.1:*".into()];
    let server = Server::start(NodeConfig { directory_bind: bind, ..NodeConfig::default() }).unwrap();
    let directory = server.endpoints()[0].to_string();
    let component =
        Component::builder().directory(&directory).patience(Duration::from_secs(20)).build().unwrap();
    let exchange = component.exchange("SEND_REQUESTS_OUT").scope(Scope::Global).interface("127.0.0.1");
    let exchange = exchange.open().unwrap();

    let address = directory.strip_prefix("tcp://").unwrap();
    let program = example.replace("127.0.0.1:5682", address)
        + "print(endpoint, attributes)\n"
        + "print(pull.recv())\n"
        + &format!("print(lookup('{address}', 'nothing', 0))\n");
    let child = Command::new(python).arg("-c").arg(&program).stdout(std::process::Stdio::piped()).spawn();
    exchange.send(b"a request").unwrap();
    let output = child.unwrap().end_with_output();
    let expected = format!(
        "{} {{b'kind': b'exchange', b'style': b'load_balancing'}}\nb'a request'\nNone\n",
        exchange.endpoint().unwrap()
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
