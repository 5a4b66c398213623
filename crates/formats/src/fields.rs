//! Typed access to a tree, with the path of whatever is not as it should be.

use serde_json::{Map, Value};

use crate::Error;

/// A value and where it stands in its file.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) value: &'a Value,
    path: String,
}

impl<'a> Field<'a> {
    pub(crate) const fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    pub(crate) fn invalid(&self, expected: impl Into<String>) -> Error {
        let path = if self.path.is_empty() {
            "the file"
        } else {
            &self.path
        };
        Error::FieldInvalid {
            path: path.to_owned(),
            expected: expected.into(),
        }
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The part of that name; a null counts as absent, as does every part of what is no map.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self {
            value,
            path: self.path_of(name),
        })
    }

    pub(crate) fn need(&self, name: &str) -> Result<Self, Error> {
        self.get(name).ok_or_else(|| Error::FieldMissing {
            path: self.path_of(name),
        })
    }

    /// A part some steps down.
    pub(crate) fn descend(&self, names: &[&str]) -> Option<Self> {
        names
            .iter()
            .try_fold(self.clone(), |field, name| field.get(name))
    }

    pub(crate) fn map(&self) -> Result<&'a Map<String, Value>, Error> {
        self.value.as_object().ok_or_else(|| self.invalid("a map"))
    }

    pub(crate) fn entries(&self) -> Result<Vec<(&'a str, Self)>, Error> {
        let entries = self.map()?.iter();
        Ok(entries
            .map(|(name, value)| {
                (
                    name.as_str(),
                    Self {
                        value,
                        path: self.path_of(name),
                    },
                )
            })
            .collect())
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, Error> {
        let items = self
            .value
            .as_array()
            .ok_or_else(|| self.invalid("a list"))?;
        let at = |(index, value)| Self {
            value,
            path: format!("{}[{index}]", self.path),
        };
        Ok(items.iter().enumerate().map(at).collect())
    }

    /// The items of a list; none when it is absent.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Self>, Error> {
        self.get(name)
            .map_or_else(|| Ok(Vec::new()), |list| list.items())
    }

    pub(crate) fn text(&self) -> Result<&'a str, Error> {
        self.value.as_str().ok_or_else(|| self.invalid("text"))
    }

    /// A name that the file may have written so that it reads as a number or a truth value.
    pub(crate) fn label(&self) -> Result<String, Error> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => Err(self.invalid("a name")),
        }
    }

    /// One name, or a list of names.
    pub(crate) fn labels(&self) -> Result<Vec<String>, Error> {
        if self.value.is_array() {
            self.items()?.iter().map(Self::label).collect()
        } else {
            Ok(vec![self.label()?])
        }
    }

    pub(crate) fn flag(&self) -> Result<bool, Error> {
        self.value
            .as_bool()
            .ok_or_else(|| self.invalid("true or false"))
    }

    pub(crate) fn number(&self) -> Result<f64, Error> {
        self.value.as_f64().ok_or_else(|| self.invalid("a number"))
    }

    /// A whole number that fits.
    pub(crate) fn whole<T: TryFrom<u64>>(&self) -> Result<T, Error> {
        let whole = self
            .value
            .as_u64()
            .and_then(|number| T::try_from(number).ok());
        whole.ok_or_else(|| self.invalid("a whole number in range"))
    }

    /// The paths of parts that nobody reads, for [`Error::FieldUnknown`].
    pub(crate) fn unknown(&self, known: &[&str]) -> Result<Vec<String>, Error> {
        let names = self
            .map()?
            .keys()
            .filter(|name| !known.contains(&name.as_str()));
        Ok(names.map(|name| self.path_of(name)).collect())
    }
}

/// What the tree says at `names`, if it is text there.
pub(crate) fn text_at<'a>(field: &Field<'a>, names: &[&str]) -> Option<&'a str> {
    field.descend(names)?.value.as_str()
}
