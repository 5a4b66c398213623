//! Node keys from other people's names: kept where they can be keys, mapped where they cannot.

use std::collections::{HashMap, HashSet};

use crate::Error;
use crate::notes::listed;

/// The longest key.
pub(crate) const MAX: usize = 128;

/// Whether a name can be a key as it stands.
pub(crate) fn is_key(name: &str) -> bool {
    (1..=MAX).contains(&name.len()) && name.bytes().all(is_key_byte)
}

const fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-')
}

/// The keys of a file's tasks, by the names the file gives them.
#[derive(Debug)]
pub(crate) struct Keys {
    // INVARIANT: the values are keys, no two alike.
    by_name: HashMap<String, String>,
    mapped: Vec<String>,
}

impl Keys {
    /// Good names keep their place; the others give way. Refuses a name that comes twice.
    pub(crate) fn new(names: &[String]) -> Result<Self, Error> {
        let mut seen = HashSet::new();
        let mut twice: Vec<String> = names
            .iter()
            .filter(|name| !seen.insert(*name))
            .cloned()
            .collect();
        if !twice.is_empty() {
            twice.sort();
            twice.dedup();
            return Err(Error::KeysDuplicate(twice));
        }
        let mut taken: HashSet<String> =
            names.iter().filter(|name| is_key(name)).cloned().collect();
        let mut by_name: HashMap<String, String> =
            taken.iter().map(|key| (key.clone(), key.clone())).collect();
        let mut mapped = Vec::new();
        for name in names.iter().filter(|name| !is_key(name)) {
            let key = free(name, &taken);
            mapped.push(format!("{name} as {key}"));
            taken.insert(key.clone());
            by_name.insert(name.clone(), key);
        }
        Ok(Self { by_name, mapped })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    /// Says which names had to change.
    pub(crate) fn warning(&self) -> Option<String> {
        let changed = !self.mapped.is_empty();
        changed.then(|| {
            format!(
                "names that cannot be keys are written otherwise: {}",
                listed(&self.mapped)
            )
        })
    }
}

/// A key close to `name` that nobody has.
fn free(name: &str, taken: &HashSet<String>) -> String {
    let close = |c: char| {
        if c.is_ascii() && is_key_byte(c as u8) {
            c
        } else {
            '_'
        }
    };
    let mut base: String = name.chars().take(MAX).map(close).collect();
    if base.is_empty() {
        base.push('_');
    }
    let numbered = |n: usize| {
        let suffix = format!("_{n}");
        format!("{}{suffix}", &base[..base.len().min(MAX - suffix.len())])
    };
    let mut candidates = std::iter::once(base.clone()).chain((2..).map(numbered));
    candidates.find(|key| !taken.contains(key)).unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_mapped_name_never_takes_the_key_of_another() {
        let keys = Keys::new(&names(&["a b", "a/b", "a_b", "ä", "", "plain"])).unwrap();

        assert_eq!(keys.get("a_b"), Some("a_b"));
        assert_eq!(keys.get("a b"), Some("a_b_2"));
        assert_eq!(keys.get("a/b"), Some("a_b_3"));
        assert_eq!(keys.get("ä"), Some("_"));
        assert_eq!(keys.get(""), Some("__2"));
        assert_eq!(keys.get("plain"), Some("plain"));
        assert!(keys.warning().unwrap().contains("`a b as a_b_2`"));
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let long = "x".repeat(200);
        let longer = "x".repeat(201);
        let keys = Keys::new(&[long.clone(), longer.clone()]).unwrap();

        assert_eq!(keys.get(&long).unwrap().len(), MAX);
        assert_ne!(keys.get(&long), keys.get(&longer));
        assert!(is_key(keys.get(&longer).unwrap()));
    }

    #[test]
    fn a_name_that_comes_twice_is_refused() {
        let refused = Keys::new(&names(&["b", "a", "b", "a", "a"])).unwrap_err();

        assert_eq!(refused, Error::KeysDuplicate(names(&["a", "b"])));
    }
}
