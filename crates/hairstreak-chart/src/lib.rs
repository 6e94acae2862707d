//! Line charts as SVG: the charts of `hairstreak bench`.
//!
//! ```
//! use hairstreak_chart::{Axis, Chart, Line, BLUE};
//!
//! let sizes = ["8", "64", "512"].map(str::to_owned).to_vec();
//! let lines = vec![Line::solid("tcp", BLUE, vec![(0.0, 3e6), (1.0, 2e6), (2.0, 9e5)])];
//! let (x, y) = (Axis::labels("bytes", sizes), Axis::log_over("messages/s", &lines));
//! let svg = Chart { title: "Rate by size".to_owned(), x, y, lines }.svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("Rate by size"));
//! # Ok::<(), hairstreak_chart::ChartError>(())
//! ```
//!
//! This crate knows lines and axes. The measurements behind them belong to the programs.

mod axis;
mod chart;
mod error;
mod line;

pub use axis::{Axis, Scale};
pub use chart::Chart;
pub use error::ChartError;
pub use line::{BLUE, Color, GREEN, GREY, LIGHT_BLUE, LIGHT_ORANGE, Line, ORANGE, PALETTE};
