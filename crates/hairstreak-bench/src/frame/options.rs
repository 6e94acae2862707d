//! Options that studies share.

use std::ops::RangeInclusive;

use clap::{Args, ValueEnum};

/// Options of every study that takes samples.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Take fewer and shorter samples
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Samples of each row and contender [default: 3 to 5, fewer with --quick]
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
}

impl Common {
    /// Returns the number of samples of each row and contender.
    pub fn repeat_count(&self, full: u32, quick: u32) -> u32 {
        self.repeats.unwrap_or(if self.quick { quick } else { full })
    }
}

/// The rival of studies that compare with libzmq.
#[derive(Clone, Debug, Args)]
pub struct RivalOptions {
    /// Leave the rival out
    #[arg(long)]
    pub no_rival: bool,
    /// The libzmq to load at run time
    #[arg(long, default_value = "libzmq.so.5", value_name = "LIBRARY")]
    pub libzmq: String,
}

/// Returns the given values, or the default ones if none was given.
pub fn chosen<'a, T>(given: &'a [T], default: &'a [T]) -> &'a [T] {
    if given.is_empty() { default } else { given }
}

/// Returns the given values, or the default ones if none was given, in ascending order without duplicates.
pub fn sorted<T: Copy + Ord>(given: &[T], default: &[T]) -> Vec<T> {
    let mut values = chosen(given, default).to_vec();
    values.sort_unstable();
    values.dedup();
    values
}

/// A parser of numbers in `range`.
pub fn number_in(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse::<f64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("a number from {} to {}", range.start(), range.end())),
    }
}

/// Returns the name of a value on the command line and in reports.
pub fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Parses the options of a study.
#[cfg(test)]
pub fn parse<S: Args>(options: &str) -> S {
    #[derive(clap::Parser)]
    struct Line<S: Args> {
        #[command(flatten)]
        settings: S,
    }
    let words = std::iter::once("test").chain(options.split_whitespace());
    <Line<S> as clap::Parser>::parse_from(words).settings
}
