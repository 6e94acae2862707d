//! `When`: whether progress is shown, as it is typed.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Never,
    Always,
}
