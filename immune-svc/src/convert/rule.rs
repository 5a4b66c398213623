//! Rules and what they found.

use cambium_immune::{Response, Rule, Span, built_in};
use cambium_proto::immune::v1 as wire;
use chrono::TimeDelta;
use prost_types::Duration;

use super::{score_from_wire, time_to_wire};
use crate::error::Error;
use crate::store::anomaly::Anomaly;

pub(crate) fn rule_from_wire(rule: Option<&wire::Rule>) -> Result<Rule, Error> {
    let rule = rule.ok_or_else(|| Error::field("rule", "is missing"))?;
    let checked = Rule {
        id: rule.rule_id.clone(),
        signal_type: rule.signal_type.clone(),
        threshold: score_from_wire("rule.threshold", rule.threshold)?,
        severity: score_from_wire("rule.severity", rule.severity)?,
        response: response_from_wire(rule.response)?,
        span: span_from_wire(rule)?,
        min_count: u32::try_from(rule.min_count)
            .map_err(|_| cambium_immune::Error::MinCount(rule.min_count.into()))?,
        is_dry_run: rule.dry_run,
        is_enabled: rule.enabled,
        version: rule.version,
    };
    Ok(checked.checked()?)
}

fn span_from_wire(rule: &wire::Rule) -> Result<Span, Error> {
    match (rule.of_last, &rule.window) {
        (0, Some(window)) => {
            let nanos = u32::try_from(window.nanos).ok();
            let window = nanos.and_then(|nanos| TimeDelta::new(window.seconds, nanos));
            let window =
                window.ok_or_else(|| Error::field("rule.window", "is outside 1 s to 24 h"))?;
            Ok(Span::Within(window))
        }
        (0, None) => Err(Error::field(
            "rule.window",
            "is missing, and so is `of_last`",
        )),
        (_, Some(window)) if *window != Duration::default() => Err(Error::field(
            "rule.of_last",
            "is given beside `window`: give one",
        )),
        (of_last, _) => {
            let of_last = u32::try_from(of_last)
                .map_err(|_| cambium_immune::Error::OfLast(of_last.into()))?;
            Ok(Span::OfLast(of_last))
        }
    }
}

fn response_from_wire(response: i32) -> Result<Response, Error> {
    match wire::RuleResponse::try_from(response) {
        Ok(wire::RuleResponse::Log) => Ok(Response::Log),
        Ok(wire::RuleResponse::Alert) => Ok(Response::Alert),
        Ok(wire::RuleResponse::Quarantine) => Ok(Response::Quarantine),
        Ok(wire::RuleResponse::Unspecified) => Err(Error::field("rule.response", "is missing")),
        Err(_) => Err(Error::field("rule.response", "is no response")),
    }
}

const fn response_to_wire(response: Response) -> wire::RuleResponse {
    match response {
        Response::Log => wire::RuleResponse::Log,
        Response::Alert => wire::RuleResponse::Alert,
        Response::Quarantine => wire::RuleResponse::Quarantine,
    }
}

pub(crate) fn rule_to_wire(rule: &Rule) -> wire::Rule {
    let (window, of_last) = match rule.span {
        Span::Within(window) => (Some(window), 0),
        Span::OfLast(of_last) => (None, of_last),
    };
    wire::Rule {
        rule_id: rule.id.clone(),
        signal_type: rule.signal_type.clone(),
        threshold: rule.threshold.as_f64(),
        severity: rule.severity.as_f64(),
        response: response_to_wire(rule.response).into(),
        window: window.map(|window| Duration {
            seconds: window.num_seconds(),
            nanos: window.subsec_nanos(),
        }),
        min_count: i32::try_from(rule.min_count).unwrap_or(i32::MAX),
        of_last: i32::try_from(of_last).unwrap_or(i32::MAX),
        dry_run: rule.is_dry_run,
        enabled: rule.is_enabled,
        built_in: built_in(&rule.id).is_some(),
        version: rule.version,
    }
}

pub(crate) fn anomaly_to_wire(one: &Anomaly, name: &str) -> wire::Anomaly {
    wire::Anomaly {
        anomaly_id: one.id.to_string(),
        rule_id: one.rule.clone(),
        agent_id: one.key.agent.to_string(),
        agent_name: name.to_owned(),
        occur_time: Some(time_to_wire(one.occurred_at)),
        severity: one.severity.as_f64(),
        response: response_to_wire(one.response).into(),
        dry_run: one.is_dry_run,
        detail: one.detail.clone(),
    }
}
