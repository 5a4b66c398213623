//! Texts that look like secrets, by their form alone. Templates and learnings are read by many, so these stay out of them.
//! Proves nothing: a secret without a form passes, and whoever is refused can point to a secret by name instead.

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

/// What a text looks like. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    PrivateKey,
    /// A key or token of a service whose form is known.
    ServiceKey,
    Token,
    /// A URL with a password in it.
    Password,
    /// A value under a name that promises one.
    Named,
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrivateKey => "a private key",
            Self::ServiceKey => "a service's key",
            Self::Token => "a token",
            Self::Password => "a password in a URL",
            Self::Named => "a secret under its name",
        })
    }
}

/// How keys of well-known services begin, and how many more characters of a key follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("ghu_", 30),
    ("github_pat_", 20),
    ("glpat-", 18),
    ("hf_", 30),
    ("npm_", 30),
    ("sk-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xapp-", 16),
];

/// Names, without case and punctuation, whose value is a secret.
const NAMES: &[&str] = &[
    "apikey",
    "accesskey",
    "accesstoken",
    "authtoken",
    "clientsecret",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "secretkey",
    "token",
];

/// What the text looks like, if it looks like a secret.
#[must_use]
pub fn find(text: &str) -> Option<Secret> {
    if text.contains("-----BEGIN") && text.contains("PRIVATE KEY") {
        return Some(Secret::PrivateKey);
    }
    let is_apart = |c: char| c.is_whitespace() || "\"'`,;()[]{}<>=".contains(c);
    text.split(is_apart).find_map(in_word)
}

fn in_word(word: &str) -> Option<Secret> {
    if has_password(word) {
        return Some(Secret::Password);
    }
    if word.split([':', '@', '/', '?', '&']).any(is_service_key) {
        return Some(Secret::ServiceKey);
    }
    is_signed_token(word).then_some(Secret::Token)
}

fn is_service_key(part: &str) -> bool {
    PREFIXES.iter().any(|(prefix, more)| {
        part.strip_prefix(prefix)
            .is_some_and(|rest| key_length(rest) >= *more)
    })
}

fn key_length(text: &str) -> usize {
    let is_of_a_key = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    text.chars().take_while(is_of_a_key).count()
}

/// Three parts of base64, the first of them JSON.
fn is_signed_token(word: &str) -> bool {
    let Some(start) = word.find("eyJ") else {
        return false;
    };
    let parts: Vec<&str> = word[start..].splitn(3, '.').collect();
    parts.len() == 3 && parts.iter().all(|part| key_length(part) >= 8)
}

/// `scheme://user:password@host`.
fn has_password(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else {
        return false;
    };
    user.split_once(':')
        .is_some_and(|(_, password)| !password.is_empty() && !is_reference(password))
}

/// `${NAME}` or `$NAME` stand for what somebody else keeps.
fn is_reference(value: &str) -> bool {
    value.starts_with('$')
}

/// The first secret in a tree, and where it stands below `path`.
#[must_use]
pub fn find_in(path: &str, value: &Value) -> Option<(String, Secret)> {
    match value {
        Value::String(text) => find(text).map(|what| (path.to_owned(), what)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_in(&format!("{path}[{index}]"), item)),
        Value::Object(parts) => parts.iter().find_map(|(name, part)| {
            let path = format!("{path}.{name}");
            if let Some(what) = find(name).or_else(|| named(name, part)) {
                return Some((path, what));
            }
            find_in(&path, part)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn named(name: &str, value: &Value) -> Option<Secret> {
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let promises = NAMES.contains(&bare.to_ascii_lowercase().as_str());
    let text = value.as_str().unwrap_or_default();
    (promises && !text.is_empty() && !is_reference(text)).then_some(Secret::Named)
}
