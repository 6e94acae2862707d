//! `strangers.py`: users from another machine, which is another network namespace here.

use crate::network::{Network, from_within, within};
use crate::program::run;
use crate::rabbitmq::RabbitMq;
use crate::setup::OPEN;
use crate::target::{Target, management_program};

#[test]
fn rabbitmq_lets_guests_in_from_its_own_machine_only() {
    let network = Network::new("strangers");
    let rabbitmq = RabbitMq::start(&OPEN, &within(&network.near()));
    let target = Target::of_rabbitmq(&rabbitmq);
    check_strangers(target.at(Network::NEAR), &network.far());
    // It is the address that counts: from its own machine a guest gets in.
    let from_near = from_within(
        &network.near(),
        management_program("suite.py").args([&target.to_string(), "health"]).args(["--without", "4.0"]),
    );
    println!("{}", run(&mut { from_near }));
}

fn check_strangers(target: Target, namespace: &str) {
    let mut suite =
        from_within(namespace, management_program("suite.py").args([&target.to_string(), "strangers"]));
    println!("{}", run(&mut suite));
}
