//! Settlement in the engine: to whom a settled PUSH gives its messages and says that there are no more, where it sends
//! what is refused, what has had its time, when a PULL tells what it settled, and who hears of what is done.

mod beginning;
mod deadlines;
mod done;
mod ending;
mod letters;
mod pace;
mod receiving;
mod sending;

pub(crate) use pace::Pace;
