//! Whole outputs of steps with `||` between them, where the first one that exists is meant.

use crate::check::passes::meant::default_advice;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::check::type_inference::TypeInference;
use crate::expression::operator::BinaryOperator;
use crate::expression::tree::{Accessor, Tree};
use crate::expression::typing::DEFAULT_HELP;
use crate::plan::{Action, Alternative, Form, NodeKind, Source};
use crate::schema::{Compatibility, Type};
use crate::{Code, Severity, Step};

/// The role of a part of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperandRole {
    /// The whole expression.
    Whole,
    /// An operand of `+`, or the argument of `string`.
    Text,
    /// Any other place.
    Other,
}

/// Reports `a || b` between whole outputs if it is part of a text, or if one of the steps has a condition.
pub(super) fn check(
    resolved: &ResolvedPlan<'_>,
    types: &TypeInference<'_>,
    usage: ReferenceUse<'_>,
    reporter: &mut Reporter<'_>,
) {
    let Form::First(alternatives) = &usage.reference.form else {
        return;
    };
    let pass = AlternativePass {
        resolved,
        types,
        usage,
    };
    for alternative in alternatives {
        if let Alternative::Expression(expression) = alternative {
            pass.visit(
                expression.tree(),
                expression.bindings(),
                OperandRole::Whole,
                reporter,
            );
        }
    }
}

struct AlternativePass<'a> {
    resolved: &'a ResolvedPlan<'a>,
    types: &'a TypeInference<'a>,
    usage: ReferenceUse<'a>,
}

impl AlternativePass<'_> {
    fn visit(
        &self,
        tree: &Tree,
        bindings: &[Form],
        role: OperandRole,
        reporter: &mut Reporter<'_>,
    ) {
        let each = |parts: &[Tree], role: OperandRole, reporter: &mut Reporter<'_>| {
            for part in parts {
                self.visit(part, bindings, role, reporter);
            }
        };
        match tree {
            Tree::Or(parts) => {
                let steps = parts.iter().map(|part| self.whole_output(part, bindings));
                match steps.collect::<Option<Vec<_>>>() {
                    Some(steps) => self.report(&steps, role, reporter),
                    None => each(parts, OperandRole::Other, reporter),
                }
            }
            Tree::Chain(first, rest) => {
                let is_sum = rest
                    .iter()
                    .any(|(operator, _)| *operator == BinaryOperator::Add);
                let role = if is_sum {
                    OperandRole::Text
                } else {
                    OperandRole::Other
                };
                self.visit(first, bindings, role, reporter);
                for (_, part) in rest {
                    self.visit(part, bindings, role, reporter);
                }
            }
            Tree::Call(function, parts) => {
                let is_text = function.name == "string";
                let role = if is_text {
                    OperandRole::Text
                } else {
                    OperandRole::Other
                };
                each(parts, role, reporter);
            }
            Tree::List(parts) | Tree::And(parts) => each(parts, OperandRole::Other, reporter),
            Tree::Choice(cases, otherwise) => {
                for (condition, value) in cases {
                    self.visit(condition, bindings, OperandRole::Other, reporter);
                    self.visit(value, bindings, role, reporter);
                }
                self.visit(otherwise, bindings, role, reporter);
            }
            Tree::Access(base, accessors) => {
                self.visit(base, bindings, OperandRole::Other, reporter);
                for accessor in accessors {
                    match accessor {
                        Accessor::Call(_, parts) => each(parts, OperandRole::Other, reporter),
                        // In a loop, the items are the values, and no steps.
                        Accessor::Part(..)
                        | Accessor::Item(_)
                        | Accessor::Search(..)
                        | Accessor::Loop(..) => {}
                    }
                }
            }
            Tree::Not(part) | Tree::Negate(part) => {
                self.visit(part, bindings, OperandRole::Other, reporter);
            }
            Tree::Literal(_)
            | Tree::Read(_)
            | Tree::Bound(_)
            | Tree::LoopVariable(_)
            | Tree::Object(_)
            | Tree::FirstOf(_)
            | Tree::Has(_) => {}
        }
    }

    /// The step whose whole output `tree` is, if that may be true or false, and need not.
    fn whole_output(&self, tree: &Tree, bindings: &[Form]) -> Option<&Step> {
        let Tree::Bound(binding) = tree else {
            return None;
        };
        let Form::First(alternatives) = bindings.get(*binding)? else {
            return None;
        };
        let [Alternative::Read(read)] = alternatives.as_slice() else {
            return None;
        };
        let Source::Step(id) = &read.source else {
            return None;
        };
        let index = *self.resolved.ids.get(id).filter(|_| read.path.is_empty())?;
        let step = self.resolved.step(index)?;
        // Conditions are often values of their own. What certainly is no condition is reported with the types.
        let is_open = Type::Boolean.accepts(&self.types.output_type(index)) != Compatibility::No;
        (is_open && matches!(step.action, Action::Tool(_))).then_some(step)
    }

    fn report(&self, steps: &[&Step], role: OperandRole, reporter: &mut Reporter<'_>) {
        let has_conditions = steps.iter().any(|step| step.when.is_some());
        let reader = self.usage.step.map(|(_, step)| step);
        let is_argument = reader.is_some_and(|step| matches!(step.action, Action::Tool(_)));
        let is_condition =
            reader
                .and_then(|step| step.when.as_ref())
                .is_some_and(|when| match &when.kind {
                    NodeKind::Reference(reference) => std::ptr::eq(reference, self.usage.reference),
                    _ => false,
                });
        // The argument that takes text says so itself.
        let is_doubtful = match role {
            OperandRole::Text => true,
            OperandRole::Whole => has_conditions && (is_condition || !is_argument),
            OperandRole::Other => has_conditions,
        };
        // Of steps with a condition, one is skipped in many runs, and its reader with it.
        let severity = if has_conditions && !is_condition {
            Severity::Error
        } else {
            Severity::Warning
        };
        if !is_doubtful || reporter.count_if_full(severity) {
            return;
        }
        let text = self.usage.reference.shown();
        let message =
            format!("`{text}` has `||` between the outputs of steps, which takes true or false");
        let at = self.usage.reference.place;
        let diagnostic = reporter.with_severity(severity, Code::WrongOperandType, at, message);
        let help = if is_condition {
            let results = steps
                .iter()
                .map(|step| format!("results.{}.success", step.id));
            let results: Vec<String> = results.collect();
            let results = results.join(" || ");
            format!("`{results}` is true if one of them ran")
        } else {
            default_advice(&text).unwrap_or_else(|| DEFAULT_HELP.to_owned())
        };
        reporter.push(diagnostic.help(help));
    }
}
