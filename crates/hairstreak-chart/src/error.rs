//! The error of a chart that could not be drawn.

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw {file}: {reason}")]
pub struct ChartError {
    /// The file of the chart, or its title where the chart has no file.
    pub file: String,
    /// The reason in words.
    pub reason: String,
}
