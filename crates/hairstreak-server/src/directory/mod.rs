//! The directory's front desk: the broker's state machine behind a ROUTER socket.

mod desk;

pub(crate) use desk::Desk;
