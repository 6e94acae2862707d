//! Durations as people write them: a decimal number and its unit, `500ms`, `2us`, `1.5s`.

use std::time::Duration;

use thiserror::Error;

/// The text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is not a duration; write a number with one of ns, us, ms, s, m, as in \"500ms\"")]
pub struct DurationError(String);

/// Nanoseconds in each unit. A name stands before names that it ends in.
const UNITS: [(&str, u64); 6] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];

/// Reads a duration, to the nanosecond.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let wrong = || DurationError(text.escape_debug().to_string());
    let written = text.trim();
    let unit = UNITS.iter().find_map(|&(name, size)| Some((written.strip_suffix(name)?, size)));
    let (number, size) = unit.ok_or_else(wrong)?;
    let number = number.trim_end();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() > 12 || fraction.len() > 12 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = fraction.parse().map_err(|_| wrong())?;
    let scale = 10u128.pow(fraction.len() as u32);
    let nanoseconds = u128::from(whole) * u128::from(size) + u128::from(part) * u128::from(size) / scale;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_durations() {
        for (text, nanoseconds) in [
            ("500ms", 500_000_000),
            ("2us", 2_000),
            ("2µs", 2_000),
            ("0.25us", 250),
            ("1.5 s", 1_500_000_000),
            (" 7ns ", 7),
            ("1m", 60_000_000_000),
            ("0s", 0),
            ("0.0004us", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_in_one_line() {
        for text in
            ["", "500", "ms", ".5s", "5.s", "-1s", "1e3s", "1 h", "5 parsecs", "1\n2s", "1234567890123s"]
        {
            let refusal = parse_duration(text).unwrap_err().to_string();
            assert!(!refusal.contains('\n') && refusal.contains("as in \"500ms\""), "{refusal}");
        }
    }
}
