//! Argo's `depends`: a condition over the end states of tasks, as edges where edges can say it, else as CEL.
//! Knows no other tasks than those it names, and does not ask whether they exist.

use cambium_proto::hypha::v1::TaskState;

/// What a name without a state asks for.
pub(super) const UNHARMED: [TaskState; 2] = [TaskState::Succeeded, TaskState::Skipped];
/// How a task of Argo can end, in the order in which edges list it.
const ENDS: [TaskState; 4] = [
    TaskState::Succeeded,
    TaskState::Failed,
    TaskState::Skipped,
    TaskState::Omitted,
];
const MAX_DEPTH: usize = 32;

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("it ends where a task is expected")]
    End,
    #[error("`{found}` at byte {at} fits nowhere")]
    Unexpected { found: String, at: usize },
    #[error("`{0}` is no end state")]
    State(String),
    #[error("it is nested more than {MAX_DEPTH} deep")]
    Depth,
}

/// A condition, and what it asked that has no equal here.
#[derive(Debug)]
pub(super) struct Depends {
    pub(super) condition: Condition,
    pub(super) asks_daemoned: bool,
    /// `.AnySucceeded` or `.AllFailed`, which speak of the members of a fan-out.
    pub(super) asks_of_several: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// The task ended in one of these.
    Ended(String, Vec<TaskState>),
    Not(Box<Self>),
    /// Two or more.
    All(Vec<Self>),
    /// Two or more.
    Any(Vec<Self>),
}

/// How a graph says the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    EachFires(Vec<(String, Vec<TaskState>)>),
    SomeFires(Vec<(String, Vec<TaskState>)>),
    /// No edges can say it: the tasks it is computed from.
    Computed(Vec<String>),
}

impl Condition {
    /// A conjunction of one clause for each task is edges that must all fire, a disjunction of
    /// clauses about one task each is edges of which one must fire once all are settled.
    pub(super) fn meaning(&self) -> Meaning {
        let tasks = self.tasks();
        let clauses = match self {
            Self::All(clauses) => clauses.as_slice(),
            Self::Ended(..) | Self::Not(_) | Self::Any(_) => std::slice::from_ref(self),
        };
        let each: Option<Vec<_>> = clauses.iter().map(Self::about_one).collect();
        if let Some(each) = each
            && each.len() == tasks.len()
        {
            return Meaning::EachFires(each);
        }
        match self {
            Self::Any(clauses) => clauses
                .iter()
                .map(Self::about_one)
                .collect::<Option<Vec<_>>>()
                .map_or(Meaning::Computed(tasks), |some| {
                    Meaning::SomeFires(joined(some))
                }),
            Self::Ended(..) | Self::Not(_) | Self::All(_) => Meaning::Computed(tasks),
        }
    }

    /// The condition as CEL over `state`, in which tasks go by their keys.
    pub(super) fn to_cel(&self, key: &impl Fn(&str) -> String) -> String {
        let nested = |inner: &Self| match inner {
            Self::Ended(..) | Self::Not(_) => inner.to_cel(key),
            Self::All(_) | Self::Any(_) => format!("({})", inner.to_cel(key)),
        };
        match self {
            Self::Ended(task, states) => {
                let states: Vec<_> = states
                    .iter()
                    .map(|&state| format!("'{}'", word(state)))
                    .collect();
                match states.as_slice() {
                    [state] => format!("state[\"{}\"] == {state}", key(task)),
                    _ => format!("state[\"{}\"] in [{}]", key(task), states.join(", ")),
                }
            }
            Self::Not(inner) => format!("!({})", inner.to_cel(key)),
            Self::All(inner) => inner.iter().map(nested).collect::<Vec<_>>().join(" && "),
            Self::Any(inner) => inner.iter().map(nested).collect::<Vec<_>>().join(" || "),
        }
    }

    /// The one task it is about and the end states that satisfy it, if some do.
    fn about_one(&self) -> Option<(String, Vec<TaskState>)> {
        let [task] = <[String; 1]>::try_from(self.tasks()).ok()?;
        let on: Vec<_> = ENDS.into_iter().filter(|&end| self.holds(end)).collect();
        (!on.is_empty()).then_some((task, on))
    }

    /// Whether it holds if every task it names ended alike.
    fn holds(&self, end: TaskState) -> bool {
        match self {
            Self::Ended(_, states) => states.contains(&end),
            Self::Not(inner) => !inner.holds(end),
            Self::All(inner) => inner.iter().all(|inner| inner.holds(end)),
            Self::Any(inner) => inner.iter().any(|inner| inner.holds(end)),
        }
    }

    /// The tasks it names, each once, first to last.
    fn tasks(&self) -> Vec<String> {
        let mut tasks = Vec::new();
        self.visit(&mut |task| {
            if !tasks.iter().any(|known| known == task) {
                tasks.push(task.to_owned());
            }
        });
        tasks
    }

    fn visit(&self, each: &mut impl FnMut(&str)) {
        match self {
            Self::Ended(task, _) => each(task),
            Self::Not(inner) => inner.visit(each),
            Self::All(inner) | Self::Any(inner) => inner.iter().for_each(|inner| inner.visit(each)),
        }
    }
}

/// Clauses about the same task are one edge that fires on either's states.
fn joined(clauses: Vec<(String, Vec<TaskState>)>) -> Vec<(String, Vec<TaskState>)> {
    let mut edges: Vec<(String, Vec<TaskState>)> = Vec::new();
    for (task, on) in clauses {
        match edges.iter_mut().find(|(known, _)| *known == task) {
            Some((_, states)) => {
                states.extend(on);
                states.sort();
                states.dedup();
            }
            None => edges.push((task, on)),
        }
    }
    edges
}

const fn word(state: TaskState) -> &'static str {
    match state {
        TaskState::Succeeded => "succeeded",
        TaskState::Failed => "failed",
        TaskState::Skipped => "skipped",
        TaskState::Omitted => "omitted",
        TaskState::Unspecified
        | TaskState::Waiting
        | TaskState::Ready
        | TaskState::Running
        | TaskState::BackingOff
        | TaskState::Parked
        | TaskState::Cancelled => "",
    }
}

/// Reads a condition: names, `.State`, `&&`, `||`, `!` and brackets.
pub(super) fn parse(text: &str) -> Result<Depends, Fault> {
    let mut reader = Reader {
        text,
        at: 0,
        asks_daemoned: false,
        asks_of_several: false,
    };
    let condition = reader.any(0)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        return Err(reader.unexpected());
    }
    let Reader {
        asks_daemoned,
        asks_of_several,
        ..
    } = reader;
    Ok(Depends {
        condition,
        asks_daemoned,
        asks_of_several,
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    asks_daemoned: bool,
    asks_of_several: bool,
}

impl<'a> Reader<'a> {
    fn any(&mut self, depth: usize) -> Result<Condition, Fault> {
        self.chain("||", Condition::Any, |reader| {
            reader.chain("&&", Condition::All, |reader| reader.one(depth))
        })
    }

    fn chain(
        &mut self,
        operator: &str,
        chain: fn(Vec<Condition>) -> Condition,
        mut part: impl FnMut(&mut Self) -> Result<Condition, Fault>,
    ) -> Result<Condition, Fault> {
        let first = part(self)?;
        if !self.take(operator) {
            return Ok(first);
        }
        let mut parts = vec![first, part(self)?];
        while self.take(operator) {
            parts.push(part(self)?);
        }
        Ok(flat(chain(parts)))
    }

    fn one(&mut self, depth: usize) -> Result<Condition, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::Depth);
        }
        if self.take("!") {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.take("(") {
            let inner = self.any(depth + 1)?;
            return if self.take(")") {
                Ok(inner)
            } else {
                Err(self.unexpected())
            };
        }
        let Some(task) = self.name() else {
            return Err(self.unexpected());
        };
        if !self.text[self.at..].starts_with('.') {
            return Ok(Condition::Ended(task.to_owned(), UNHARMED.to_vec()));
        }
        self.at += 1;
        let state = self.name().unwrap_or_default();
        Ok(Condition::Ended(task.to_owned(), vec![self.state(state)?]))
    }

    fn state(&mut self, name: &str) -> Result<TaskState, Fault> {
        self.asks_daemoned |= name == "Daemoned";
        self.asks_of_several |= matches!(name, "AnySucceeded" | "AllFailed");
        match name {
            "Succeeded" | "AnySucceeded" | "Daemoned" => Ok(TaskState::Succeeded),
            "Failed" | "Errored" | "AllFailed" => Ok(TaskState::Failed),
            "Skipped" => Ok(TaskState::Skipped),
            "Omitted" => Ok(TaskState::Omitted),
            other => Err(Fault::State(other.to_owned())),
        }
    }

    /// Names are letters, digits, `-` and `_`; a dot ends them.
    fn name(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
            .unwrap_or(rest.len());
        self.at += length;
        (length > 0).then_some(&rest[..length])
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let is_next = self.text[self.at..].starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn unexpected(&self) -> Fault {
        let found = self.text[self.at..].chars().next();
        found.map_or(Fault::End, |found| Fault::Unexpected {
            found: found.to_string(),
            at: self.at,
        })
    }
}

/// Brackets around a part of the same chain say nothing.
fn flat(condition: Condition) -> Condition {
    match condition {
        Condition::All(parts) => Condition::All(
            parts
                .into_iter()
                .flat_map(|part| {
                    if let Condition::All(inner) = part {
                        inner
                    } else {
                        vec![part]
                    }
                })
                .collect(),
        ),
        Condition::Any(parts) => Condition::Any(
            parts
                .into_iter()
                .flat_map(|part| {
                    if let Condition::Any(inner) = part {
                        inner
                    } else {
                        vec![part]
                    }
                })
                .collect(),
        ),
        Condition::Ended(..) | Condition::Not(_) => condition,
    }
}

#[cfg(test)]
mod tests;
