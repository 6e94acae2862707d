//! The directory, exchanges and queues of several components at ranks of a fabric, without any tcp.

use std::time::Duration;

use hairstreak::{Component, Scope};
use hairstreak_node::{NodeConfig, Server};
use hairstreak_transport::vortex::{Fabric, FabricOptions};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn exchanges_and_queues_of_other_components_meet_at_ranks_of_a_fabric() {
    let name = format!("components-{}", std::process::id());
    let mut fabric =
        Fabric::bind(&FabricOptions { heights: 4, angles: 2, ..FabricOptions::new(&name) }).unwrap();
    let stopper = fabric.stopper();
    let running = std::thread::spawn(move || fabric.run().unwrap());
    let bind = vec![format!("vortex://{name}/0:5682")];
    let server = Server::start(NodeConfig { directory_bind: bind, ..NodeConfig::default() }).unwrap();
    let directory = server.endpoints()[0].to_string();
    assert_eq!(directory, format!("vortex://{name}/0:5682"));

    let component = || Component::builder().directory(&directory).patience(PATIENCE).build().unwrap();
    let (sender, receiver) = (component(), component());
    let exchange = sender.exchange("E").open().unwrap();
    let place = format!("vortex://{name}/3:*");
    let queue = receiver.queue("Q").scope(Scope::Global).interface(&place).open().unwrap();
    sender.bind("E", "Q").unwrap();
    for size in [0, 1, 100, 100_000] {
        exchange.send(&vec![7; size]).unwrap();
        assert_eq!(queue.recv_timeout(PATIENCE).unwrap().body(), vec![7; size]);
    }
    drop((sender, receiver, exchange, queue));
    drop(server);
    stopper.stop();
    running.join().unwrap();
}
