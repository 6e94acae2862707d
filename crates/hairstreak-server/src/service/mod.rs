//! The services' front desk: the broker's state machine behind a ROUTER socket.

mod desk;

pub(crate) use desk::{Desk, socket_options};
