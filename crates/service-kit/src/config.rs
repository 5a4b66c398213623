//! The only reader of the environment: settings are read once, checked, and handed on as values.
//! Never prints what a variable held: it may be a secret.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What is wrong with a setting, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{name} is not set: set it and start again")]
    Missing { name: String },

    #[error(
        "{name} does not hold a {expected} ({why}): correct it, or unset it to use the default"
    )]
    Malformed {
        name: String,
        expected: &'static str,
        why: String,
    },

    #[error("{name} names the file {path}, which cannot be read: correct the path or the file's rights", path = path.display())]
    Unreadable {
        name: String,
        path: PathBuf,
        source: std::io::Error,
    },
}

/// A set of variables, as they were when it was made. An empty variable counts as unset.
#[derive(Clone, Default)]
pub struct Env(HashMap<String, String>);

impl Env {
    /// The variables of this process. One that is not UTF-8 is left out.
    #[must_use]
    pub fn process() -> Self {
        let variables = std::env::vars_os();
        Self::of(variables.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))
    }

    /// Variables that did not come from the process.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(
            variables
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect(),
        )
    }

    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    pub fn required(&self, name: &str) -> Result<String, ConfigError> {
        self.text(name).ok_or_else(|| missing(name))
    }

    /// The variable as a `T`, or `default` where it is not set.
    pub fn parsed<T>(&self, name: &str, default: T) -> Result<T, ConfigError>
    where
        T: FromStr<Err: fmt::Display>,
    {
        match self.0.get(name) {
            None => Ok(default),
            Some(text) => text
                .trim()
                .parse()
                .map_err(|why: T::Err| ConfigError::Malformed {
                    name: name.to_owned(),
                    expected: short_name::<T>(),
                    why: why.to_string(),
                }),
        }
    }

    /// A secret from the variable, or from the file that `<name>_FILE` names, without its last line break.
    pub fn secret(&self, name: &str) -> Result<Secret, ConfigError> {
        if let Some(text) = self.text(name) {
            return Ok(Secret(text));
        }
        let file = format!("{name}_FILE");
        let path = PathBuf::from(self.text(&file).ok_or_else(|| missing(name))?);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Secret(text.trim_end_matches(['\r', '\n']).to_owned())),
            Err(source) => Err(ConfigError::Unreadable {
                name: file,
                path,
                source,
            }),
        }
    }
}

// The values stay out: some are secrets.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn missing(name: &str) -> ConfigError {
    ConfigError::Missing {
        name: name.to_owned(),
    }
}

/// The last part of a type's path, for people.
fn short_name<T>() -> &'static str {
    let full = std::any::type_name::<T>();
    full.rsplit("::").next().unwrap_or(full)
}

/// A text that shows itself to nobody who does not ask by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

#[cfg(test)]
mod tests;
