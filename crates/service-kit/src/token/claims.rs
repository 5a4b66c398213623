//! What a token says, as JSON, and what one must say to be minted.

use cambium_kernel::check_name;
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Issuer, TokenError, max_life};
use crate::principal::{Fence, HeldLease, Kind, Principal};

/// The token one would like to have.
#[derive(Clone, Debug)]
pub struct Mint {
    pub kind: Kind,
    pub name: String,
    /// The services it is for.
    pub audience: Vec<String>,
    pub ttl: TimeDelta,
    /// The workspaces it may enter; `*` is every one.
    pub workspaces: Vec<String>,
    pub agents: Vec<String>,
    pub capabilities: Vec<String>,
    /// On whose behalf.
    pub act: Option<String>,
    /// Of an agent's token: the attempt it is for.
    pub lease: Option<HeldLease>,
    /// Of a mind's token: what it ends with.
    pub fence: Option<Fence>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) iss: String,
    pub(super) sub: String,
    pub(super) aud: Vec<String>,
    pub(super) iat: i64,
    pub(super) nbf: i64,
    pub(super) exp: i64,
    pub(super) jti: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) workspaces: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) agents: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) capabilities: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) act: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease: Option<HeldLease>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fence: Option<Fence>,
}

impl Claims {
    pub(super) fn of(wish: Mint, issuer: Issuer, now: DateTime<Utc>) -> Result<Self, TokenError> {
        check_name(&wish.name)?;
        check_mint(issuer, wish.kind, wish.act.as_deref())?;
        check_life(wish.kind, wish.ttl)?;
        let issued = now.trunc_subsecs(0);
        Ok(Self {
            iss: issuer.as_str().to_owned(),
            sub: format!("{}:{}", wish.kind, wish.name),
            aud: wish.audience,
            iat: issued.timestamp(),
            nbf: issued.timestamp(),
            exp: (issued + wish.ttl).timestamp(),
            jti: Uuid::new_v4().to_string(),
            workspaces: wish.workspaces,
            agents: wish.agents,
            capabilities: wish.capabilities,
            act: wish.act,
            lease: wish.lease,
            fence: wish.fence,
        })
    }

    /// The principal these claims describe. Whether they are true is the verifier's question.
    pub(super) fn into_principal(self) -> Result<Principal, TokenError> {
        let (kind, name) = parse_subject(&self.sub)?;
        Ok(Principal {
            kind,
            name: name.to_owned(),
            workspaces: self.workspaces,
            agents: self.agents,
            capabilities: self.capabilities,
            act: self.act,
            lease: self.lease,
            fence: self.fence,
            expires_at: time(self.exp)?,
            issued_at: time(self.iat)?,
        })
    }
}

pub(super) fn check_mint(issuer: Issuer, kind: Kind, act: Option<&str>) -> Result<(), TokenError> {
    if issuer.may_mint(kind, act.is_some_and(|actor| !actor.is_empty())) {
        Ok(())
    } else {
        Err(TokenError::MayNotMint { issuer, kind })
    }
}

pub(super) fn check_life(kind: Kind, life: TimeDelta) -> Result<(), TokenError> {
    let limit = max_life(kind);
    if life > TimeDelta::zero() && life <= limit {
        Ok(())
    } else {
        Err(TokenError::WrongLife { kind, life, limit })
    }
}

pub(super) fn time(seconds: i64) -> Result<DateTime<Utc>, TokenError> {
    DateTime::from_timestamp(seconds, 0).ok_or(TokenError::Malformed)
}

pub(super) fn parse_subject(subject: &str) -> Result<(Kind, &str), TokenError> {
    let (kind, name) = subject.split_once(':').ok_or(TokenError::WrongSubject)?;
    check_name(name)?;
    Ok((Kind::parse(kind).ok_or(TokenError::WrongSubject)?, name))
}
