//! The API of a node without AMQP, over HTTP. The expected answers are the answers of RabbitMQ 3.10.8 to the same
//! requests.

mod authorization;
mod client;
mod definitions;
mod durability;
mod exchanges;
mod health;
mod lists;
mod messages;
mod node;
mod policies;
mod publishing;
mod queues;
mod rates;
mod shapes;
mod users;
mod vhosts;
