//! `timestamp`: a time as RabbitMQ writes it, such as `2026-11-25T16:06:09.387+00:00`.

/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: u64 = 146_097;
/// Days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;
const DAY_MS: u64 = 86_400_000;

/// The text of a time in milliseconds since 1970, by the calendar of UTC.
pub(crate) fn timestamp(ms: u64) -> String {
    let (year, month, day) = date(ms / DAY_MS);
    let (seconds, millis) = (ms % DAY_MS / 1000, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}+00:00")
}

/// The date of a day since 1970. Years begin in March here, so that a leap day is the last one.
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + DAYS_TO_1970;
    let (era, day_of_era) = (day / ERA_DAYS, day % ERA_DAYS);
    let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000+00:00"),
            (951_782_399_999, "2000-02-28T23:59:59.999+00:00"),
            (951_782_400_000, "2000-02-29T00:00:00.000+00:00"),
            (951_868_800_000, "2000-03-01T00:00:00.000+00:00"),
            (1_795_622_769_387, "2026-11-25T16:06:09.387+00:00"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000+00:00"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000+00:00"),
        ] {
            assert_eq!(timestamp(ms), text);
        }
    }
}
