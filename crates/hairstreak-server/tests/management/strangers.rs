//! `strangers.py`: users from another machine, which is another network namespace here.

use std::process::Command;

use crate::network::{Network, within};
use crate::program::run;
use crate::rabbitmq::RabbitMq;
use crate::setup::OPEN;
use crate::target::{Target, management_program};

#[test]
fn rabbitmq_lets_guests_in_from_its_own_machine_only() {
    let network = Network::new();
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

/// The command, run within a namespace.
fn from_within(namespace: &str, command: &Command) -> Command {
    let [program, arguments @ ..] = within(namespace);
    let mut outer = Command::new(program);
    outer.args(arguments).arg(command.get_program()).args(command.get_args());
    outer
}
