//! A moment as RabbitMQ's log writes it, in UTC: `2026-11-25 16:00:00.123456+00:00`.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 24 * 60 * 60;
/// The days of 400 years of the Gregorian calendar.
const DAYS_OF_400_YEARS: u64 = 146_097;
/// The days from the first of March of the year 0 to 1970.
const DAYS_BEFORE_1970: u64 = 719_468;

/// The moment as text. A moment before 1970 is the first of 1970.
pub(super) fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, micros) = (since.as_secs(), since.subsec_micros());
    let (year, month, day) = date(seconds / SECONDS_A_DAY);
    let second = seconds % SECONDS_A_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}+00:00")
}

/// Year, month and day of a day since 1970. A year begins in March here, so that the day which leap years have is its last.
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + DAYS_BEFORE_1970;
    let (era, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / (DAYS_OF_400_YEARS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days, and so have the next five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (400 * era + year, if month < 10 { month + 3 } else { month - 9 });
    (year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_as_in_the_log_of_rabbitmq() {
        for (micros, text) in [
            (0, "1970-01-01 00:00:00.000000+00:00"),
            (951_782_400_000_001, "2000-02-29 00:00:00.000001+00:00"),
            (951_868_799_999_999, "2000-02-29 23:59:59.999999+00:00"),
            (1_709_251_200_000_000, "2024-03-01 00:00:00.000000+00:00"),
            (1_728_027_509_709_578, "2024-10-04 07:38:29.709578+00:00"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000000+00:00"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_micros(micros)), text);
        }
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01 00:00:00.000000+00:00");
    }

    #[test]
    fn each_day_follows_the_day_before() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut expected = (1970, 1, 1);
        for day in 0..200_000 {
            assert_eq!(date(day), expected, "day {day}");
            let (year, month, day) = expected;
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = lengths[month as usize - 1] + u64::from(month == 2 && is_leap);
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == length => (year, month + 1, 1),
                (_, day) => (year, month, day + 1),
            };
        }
    }
}
