//! AMQP 0-9-1 without a socket: what the codecs make of bytes, good and bad.

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
