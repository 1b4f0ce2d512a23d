//! Who is asked: `evaluator.yaml` in the monitor's configuration folder (`countersign.evaluator/v1`).

use countersign_plan::document::{self, Bounds, DocumentError};
use serde::Deserialize;

/// The name of this format.
pub const SCHEMA: &str = "countersign.evaluator/v1";

/// The longest time that an answer may take, in seconds.
const LONGEST: u32 = 120;

/// Who is asked, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    schema: String,
    /// A provider of the broker's configuration, by name. One of its own: whoever plans should not judge as well.
    pub provider: String,
    /// Seconds that an answer may take, 1 to 120; after that people are asked.
    #[serde(default = "patience")]
    pub timeout_s: u32,
}

const fn patience() -> u32 {
    20
}

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// It cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A value that is none.
    #[error("{pointer}: {what}")]
    Value {
        /// Where.
        pointer: &'static str,
        /// What is wrong and how to mend it.
        what: String,
    },
}

impl Configuration {
    /// Reads a `countersign.evaluator/v1`, YAML or JSON.
    ///
    /// # Errors
    /// With the place and what is wrong there.
    pub fn read(bytes: &[u8]) -> Result<Self, ConfigurationError> {
        let read: Self = document::from_bytes(bytes, Bounds::CONFIG).and_then(document::typed)?;
        let wrong = |pointer, what| Err(ConfigurationError::Value { pointer, what });
        if read.schema != SCHEMA {
            return wrong("/schema", format!("this reads `{SCHEMA}`"));
        }
        if read.provider.is_empty() {
            return wrong("/provider", "name a provider of broker.yaml, best one that no planner uses".to_owned());
        }
        if !(1..=LONGEST).contains(&read.timeout_s) {
            return wrong("/timeout_s", format!("1 to {LONGEST} seconds, not {}", read.timeout_s));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::Configuration;

    #[test]
    fn a_configuration_is_read_strictly() {
        let read = |more: &str| {
            Configuration::read(format!("schema: countersign.evaluator/v1\n{more}").as_bytes())
                .map_err(|error| error.to_string())
        };
        let judge = read("provider: judge\n").unwrap();
        assert_eq!((judge.provider.as_str(), judge.timeout_s), ("judge", 20));
        assert_eq!(read("provider: judge\ntimeout_s: 5\n").unwrap().timeout_s, 5);
        for (wrong, place) in [
            ("provider: \"\"\n", "/provider"),
            ("provider: a\ntimeout_s: 0\n", "/timeout_s"),
            ("provider: a\ntimeout_s: 121\n", "/timeout_s"),
            ("provider: a\nmodel: b\n", "model"),
            ("", "provider"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(place), "{wrong}: {error}");
        }
        assert!(Configuration::read(b"schema: other/v1\nprovider: a\n").unwrap_err().to_string().contains("/schema"));
    }
}
