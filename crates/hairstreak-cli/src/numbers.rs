//! Numbers as people read them.
//!
//! - `When`: the option to show progress, as typed.
//! - `bounded`: a time, as typed, such as 500ms or 5s.

use std::time::Duration;

use clap::ValueEnum;
use hairstreak::topology::parse_duration;

/// The largest number of decimals of a rate.
const DECIMALS: f64 = 12.0;

/// Formats messages a second: a whole number from a thousand on, three decimals below, three digits if three decimals
/// would lose them. `None` is a rate without limit.
pub fn rate(per_s: Option<f64>) -> String {
    match per_s {
        Some(per_s) if per_s >= 1000.0 => grouped(per_s as u64),
        Some(per_s) if per_s >= 0.1 || per_s <= 0.0 => format!("{per_s:.3}"),
        Some(per_s) => {
            let decimals = (2.0 - per_s.log10().floor()).min(DECIMALS) as usize;
            format!("{per_s:.decimals$}")
        }
        None => "no limit".to_owned(),
    }
}

/// Formats a number of messages: `1 message`, `2 messages`.
pub fn messages(count: u64) -> String {
    format!("{} message{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a count with a comma between thousands.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A time in the unit that leaves one to three digits before the point.
pub fn time(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        0.0 => return "0".to_owned(),
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = format!("{scaled:.3}");
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a gain in percent. The number is whole, unless rounding would turn another value into a round hundred.
pub fn percent(gain: Option<f64>) -> String {
    let Some(gain) = gain else { return "-".to_owned() };
    let percent = gain * 100.0;
    let hundred = (percent / 100.0).round() * 100.0;
    let distance = (percent - hundred).abs();
    let decimals = if (1e-9..0.5).contains(&distance) { (-distance.log10()).ceil() as usize } else { 0 };
    format!("{percent:+.decimals$}%")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Never,
    Always,
}

/// Parses a time between a millisecond and `most`. Errors call it `what`.
pub fn bounded(text: &str, what: &str, most: Duration) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let is_allowed = (Duration::from_millis(1)..=most).contains(&time);
    if is_allowed { Ok(time) } else { Err(format!("{what} is between 1ms and {}s", most.as_secs())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_the_tutorials() {
        assert_eq!(rate(Some(62_500.0)), "62,500");
        assert_eq!(rate(Some(1e6 / 12.0)), "83,333");
        assert_eq!(rate(Some(2e6 / 12.0)), "166,666");
        assert_eq!(rate(Some(1.980_198)), "1.980");
        assert_eq!(rate(Some(999.5)), "999.500");
        assert_eq!(rate(Some(1_234_567.9)), "1,234,567");
        assert_eq!(rate(None), "no limit");
    }

    #[test]
    fn low_rates_keep_their_digits() {
        assert_eq!(rate(Some(1.0 / 3600.0)), "0.000278");
        assert_eq!(rate(Some(0.05)), "0.0500");
        assert_eq!(rate(Some(0.1)), "0.100");
        assert_eq!(rate(Some(0.000_001)), "0.00000100");
        assert_eq!(rate(Some(0.0)), "0.000");
    }

    #[test]
    fn one_message_is_no_plural() {
        assert_eq!(messages(0), "0 messages");
        assert_eq!(messages(1), "1 message");
        assert_eq!(messages(1_000), "1,000 messages");
    }

    #[test]
    fn gains_are_the_tutorials() {
        assert_eq!(percent(Some(1.0 / 3.0)), "+33%");
        assert_eq!(percent(Some(1e6 / 500_008.0 - 1.0)), "+99.997%");
        assert_eq!(percent(Some(1.0)), "+100%");
        assert_eq!(percent(Some(0.0)), "+0%");
        assert_eq!(percent(Some(-0.25)), "-25%");
        assert_eq!(percent(None), "-");
    }

    #[test]
    fn times_have_their_unit() {
        for (seconds, text) in [
            (0.0, "0"),
            (250e-9, "250 ns"),
            (4e-6, "4 us"),
            (0.5, "500 ms"),
            (50.5, "50.5 s"),
            (1.5e-3, "1.5 ms"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
