//! Bounds on a compiled condition, and what it names. Every loop the language could run away with is cut here.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};

use super::reads::{Name, Reads, Use};
use super::{Place, Refusal};

/// Most operations and operands.
pub(super) const NODES: usize = 200;
/// Deepest nesting of operations.
pub(super) const DEPTH: usize = 24;
/// Most terms of one sum: each copies what the sum has grown to.
pub(super) const TERMS: usize = 8;

const FUNCTIONS: [&str; 33] = [
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::SUBSTRACT,
    operators::ADD,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::GREATER_EQUALS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::LESS,
    operators::NEGATE,
    operators::INDEX,
    operators::OPT_INDEX,
    operators::OPT_SELECT,
    operators::NOT_STRICTLY_FALSE,
    operators::IN,
    "size",
    "startsWith",
    "endsWith",
    "contains",
    "int",
    "uint",
    "double",
    "string",
    "dyn",
    "orValue",
    "hasValue",
    "value",
];

pub(super) fn check(root: &IdedExpr, place: Place) -> Result<Reads, Refusal> {
    let mut walk = Walk {
        place,
        nodes: 0,
        scope: Names::Documents,
        reads: Reads::default(),
    };
    walk.visit(root, 1)?;
    Ok(walk.reads)
}

/// What names mean where the walk is.
#[derive(Clone, Copy)]
enum Names<'a> {
    Documents,
    /// In what a loop goes over.
    Range,
    /// In the body of a loop, which knows its own variables alone.
    Body(&'a ComprehensionExpr),
}

struct Walk<'a> {
    place: Place,
    nodes: usize,
    scope: Names<'a>,
    reads: Reads,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, node: &'a IdedExpr, depth: usize) -> Result<(), Refusal> {
        self.count(depth)?;
        match &node.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(_) | Expr::Select(_) => self.place(node, depth),
            Expr::Call(call) if is_step(call) => self.place(node, depth),
            Expr::Call(call) => self.call(call, depth),
            Expr::Comprehension(it) => self.comprehension(it, depth),
            Expr::List(list) => self.all(&list.elements, depth),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.visit(&entry.key, depth + 1)?;
                    self.visit(&entry.value, depth + 1)
                }
                EntryExpr::StructField(_) => Err(Refusal::Builds),
            }),
            Expr::Struct(_) => Err(Refusal::Builds),
            Expr::Unspecified => Err(Refusal::Syntax("a part is missing".to_owned())),
        }
    }

    fn all(&mut self, nodes: &'a [IdedExpr], depth: usize) -> Result<(), Refusal> {
        nodes
            .iter()
            .try_for_each(|node| self.visit(node, depth + 1))
    }

    fn count(&mut self, depth: usize) -> Result<(), Refusal> {
        if depth > DEPTH {
            return Err(Refusal::TooDeep);
        }
        self.nodes += 1;
        if self.nodes > NODES {
            Err(Refusal::TooLarge)
        } else {
            Ok(())
        }
    }

    /// A name with the members selected from it, or members of something that was computed.
    fn place(&mut self, node: &'a IdedExpr, depth: usize) -> Result<(), Refusal> {
        let mut members = Vec::new();
        let mut purpose = Use::Value;
        let (mut at, mut below) = (node, depth);
        while let Some((operand, member)) = step(at) {
            if below == depth && is_presence_test(at) {
                purpose = Use::Presence;
            }
            members.push(member);
            at = operand;
            below += 1;
            self.count(below)?;
        }
        members.reverse();
        match &at.expr {
            Expr::Ident(name) => self.name(name, &members, purpose),
            _ if below > depth => {
                self.nodes -= 1; // `visit` counts it again
                self.visit(at, below)
            }
            Expr::Call(call) => self.call(call, depth),
            _ => Err(Refusal::Syntax("a name is missing".to_owned())),
        }
    }

    fn name(&mut self, name: &str, members: &[&str], purpose: Use) -> Result<(), Refusal> {
        if let Names::Body(its) = self.scope {
            let own = name == its.iter_var || name == its.accu_var;
            let second = its.iter_var2.as_deref() == Some(name);
            return if own || second {
                Ok(())
            } else {
                Err(Refusal::LoopNames(name.to_owned()))
            };
        }
        self.reads
            .add(Name::find(name, self.place)?, members, purpose)
    }

    fn call(&mut self, call: &'a CallExpr, depth: usize) -> Result<(), Refusal> {
        let name = call.func_name.as_str();
        if !FUNCTIONS.contains(&name) {
            return Err(Refusal::UnknownFunction(name.to_owned()));
        }
        if terms(call) > TERMS {
            return Err(Refusal::LongSum);
        }
        if let Some(target) = &call.target {
            self.visit(target, depth + 1)?;
        }
        self.all(&call.args, depth)
    }

    fn comprehension(&mut self, it: &'a ComprehensionExpr, depth: usize) -> Result<(), Refusal> {
        if matches!(it.accu_init.expr, Expr::List(_)) {
            return Err(Refusal::Builds);
        }
        if !matches!(self.scope, Names::Documents) {
            return Err(Refusal::NestedLoop);
        }
        self.scope = Names::Range;
        self.visit(&it.iter_range, depth + 1)?;
        self.scope = Names::Body(it);
        for part in [&it.accu_init, &it.loop_cond, &it.loop_step, &it.result] {
            self.visit(part, depth + 1)?;
        }
        self.scope = Names::Documents;
        Ok(())
    }
}

/// How many terms a sum adds up, sums within it included; 1 for anything else.
fn terms(call: &CallExpr) -> usize {
    if call.func_name != operators::ADD {
        return 1;
    }
    let parts = call.args.iter().map(|part| match &part.expr {
        Expr::Call(part) => terms(part),
        _ => 1,
    });
    parts.sum()
}

/// Whether a call selects a member or an item.
fn is_step(call: &CallExpr) -> bool {
    matches!(
        &*call.func_name,
        operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT
    )
}

fn is_presence_test(node: &IdedExpr) -> bool {
    matches!(&node.expr, Expr::Select(select) if select.test)
}

/// What a member is selected from, and the member, where its name is written out.
fn step(node: &IdedExpr) -> Option<(&IdedExpr, &str)> {
    match &node.expr {
        Expr::Select(select) => Some((&select.operand, &select.field)),
        Expr::Call(call) if is_step(call) => match call.args.as_slice() {
            [operand, index] => match &index.expr {
                Expr::Literal(LiteralValue::String(member)) => Some((operand, member.inner())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
