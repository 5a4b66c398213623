//! Conditions: CEL expressions, bounded before and after they are compiled, evaluated over copies of what they name.
//! The expression library has no budget and recurses, so whatever could exhaust stack, memory or time is refused here.

mod bounds;
mod leaf;
mod reads;
mod scan;
mod walk;

use std::fmt;
use std::sync::{Arc, LazyLock};

use cel::{Context, Env, Program, Value};

use crate::Path;
use reads::Reads;

pub use scan::LEAVES;

/// The failure code of a task whose condition could not be answered.
pub const CODE: &str = "CONDITION_ERROR";

/// Building it costs a tenth of a millisecond, and it never changes.
static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Where a condition stands: that decides what it can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// On a node: `input` and `inputs.<key>`.
    Node,
    /// On an edge: `input` and `output`.
    Edge,
    /// In a join: `state.<key>`.
    Join,
}

/// Why a text is no condition. Reads on from the name of the field it stands in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("has {0} bytes, above the limit of {max}", max = bounds::BYTES)]
    TooLong(usize),
    #[error("nests brackets deeper than {max}", max = bounds::NESTING)]
    TooNested,
    #[error("has a string without an end")]
    Unterminated,
    #[error("is no CEL expression: {0}")]
    Syntax(String),
    #[error("has more than {max} operations and operands", max = walk::NODES)]
    TooLarge,
    #[error("is nested deeper than {max}", max = walk::DEPTH)]
    TooDeep,
    #[error("adds up more than {max} terms", max = walk::TERMS)]
    LongSum,
    #[error("builds a list or a structure; `map`, `filter` and messages are not available")]
    Builds,
    #[error("has a loop within a loop")]
    NestedLoop,
    #[error("names `{0}` within a loop, where only the loop's own variable is known")]
    LoopNames(String),
    #[error(
        "names `{name}`, but knows only {known}; a key with `-`, `.` or `:` is written [\"key\"]"
    )]
    UnknownName { name: String, known: &'static str },
    #[error("calls `{0}`, which is not available")]
    UnknownFunction(String),
    #[error("names `{0}` as a whole; write `{0}.<key>` or `{0}[\"key\"]`")]
    WithoutKey(&'static str),
    #[error("names `{key}`, from which no {edge} leads here")]
    NotUpstream { key: String, edge: &'static str },
    #[error(
        "names node `{0}`, which the graph does not have; a key with `-`, `.` or `:` is written [\"key\"]"
    )]
    UnknownNode(String),
}

/// Why a condition has no answer. That makes its node fail with [`CODE`]: it is never taken for false.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("condition `{condition}` has no answer: {reason}")]
pub struct ConditionFault {
    pub condition: String,
    pub reason: String,
}

/// The documents a condition may look into, as UTF-8 JSON; no bytes are `null`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'a> {
    /// The run's input.
    pub input: Option<&'a [u8]>,
    /// Outputs by the key of their node. What is not here does not exist for the condition.
    pub inputs: &'a [(&'a str, &'a [u8])],
    /// Of edges: the output of the node they come from.
    pub output: Option<&'a [u8]>,
    /// Of joins: the end states upstream.
    pub states: &'a [(&'a str, crate::EndState)],
}

/// A condition that was compiled and found to be bounded. Cheap to clone.
#[derive(Clone)]
pub struct Condition(Arc<Inner>);

struct Inner {
    // INVARIANT: within the bounds of `bounds` and `walk`; `reads` covers every variable the program names.
    program: Program,
    source: String,
    reads: Reads,
}

impl Condition {
    /// Compiles what stands at `place`. Whether the nodes it names are upstream is for the graph to say.
    pub fn compile(source: &str, place: Place) -> Result<Self, Refusal> {
        bounds::check(source)?;
        let program = LANGUAGE.compile(source).map_err(|faults| {
            Refusal::Syntax(
                faults
                    .errors
                    .first()
                    .map_or_else(String::new, |first| first.msg.clone()),
            )
        })?;
        let reads = walk::check(program.expression(), place)?;
        Ok(Self(Arc::new(Inner {
            program,
            source: source.to_owned(),
            reads,
        })))
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The places it names, each once: nothing else need be loaded to evaluate it.
    #[must_use]
    pub fn reads(&self) -> &[Path] {
        self.0.reads.paths()
    }

    /// Answers, or says why there is no answer. Copies only what the condition names, [`LEAVES`] bytes at most.
    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<bool, ConditionFault> {
        let fault = |reason| ConditionFault {
            condition: self.0.source.clone(),
            reason,
        };
        let mut context = Context::with_env(Arc::clone(&LANGUAGE));
        for (name, value) in self
            .0
            .reads
            .variables(scope)
            .map_err(|it| fault(it.to_string()))?
        {
            context.add_variable_from_value(name, value);
        }
        match self.0.program.execute(&context) {
            Ok(Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(fault(format!(
                "it is of type {}, not bool",
                other.type_of()
            ))),
            Err(error) => Err(fault(clipped(&error.to_string()))),
        }
    }
}

/// The library quotes whole values, which are somebody's data and may be long.
fn clipped(message: &str) -> String {
    message.chars().take(200).collect()
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.0.source).finish()
    }
}

#[cfg(test)]
mod tests;
