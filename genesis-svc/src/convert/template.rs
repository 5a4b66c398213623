//! Templates.

use cambium_genesis::template::{Caps, Draft, Spec};
use cambium_genesis::{TemplateName, holdout, matching};
use cambium_kernel::WorkspaceId;
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::principal::Principal;
use serde_json::{Map, Value};

use super::{Inheritance, from_yaml, score, time_to_wire, workspace};
use crate::error::Error;
use crate::store::version::Version;

/// A wish for a template, or for a new version of one.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) workspace: WorkspaceId,
    pub(crate) name: TemplateName,
    /// 0: there is none yet.
    pub(crate) expected: i32,
    pub(crate) spec: Spec,
}

pub(crate) fn template_name(field: &'static str, text: &str) -> Result<TemplateName, Error> {
    TemplateName::parse(text).map_err(|error| match error {
        cambium_genesis::Error::TemplateName(why) => Error::field(field, why.to_string()),
        other => other.into(),
    })
}

/// A version that is asked for; 0 is the current one.
pub(crate) fn version_number(number: i32) -> Result<Option<i32>, Error> {
    match number {
        0 => Ok(None),
        1.. => Ok(Some(number)),
        _ => Err(Error::field("version", "is below 0")),
    }
}

pub(crate) fn put_from_wire(
    caller: &Principal,
    request: wire::PutTemplateRequest,
) -> Result<Put, Error> {
    let workspace = workspace(caller, &request.workspace_id)?;
    let name = template_name("name", &request.name)?;
    let spec = request
        .spec
        .ok_or_else(|| Error::field("spec", "is missing"))?;
    Ok(Put {
        workspace,
        name,
        expected: expected(request.expected_version)?,
        spec: Spec::new(draft(spec)?)?,
    })
}

/// A wish by file, and what was read past in it.
pub(crate) fn import_from_wire(
    caller: &Principal,
    request: &wire::ImportTemplateRequest,
) -> Result<(Put, Vec<String>), Error> {
    let workspace = workspace(caller, &request.workspace_id)?;
    let expected = expected(request.expected_version)?;
    let file = from_yaml(&request.yaml)?;
    let name = match request.name.as_str() {
        "" => &file.name,
        name => name,
    };
    let put = Put {
        workspace,
        name: template_name("name", name)?,
        expected,
        spec: Spec::new(file.draft)?,
    };
    Ok((put, file.left_out))
}

fn expected(version: i32) -> Result<i32, Error> {
    if version < 0 {
        return Err(Error::field("expected_version", "is below 0"));
    }
    Ok(version)
}

fn draft(spec: wire::TemplateSpec) -> Result<Draft, Error> {
    let share = |field, given: Option<f64>, default| {
        given.map_or(Ok(default), |number| score(field, number))
    };
    Ok(Draft {
        config: config(&spec.config)?,
        limits: spec.limits.map(caps).transpose()?,
        match_threshold: share("match_threshold", spec.match_threshold, matching::THRESHOLD)?,
        holdout_share: share("holdout_share", spec.holdout_share, holdout::SHARE)?,
        role: spec.role,
        instructions: spec.instructions,
        capabilities: spec.capabilities,
        serves_minds: spec.serves_minds,
        requires_approval: spec.requires_approval,
    })
}

fn config(bytes: &[u8]) -> Result<Value, Error> {
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_slice(bytes)
        .map_err(|why| Error::field("config", format!("is no JSON: {why}")))
}

fn caps(limits: wire::TemplateLimits) -> Result<Caps, Error> {
    let count = |field: &str, number: i32| {
        u32::try_from(number).map_err(|_| Error::field(format!("limits.{field}"), "is below 0"))
    };
    Ok(Caps {
        generation: count("generation", limits.generation)?,
        live_children: count("live_children", limits.live_children)?,
        live_agents: count("live_agents", limits.live_agents)?,
    })
}

/// How a template stands now goes with the current version alone.
pub(crate) fn template_to_wire(workspace: &WorkspaceId, version: &Version) -> wire::Template {
    wire::Template {
        workspace_id: workspace.to_string(),
        name: version.name.to_string(),
        version: version.version,
        spec: Some(spec_to_wire(&version.spec)),
        create_time: Some(time_to_wire(version.created_at)),
        created_by: version.created_by.clone(),
        ..wire::Template::default()
    }
}

fn spec_to_wire(spec: &Spec) -> wire::TemplateSpec {
    let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    wire::TemplateSpec {
        role: spec.role.clone(),
        instructions: spec.instructions.clone(),
        capabilities: spec.capabilities.iter().map(str::to_owned).collect(),
        config: config_to_bytes(&spec.config),
        limits: Some(wire::TemplateLimits {
            generation: count(spec.limits().generation),
            live_children: count(spec.limits().live_children),
            live_agents: count(spec.limits().live_agents),
        }),
        serves_minds: spec.serves_minds.iter().cloned().collect(),
        requires_approval: spec.requires_approval,
        match_threshold: Some(spec.match_threshold.as_f64()),
        holdout_share: Some(spec.holdout_share.as_f64()),
    }
}

fn config_to_bytes(config: &Map<String, Value>) -> Vec<u8> {
    Value::Object(config.clone()).to_string().into_bytes()
}

/// What an agent is told to be.
pub(crate) fn config_to_wire(spec: &Spec, inheritance: &Inheritance) -> wire::AgentConfig {
    wire::AgentConfig {
        role: spec.role.clone(),
        instructions: spec.instructions.clone(),
        config: config_to_bytes(&spec.config),
        serves_minds: spec.serves_minds.iter().cloned().collect(),
        inherited_learnings: inheritance.to_wire(),
        inherited_hash: inheritance.hash_to_wire(),
        held_out_learning_ids: inheritance
            .held_out
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}
