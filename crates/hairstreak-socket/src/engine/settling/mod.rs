//! Settlement in the engine: to whom a settled PUSH gives its messages and says that there are no more, where it sends
//! what is refused, what has had its time, and when a PULL tells what it settled.

mod deadlines;
mod ending;
mod letters;
mod pace;
mod receiving;
mod sending;

pub(crate) use pace::Pace;
