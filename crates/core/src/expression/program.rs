//! A parsed expression, and its bindings: the values that must be resolved before evaluation.

use std::ops::Range;
use std::sync::Arc;

use super::error::EvaluationBudget;
use super::evaluate::Evaluation;
use super::tree::{Accessor, CoalesceOperand, Tree, add};
use super::{EvaluationError, EvaluationLimits};
use crate::Value;
use crate::plan::{Alternative, Form, Missing, Read};

/// A CEL expression, parsed once: a condition or a computed value.
///
/// Numbers are JSON numbers. Operations on integers give integers (`7 / 2` is `3`), all others give doubles, and both
/// can be mixed.
#[derive(Clone, Debug)]
pub struct Expression(Arc<ExpressionData>);

#[derive(Debug)]
struct ExpressionData {
    text: Arc<str>,
    tree: Tree,
    bindings: Vec<Form>,
    reads: Vec<Read>,
}

impl PartialEq for Expression {
    /// Compares the source texts, which determine the meaning.
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Expression {
    pub(super) fn new(text: Arc<str>, tree: Tree, bindings: Vec<Form>, reads: Vec<Read>) -> Self {
        Self(Arc::new(ExpressionData {
            text,
            tree,
            bindings,
            reads,
        }))
    }

    /// Returns the source text.
    pub fn text(&self) -> &Arc<str> {
        &self.0.text
    }

    /// Returns every read of the expression, with the constant path after it. Reads inside `has(…)` or before a `??`
    /// are marked [`Missing::Null`], since they need not exist.
    pub fn reads(&self) -> Vec<&Read> {
        self.0.reads.iter().collect()
    }

    pub(crate) fn each_read<'a>(&'a self, visit: &mut dyn FnMut(&'a Read)) {
        self.0.reads.iter().for_each(visit);
    }

    /// Returns the forms to resolve, in this order, before [`Self::evaluate`]: roots of paths (whole outputs, all slots
    /// of a kind), alternatives (`a ?? b`) and optional paths (`a.b?`).
    pub fn bindings(&self) -> &[Form] {
        &self.0.bindings
    }

    /// Returns the syntax tree, in which bindings stand for reads.
    pub(crate) fn tree(&self) -> &Tree {
        &self.0.tree
    }

    /// Evaluates the expression with the resolved [`Self::bindings`].
    ///
    /// # Errors
    ///
    /// [`EvaluationError::Missing`] if a required part does not exist, [`EvaluationError::TooCostly`] if the budget is
    /// exhausted, and [`EvaluationError::Failed`] if an operation does not apply to its operands.
    pub fn evaluate(
        &self,
        values: &[Value],
        limits: &EvaluationLimits,
    ) -> Result<Value, EvaluationError> {
        Evaluation::new(values, EvaluationBudget::new(limits)).value_of(&self.0.tree)
    }
}

/// Builds the form of `alternatives`, which were parsed from `text`.
pub(super) fn form_of(alternatives: Vec<CoalesceOperand>, text: &str) -> Form {
    let mut flat = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        match alternative.tree {
            // `(a ?? b) ?? c` means the same as `a ?? b ?? c`.
            Tree::FirstOf(inner) => match form_of(inner, text) {
                Form::First(inner) => flat.extend(inner),
                Form::All(_) => {}
            },
            Tree::Read(read) => flat.push(Alternative::Read(read)),
            Tree::Literal(value) => flat.push(Alternative::Literal(value)),
            tree => flat.push(Alternative::Expression(expression_of(
                tree,
                alternative.span,
                text,
            ))),
        }
    }
    Form::First(flat)
}

fn expression_of(tree: Tree, span: Range<usize>, text: &str) -> Expression {
    let written = text.get(span).unwrap_or_default().trim();
    Binder::new(text).bind(written.into(), tree)
}

/// A collector of the bindings and reads of an expression.
struct Binder<'t> {
    text: &'t str,
    bindings: Vec<Form>,
    reads: Vec<Read>,
}

impl<'t> Binder<'t> {
    /// Creates a binder for an expression in `text`.
    fn new(text: &'t str) -> Self {
        Self {
            text,
            bindings: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// Builds the expression of `tree`, whose source text is `written`.
    fn bind(mut self, written: Arc<str>, mut tree: Tree) -> Expression {
        self.walk(&mut tree, false);
        Expression::new(written, tree, self.bindings, self.reads)
    }

    /// Replaces reads by bindings. `guarded` parts may be missing, so the reference pass must not report their paths.
    fn walk(&mut self, tree: &mut Tree, guarded: bool) {
        match tree {
            Tree::Literal(_) | Tree::Bound(_) | Tree::LoopVariable(_) => {}
            Tree::Read(read) => {
                let read = read.clone();
                *tree = self.read(read, guarded);
            }
            Tree::FirstOf(alternatives) => {
                // Alternatives without loop variables are resolved before the evaluation, so a later one is waited for
                // only if needed.
                if alternatives.iter().all(|each| is_closed(&each.tree, 0)) {
                    let form = form_of(std::mem::take(alternatives), self.text);
                    let reads = form_reads(&form);
                    self.reads
                        .extend(reads.into_iter().map(|read| with_leniency(read, guarded)));
                    *tree = Tree::Bound(self.binding(form));
                    return;
                }
                let last = alternatives.len().saturating_sub(1);
                for (position, alternative) in alternatives.iter_mut().enumerate() {
                    self.walk(&mut alternative.tree, guarded || position < last);
                }
            }
            Tree::Has(path) => self.walk(path, true),
            other => each_part(other, &mut |part| self.walk(part, guarded)),
        }
    }

    fn read(&mut self, read: Read, guarded: bool) -> Tree {
        add(&mut self.reads, with_leniency(read.clone(), guarded));
        // An optional path is resolved as a whole: its step may be missing, too.
        if read.missing == Missing::Null {
            let form = Form::First(vec![Alternative::Read(read)]);
            return Tree::Bound(self.binding(form));
        }
        // The path is followed during evaluation, so that it is counted.
        let root = Form::First(vec![Alternative::Read(Read::whole(read.source))]);
        let root = Tree::Bound(self.binding(root));
        if read.path.is_empty() {
            return root;
        }
        Tree::Access(
            Box::new(root),
            vec![Accessor::Part(read.path, read.missing)],
        )
    }

    fn binding(&mut self, form: Form) -> usize {
        // The same root is resolved only once.
        if let Some(index) = self.bindings.iter().position(|bound| *bound == form) {
            return index;
        }
        add(&mut self.bindings, form);
        self.bindings.len() - 1
    }
}

fn with_leniency(mut read: Read, guarded: bool) -> Read {
    if guarded {
        read.missing = Missing::Null;
    }
    read
}

fn form_reads(form: &Form) -> Vec<Read> {
    match form {
        Form::All(reads) => reads.clone(),
        Form::First(alternatives) => alternatives
            .iter()
            .flat_map(Alternative::reads)
            .cloned()
            .collect(),
    }
}

/// Returns true if `tree` uses no variable of a loop outside it. `loops` counts the loops of its own.
fn is_closed(tree: &Tree, loops: usize) -> bool {
    let all = |trees: &[Tree]| trees.iter().all(|tree| is_closed(tree, loops));
    match tree {
        Tree::Literal(_) | Tree::Read(_) | Tree::Bound(_) => true,
        // Variables are counted from the innermost loop outwards.
        Tree::LoopVariable(position) => *position < loops,
        Tree::List(parts) | Tree::And(parts) | Tree::Or(parts) | Tree::Call(_, parts) => all(parts),
        Tree::Object(fields) => fields
            .iter()
            .all(|(key, value)| is_closed(key, loops) && is_closed(value, loops)),
        Tree::Not(part) | Tree::Negate(part) | Tree::Has(part) => is_closed(part, loops),
        Tree::Chain(first, rest) => {
            is_closed(first, loops) && rest.iter().all(|(_, tree)| is_closed(tree, loops))
        }
        Tree::Choice(cases, otherwise) => {
            is_closed(otherwise, loops)
                && cases.iter().all(|(condition, value)| {
                    is_closed(condition, loops) && is_closed(value, loops)
                })
        }
        Tree::FirstOf(alternatives) => alternatives
            .iter()
            .all(|CoalesceOperand { tree, .. }| is_closed(tree, loops)),
        Tree::Access(base, accessors) => {
            is_closed(base, loops)
                && accessors.iter().all(|next| match next {
                    Accessor::Part(..) | Accessor::Matches(_) => true,
                    Accessor::Item(index) => is_closed(index, loops),
                    Accessor::Call(_, arguments) => all(arguments),
                    Accessor::Loop(_, trees) => trees.iter().all(|tree| is_closed(tree, loops + 1)),
                })
        }
    }
}

/// Calls `visit` with each child of `tree`.
fn each_part(tree: &mut Tree, visit: &mut dyn FnMut(&mut Tree)) {
    match tree {
        Tree::Literal(_) | Tree::Read(_) | Tree::Bound(_) | Tree::LoopVariable(_) => {}
        Tree::List(parts) | Tree::And(parts) | Tree::Or(parts) | Tree::Call(_, parts) => {
            parts.iter_mut().for_each(visit);
        }
        Tree::Object(fields) => {
            for (key, value) in fields {
                visit(key);
                visit(value);
            }
        }
        Tree::Not(part) | Tree::Negate(part) | Tree::Has(part) => visit(part),
        Tree::Chain(first, rest) => {
            visit(first);
            for (_, part) in rest {
                visit(part);
            }
        }
        Tree::Choice(cases, otherwise) => {
            for (condition, value) in cases {
                visit(condition);
                visit(value);
            }
            visit(otherwise);
        }
        Tree::FirstOf(alternatives) => {
            for alternative in alternatives {
                visit(&mut alternative.tree);
            }
        }
        Tree::Access(base, accessors) => {
            visit(base);
            for next in accessors {
                match next {
                    Accessor::Part(..) | Accessor::Matches(_) => {}
                    Accessor::Item(index) => visit(index),
                    Accessor::Call(_, parts) | Accessor::Loop(_, parts) => {
                        for part in parts {
                            visit(part);
                        }
                    }
                }
            }
        }
    }
}
