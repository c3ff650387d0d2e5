//! Parsed expressions with their bindings, and the text that stands for a form or a path.

use std::ops::Range;
use std::sync::Arc;

use super::evaluate::{Evaluation, EvaluationBudget};
use super::parser::name_length;
use super::tree::{Accessor, CoalesceOperand, Tree, add};
use super::{EvaluationError, EvaluationLimits, MAX_EXPRESSION_CHARS, parse_form};
use crate::Value;
use crate::plan::{Alternative, Form, Missing, Read, Segment, SlotKind, Source};

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
    may_fail: bool,
    tests_existence: bool,
}

impl PartialEq for Expression {
    /// Compares the source texts, which determine the meaning.
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Expression {
    /// Returns the source text.
    pub fn text(&self) -> &Arc<str> {
        &self.0.text
    }

    /// Returns every read of the expression, with the constant path after it. Reads inside of `has(…)` and alternatives of `??` are
    /// marked [`Missing::Null`], since they need not exist.
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
pub(super) fn form_of(alternatives: impl IntoIterator<Item = CoalesceOperand>, text: &str) -> Form {
    let alternatives = alternatives.into_iter();
    let mut flat = Vec::with_capacity(alternatives.size_hint().0);
    for alternative in alternatives {
        match alternative.tree {
            // `(a ?? b) ?? c` means the same as `a ?? b ?? c`.
            Tree::FirstOf(inner) => match form_of(inner, text) {
                Form::First(inner) => flat.extend(inner),
                Form::All(_) => {}
            },
            Tree::Read(read) => flat.push(Alternative::Read(*read)),
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
    /// The paths whose existence the expression tests with `has(…)`.
    tested: Vec<Read>,
    may_fail: bool,
    tests_existence: bool,
}

impl<'t> Binder<'t> {
    /// Creates a binder for an expression in `text`.
    fn new(text: &'t str) -> Self {
        Self {
            text,
            bindings: Vec::new(),
            reads: Vec::new(),
            tested: Vec::new(),
            may_fail: false,
            tests_existence: false,
        }
    }

    /// Builds the expression of `tree`, whose source text is `written`.
    fn bind(mut self, written: Arc<str>, mut tree: Tree) -> Expression {
        // Most expressions test nothing, which their text shows.
        if written.contains("has") {
            tested_reads(&mut tree, &mut self.tested);
        }
        self.walk(&mut tree, false);
        Expression(Arc::new(ExpressionData {
            text: written,
            tree,
            bindings: self.bindings,
            reads: self.reads,
            may_fail: self.may_fail,
            tests_existence: self.tests_existence,
        }))
    }

    /// Replaces reads by bindings. `guarded` parts may be missing, so the reference pass must not report their paths.
    fn walk(&mut self, tree: &mut Tree, guarded: bool) {
        match tree {
            Tree::Literal(_) | Tree::Bound(_) | Tree::LoopVariable(_) => {}
            Tree::Read(read) => {
                let read = std::mem::replace(&mut **read, Read::whole(Source::Item));
                *tree = self.read(read, guarded);
            }
            Tree::FirstOf(alternatives) => {
                // Alternatives without loop variables are resolved before the evaluation, so a later one is waited for
                // only if needed.
                if alternatives.iter().all(|each| is_closed(&each.tree, 0)) {
                    let form = form_of(std::mem::take(alternatives), self.text);
                    // Each alternative may be missing, the last one if an earlier one exists.
                    self.may_fail |= may_fail(&form);
                    self.tests_existence |= tests_existence(&form);
                    self.reads
                        .extend(form_reads(&form).into_iter().map(lenient));
                    *tree = Tree::Bound(self.binding(form));
                    return;
                }
                let last = alternatives.len().saturating_sub(1);
                for (position, alternative) in alternatives.iter_mut().enumerate() {
                    self.walk(&mut alternative.tree, guarded || position < last);
                }
            }
            Tree::Has(path) => {
                self.tests_existence = true;
                self.walk(path, true);
            }
            Tree::Call(_, arguments) => {
                self.may_fail = true;
                for argument in arguments {
                    self.walk(argument, guarded);
                }
            }
            other => {
                self.may_fail |= match other {
                    Tree::Access(..) => true,
                    Tree::Chain(_, rest) => rest.iter().any(|(operator, _)| operator.divides()),
                    _ => false,
                };
                each_part(other, &mut |part| self.walk(part, guarded));
            }
        }
    }

    fn read(&mut self, read: Read, guarded: bool) -> Tree {
        let is_part_of =
            |whole: &Read| whole.source == read.source && read.path.starts_with(&whole.path);
        let need_not_exist = guarded || self.tested.iter().any(is_part_of);
        let checked = read.clone();
        add(
            &mut self.reads,
            if need_not_exist {
                lenient(checked)
            } else {
                checked
            },
        );
        // An optional path is resolved as a whole: its step may be missing, too.
        if read.missing == Missing::Null {
            return Tree::Bound(self.binding_of(read));
        }
        // The path is followed during evaluation, so that it is counted.
        let root = Tree::Bound(self.binding_of(Read::whole(read.source)));
        if read.path.is_empty() {
            return root;
        }
        Tree::Access(
            Box::new(root),
            vec![Accessor::Part(read.path, read.missing)],
        )
    }

    /// Returns the binding of a reference with `read` alone.
    fn binding_of(&mut self, read: Read) -> usize {
        // The same root is resolved only once.
        let known = self.bindings.iter().position(|bound| {
            matches!(bound, Form::First(only) if matches!(only.as_slice(), [Alternative::Read(bound)] if *bound == read))
        });
        known.unwrap_or_else(|| self.add_binding(Form::First(vec![Alternative::Read(read)])))
    }

    fn binding(&mut self, form: Form) -> usize {
        let known = self.bindings.iter().position(|bound| *bound == form);
        known.unwrap_or_else(|| self.add_binding(form))
    }

    fn add_binding(&mut self, form: Form) -> usize {
        add(&mut self.bindings, form);
        self.bindings.len() - 1
    }
}

/// Marks a read as optional.
fn lenient(read: Read) -> Read {
    read.or_missing(Missing::Null)
}

/// Collects the reads that `tree` tests with `has(…)`. If the test fails, the expression usually does not read the part, so its
/// other reads of it need not exist either.
fn tested_reads(tree: &mut Tree, tested: &mut Vec<Read>) {
    if let Tree::Has(path) = tree
        && let Tree::Read(read) = &**path
    {
        tested.push((**read).clone());
    }
    each_part(tree, &mut |part| tested_reads(part, tested));
}

/// Returns true if an expression of `form` may fail by a value: it divides, calls a function, or selects a part.
pub(crate) fn may_fail(form: &Form) -> bool {
    has_expression(form, |expression| expression.0.may_fail)
}

/// Returns true if an expression of `form` tests with `has(…)` whether a part exists.
pub(crate) fn tests_existence(form: &Form) -> bool {
    has_expression(form, |expression| expression.0.tests_existence)
}

fn has_expression(form: &Form, is_such: fn(&Expression) -> bool) -> bool {
    match form {
        Form::All(_) => false,
        Form::First(alternatives) => alternatives.iter().any(|one| match one {
            Alternative::Read(_) | Alternative::Literal(_) => false,
            Alternative::Expression(expression) => is_such(expression),
        }),
    }
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

/// Returns true if `tree` uses no variable of a loop outside it. `loops` counts the loops inside it.
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
                    Accessor::Part(..) | Accessor::Search(..) => true,
                    Accessor::Item(index) => is_closed(index, loops),
                    Accessor::Call(_, arguments) => all(arguments),
                    Accessor::Loop(_, trees) => trees.iter().all(|tree| is_closed(tree, loops + 1)),
                })
        }
    }
}

/// Calls `visit` with each child of `tree`.
pub(super) fn each_part(tree: &mut Tree, visit: &mut dyn FnMut(&mut Tree)) {
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
                    Accessor::Part(..) | Accessor::Search(..) => {}
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

/// Names at the beginning of a path that are not steps.
pub(super) const ROOTS: &[&str] = &[
    "inputs", "vars", "slots", "steps", "results", "item", "index", "last", "env", "secrets",
    "true", "false", "null", "in",
];

/// Prints `form` as the text between `${` and `}`, so that [`parse_form`] returns the same form. Returns `None` for a
/// form without alternatives and for a text that exceeds the limit.
pub fn print_form(form: &Form) -> Option<String> {
    print_form_in_loop(form, None)
}

/// Prints `form` in a loop that gives its item the name `item_name`.
pub fn print_form_in_loop(form: &Form, item_name: Option<&str>) -> Option<String> {
    let item = item_name.unwrap_or("item");
    let print_read = |read: &Read| print_read_in_loop(read, item);
    let print_alternative = |alternative: &Alternative| print_alternative(alternative, item);
    let text = match form {
        Form::First(alternatives) => {
            let parts: Vec<String> = alternatives.iter().map(print_alternative).collect();
            parts.join(" ?? ")
        }
        Form::All(reads) if reads.is_empty() => return None,
        Form::All(reads) => {
            let parts: Vec<String> = reads.iter().map(print_read).collect();
            format!("all({})", parts.join(", "))
        }
    };
    if text.is_empty() || text.chars().nth(MAX_EXPRESSION_CHARS).is_some() {
        return None;
    }
    // A literal list or object may be nested deeper than the parser allows.
    let has_literal = matches!(form, Form::First(all) if all.iter().any(|one| {
        matches!(one, Alternative::Literal(Value::List(_) | Value::Object(_)))
    }));
    if has_literal && parse_form(&text).is_err() {
        return None;
    }
    Some(text)
}

fn print_alternative(alternative: &Alternative, item: &str) -> String {
    match alternative {
        Alternative::Read(read) => print_read_in_loop(read, item),
        Alternative::Literal(value) => value.to_json(),
        Alternative::Expression(expression) => expression.text().to_string(),
    }
}

pub(super) fn print_read(read: &Read) -> String {
    print_read_in_loop(read, "item")
}

fn print_read_in_loop(read: &Read, item: &str) -> String {
    let mut text = match &read.source {
        // An id that is also a reserved name would be read as that name.
        Source::Step(id)
            if is_plain(id.as_str()) && !ROOTS.contains(&id.as_str()) && id.as_str() != item =>
        {
            id.as_str().to_owned()
        }
        Source::Step(id) => format!("steps[{}]", json(id.as_str())),
        Source::Result(id) => format!("results[{}]", json(id.as_str())),
        Source::Slot(SlotKind::Inputs) => "inputs".into(),
        Source::Slot(SlotKind::Vars) => "vars".into(),
        Source::Slot(SlotKind::State) => "slots.state".into(),
        Source::Slot(SlotKind::Data) => "slots.data".into(),
        Source::Item => item.into(),
        Source::Index => "index".into(),
        Source::Last => "last".into(),
        Source::ExternalValue(what, name) => {
            format!("{what}{}", print_path(&[Segment::Key(name.clone())]))
        }
    };
    text.push_str(&print_path_with(&read.path, read.missing));
    text
}

/// Prints `path` as written after the id of a step: `.field[0][*]["odd key"]`.
pub fn print_path(path: &[Segment]) -> String {
    print_path_with(path, Missing::Fail)
}

fn print_path_with(path: &[Segment], missing: Missing) -> String {
    let mut text = String::new();
    let mut is_marked = missing != Missing::NullInItems;
    for segment in path {
        match segment {
            Segment::Key(key) if !key.is_empty() && name_length(key) == key.len() => {
                text.extend([".", key]);
            }
            Segment::Key(key) => text.extend(["[", &json(key), "]"]),
            Segment::Index(index) => text.extend(["[", &index.to_string(), "]"]),
            // One mark on the first `[*]` applies to the whole path.
            Segment::Each if is_marked => text.push_str("[*]"),
            Segment::Each => {
                text.push_str("[*?]");
                is_marked = true;
            }
        }
    }
    if missing == Missing::Null {
        text.push('?');
    }
    text
}

/// Returns true if a step's id can begin a path without quotes.
fn is_plain(id: &str) -> bool {
    name_length(id) == id.len() && !id.starts_with(|letter: char| letter.is_ascii_digit())
}

fn json(text: &str) -> String {
    Value::text(text).to_json()
}
