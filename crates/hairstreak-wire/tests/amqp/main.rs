//! AMQP 0-9-1 without a socket: the codecs with valid and invalid bytes.

mod content;
mod field_table;
mod frame;
mod hostile;
mod method;
mod methods_of_the_specification;
mod properties;
mod reply_code;
mod sasl;
mod tuning;
mod values;
