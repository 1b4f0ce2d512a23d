//! Points in time and durations as documents write them. No clock: the time is always an argument.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z. Text form: RFC 3339 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(i64);

/// The text is no RFC 3339 date-time with an offset, or lies outside the years 1970 to 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no RFC 3339 date-time such as 2026-01-31T12:00:00Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// The start of 1970.
    pub const EPOCH: Self = Self(0);

    /// A point in time from milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This point moved by `span`, or the end of time where that overflows.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0.cast_signed()))
    }

    /// The span from `earlier` to this point, or zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        let millis = self.0.saturating_sub(earlier.0);
        Span(if millis > 0 { millis.cast_unsigned() } else { 0 })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "@{}ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let time: jiff::Timestamp = text.parse().map_err(|_| TimestampError(text.to_owned()))?;
        let millis = time.as_millisecond();
        if millis < 0 { Err(TimestampError(text.to_owned())) } else { Ok(Self(millis)) }
    }
}

/// A length of time in milliseconds. Text form: a number and one of `ms`, `s`, `m`, `h`, `d`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span(u64);

/// The text is no number with a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no duration such as 90s, 15m, 2h or 1d")]
pub struct SpanError(String);

impl Span {
    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// A span of `seconds` seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms % 86_400_000 == 0 && ms > 0 => write!(f, "{}d", ms / 86_400_000),
            ms if ms % 3_600_000 == 0 && ms > 0 => write!(f, "{}h", ms / 3_600_000),
            ms if ms % 60_000 == 0 && ms > 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1000 == 0 => write!(f, "{}s", ms / 1000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let wrong = || SpanError(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        number.checked_mul(millis).filter(|&ms| i64::try_from(ms).is_ok()).map(Self).ok_or_else(wrong)
    }
}

macro_rules! as_text {
    ($type:ty, $name:literal, $schema:tt) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

as_text!(Timestamp, "Timestamp", {"type": "string", "format": "date-time"});
as_text!(Span, "Span", {"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"});

#[cfg(test)]
mod tests {
    use super::{Span, Timestamp};

    #[test]
    fn times_read_back_as_written() {
        for text in ["2026-11-21T22:19:00.000Z", "1970-01-01T00:00:00.001Z"] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
        assert_eq!("2026-01-01T01:00:00+01:00".parse::<Timestamp>().unwrap().to_string(), "2026-01-01T00:00:00.000Z");
        for text in ["2026-01-01", "yesterday", "1969-12-31T00:00:00Z", ""] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_need_a_unit_and_do_not_overflow() {
        assert_eq!("15m".parse::<Span>().unwrap(), Span::from_secs(900));
        assert_eq!(Span::from_secs(900).to_string(), "15m");
        for text in ["15", "m", "-1s", "1.5h", "99999999999999999999d", "9999999999999999d", "1w", " 1s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
