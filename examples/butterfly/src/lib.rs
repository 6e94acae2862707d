//! What the butterfly's five programs share. Each program is a file in bin/, named after it.
//!
//! ```text
//!                  .-> component1 -.                  .-> component2 -.
//! send_requests --+--> component1 --+-> intermediate --+-> component2 --+-> receive_replies
//!        ^         '-> component1 -'                  '-> component2 -'        |
//!        '------------------------------ sync ---------------------------------'
//! ```

mod arguments;
mod component;
mod program;
mod window;

pub use arguments::{Arguments, Usage};
pub use component::{Component, work};
pub use program::{join, run};
pub use window::show;
