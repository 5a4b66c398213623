//! Who may call what, by kind of caller. Whatever no rule lists is denied; only health answers strangers.
//! Looks at the method and the token alone: what depends on the body or on stored state is the services' question.

mod contract;
mod error;
mod method;

use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;

pub use error::Error;
pub(crate) use method::Method;
use method::{Access, Grant};

use crate::principal::{Kind, Principal};
use crate::token::{TokenError, Verifier};

/// One line of a service's permissions.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The gRPC path, as in `/cambium.hypha.v1.RunService/StartRun`.
    pub method: &'static str,
    pub kinds: &'static [Kind],
}

/// One service's rules and the verifier of its tokens.
#[derive(Clone, Debug)]
struct Part {
    verifier: Arc<Verifier>,
    service: &'static str,
    permissions: &'static [Rule],
}

/// The permissions of everything that one port serves.
#[derive(Clone, Debug)]
pub struct Auth {
    parts: Vec<Part>,
    methods: Arc<HashMap<&'static str, Arc<Method>>>,
    unknown: Arc<Method>,
}

impl Auth {
    /// `verifier` judges the tokens for `service`; a method that `permissions` does not list is denied.
    #[must_use]
    pub fn new(verifier: Verifier, service: &'static str, permissions: &'static [Rule]) -> Self {
        Self::of(vec![Part {
            verifier: Arc::new(verifier),
            service,
            permissions,
        }])
    }

    /// The permissions of several services behind one port; each rule keeps its own verifier and audience.
    ///
    /// A method that several of them list accepts whoever one of them would accept.
    #[must_use]
    pub fn merge(auths: Vec<Self>) -> Self {
        Self::of(auths.into_iter().flat_map(|auth| auth.parts).collect())
    }

    fn of(parts: Vec<Part>) -> Self {
        let unlisted: Vec<Grant> = parts.iter().map(|part| part.grant(&[])).collect();
        let anybody: Vec<Grant> = parts.iter().map(|part| part.grant(&Kind::ALL)).collect();
        let mut access = HashMap::new();
        for path in contract::methods() {
            access.insert(path, Access::Granted(unlisted.clone()));
        }
        for path in contract::REFLECTION {
            access.insert(path, Access::Granted(anybody.clone()));
        }
        for path in contract::HEALTH {
            access.insert(path, Access::Open);
        }
        for (path, grants) in listed(&parts) {
            access.insert(path, Access::Granted(grants));
        }
        let method = |(path, access)| (path, Arc::new(Method::new(path, access)));
        Self {
            methods: Arc::new(access.into_iter().map(method).collect()),
            unknown: Arc::new(Method::new(contract::UNKNOWN, Access::Granted(unlisted))),
            parts,
        }
    }

    /// What is known of the method behind a path.
    pub(crate) fn method(&self, path: &str) -> &Arc<Method> {
        self.methods.get(path).unwrap_or(&self.unknown)
    }
}

impl Part {
    fn grant(&self, kinds: &'static [Kind]) -> Grant {
        Grant {
            verifier: Arc::clone(&self.verifier),
            service: self.service,
            kinds,
        }
    }
}

fn listed(parts: &[Part]) -> HashMap<&'static str, Vec<Grant>> {
    let mut listed: HashMap<_, Vec<Grant>> = HashMap::new();
    for part in parts {
        for rule in part.permissions {
            listed
                .entry(rule.method)
                .or_default()
                .push(part.grant(rule.kinds));
        }
    }
    listed
}

impl Method {
    /// The caller, if it may call this method. `None` is a stranger, whom only health lets in.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Option<Arc<Principal>>, Error> {
        let Access::Granted(grants) = &self.access else {
            return Ok(None);
        };
        let token = bearer(headers)?;
        let mut refusal = None;
        for grant in grants {
            match grant.verifier.verify(token) {
                Ok(principal) if grant.kinds.contains(&principal.kind) => {
                    return Ok(Some(principal));
                }
                Ok(principal) => refusal = Some(self.not_permitted(grant, principal.kind)),
                Err(error) => {
                    // What another service's verifier says tells less than what the token's own says.
                    if matches!(
                        refusal,
                        None | Some(Error::Token(TokenError::WrongAudience))
                    ) {
                        refusal = Some(error.into());
                    }
                }
            }
        }
        Err(refusal.unwrap_or(Error::TokenMissing))
    }

    fn not_permitted(&self, grant: &Grant, kind: Kind) -> Error {
        if self.path == contract::UNKNOWN {
            return Error::NoSuchMethod;
        }
        Error::NotPermitted {
            service: grant.service,
            method: self.path,
            kind,
        }
    }
}

/// The token of an `authorization: Bearer ..` header.
fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
    let value = headers.get(AUTHORIZATION).ok_or(Error::TokenMissing)?;
    let text = value.to_str().map_err(|_| Error::TokenMissing)?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        Some(_) | None => Err(Error::TokenMissing),
    }
}

#[cfg(test)]
mod tests;
