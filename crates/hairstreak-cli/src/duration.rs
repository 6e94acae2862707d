//! `bounded`: a time as it is typed, such as 500ms or 5s.

use std::time::Duration;

use hairstreak::topology::parse_duration;

/// A time between a millisecond and `most`. `what` it is stands in the error.
pub fn bounded(text: &str, what: &str, most: Duration) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let is_allowed = (Duration::from_millis(1)..=most).contains(&time);
    if is_allowed { Ok(time) } else { Err(format!("{what} is between 1ms and {}s", most.as_secs())) }
}
