//! Conditions of programs and guesses, compared with an evaluator of Python: a plan that the fixes make sound runs the same
//! steps. Texts of the pieces of these readers never panic.

use std::collections::HashMap;

use planwright_core::expression::EvaluationLimits;
use planwright_core::path::read_path;
use planwright_core::plan::{Alternative, Form, NodeKind, Source};
use planwright_core::{Plan, Value};
use planwright_dialects::{ReadOptions, parse};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::fixes::fixed;

/// The number of conditions, and three times the number of texts: together they take a few seconds.
const CASES: usize = 600;

/// An expression of Python.
#[derive(Clone, Debug)]
enum Python {
    /// A literal or a field of the step `w`, as it is written.
    Leaf(&'static str),
    Not(Box<Python>),
    And(Box<Python>, Box<Python>),
    Or(Box<Python>, Box<Python>),
    /// A value, and what it is compared with, one after the other.
    Compare(Box<Python>, Vec<(&'static str, Python)>),
    Compute(Box<Python>, &'static str, Box<Python>),
}

/// A value of Python, without floats.
#[derive(Clone, Debug, PartialEq)]
enum Object {
    None,
    Bool(bool),
    Int(i64),
    Text(&'static str),
}

const LEAVES: [(&str, Object); 15] = [
    ("w.n", Object::Int(-3)),
    ("w[\"m\"]", Object::Int(5)),
    ("w.yes", Object::Bool(true)),
    ("w.no", Object::Bool(false)),
    ("w.text", Object::Text("x and y")),
    ("w['price']", Object::Text("US$")),
    ("w.nothing", Object::None),
    ("2", Object::Int(2)),
    ("-3", Object::Int(-3)),
    ("True", Object::Bool(true)),
    ("False", Object::Bool(false)),
    ("None", Object::None),
    ("\"x and y\"", Object::Text("x and y")),
    ("'US$'", Object::Text("US$")),
    ("\"not  yet // or\"", Object::Text("not  yet // or")),
];

/// The output of the step `w`.
fn output() -> Value {
    let json =
        r#"{"n":-3,"m":5,"yes":true,"no":false,"text":"x and y","price":"US$","nothing":null}"#;
    Value::from_json(json).unwrap()
}

fn expressions() -> impl Strategy<Value = Python> {
    let leaf = prop::sample::select(LEAVES.map(|(written, _)| written).to_vec());
    leaf.prop_map(Python::Leaf).prop_recursive(3, 10, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let signs = ["==", "!=", "<", ">=", "is", "is not"];
        let link = (prop::sample::select(signs.to_vec()), inner);
        let signs = ["+", "-", "*", "//", "%", "/"];
        prop_oneof![
            2 => boxed.clone().prop_map(Python::Not),
            2 => (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Python::And(left, right)),
            2 => (boxed.clone(), boxed.clone()).prop_map(|(left, right)| Python::Or(left, right)),
            4 => (boxed.clone(), prop::collection::vec(link, 1..3))
                .prop_map(|(first, rest)| Python::Compare(first, rest)),
            1 => (boxed.clone(), prop::sample::select(signs.to_vec()), boxed)
                .prop_map(|(left, sign, right)| Python::Compute(left, sign, right)),
        ]
    })
}

impl Python {
    /// The precedence of its operator.
    fn level(&self) -> u8 {
        match self {
            Self::Or(..) => 0,
            Self::And(..) => 1,
            Self::Not(_) => 2,
            Self::Compare(..) => 3,
            Self::Compute(_, "+" | "-", _) => 4,
            Self::Compute(..) => 5,
            Self::Leaf(_) => 6,
        }
    }

    /// The expression as it is written where `level` has to bind.
    fn written(&self, level: u8) -> String {
        let written = match self {
            Self::Leaf(written) => (*written).to_owned(),
            Self::Not(inner) => format!("not {}", inner.written(2)),
            Self::And(left, right) => format!("{} and {}", left.written(1), right.written(2)),
            Self::Or(left, right) => format!("{} or {}", left.written(0), right.written(1)),
            Self::Compare(first, rest) => {
                let rest = rest.iter();
                let rest = rest.map(|(sign, right)| format!(" {sign} {}", right.written(4)));
                format!("{}{}", first.written(4), rest.collect::<String>())
            }
            Self::Compute(left, sign, right) => {
                let level = self.level();
                format!(
                    "{} {sign} {}",
                    left.written(level),
                    right.written(level + 1)
                )
            }
        };
        if self.level() < level {
            format!("({written})")
        } else {
            written
        }
    }

    /// The value; `None` if Python fails, or has a value of another kind.
    fn value(&self) -> Option<Object> {
        match self {
            Self::Leaf(written) => {
                let leaf = LEAVES.iter().find(|(leaf, _)| leaf == written)?;
                Some(leaf.1.clone())
            }
            Self::Not(inner) => Some(Object::Bool(!inner.value()?.truth())),
            Self::And(left, right) => match left.value()? {
                value if value.truth() => right.value(),
                value => Some(value),
            },
            Self::Or(left, right) => match left.value()? {
                value if value.truth() => Some(value),
                _ => right.value(),
            },
            Self::Compare(first, rest) => {
                let mut left = first.value()?;
                for (sign, right) in rest {
                    let right = right.value()?;
                    if !compared(&left, sign, &right)? {
                        return Some(Object::Bool(false));
                    }
                    left = right;
                }
                Some(Object::Bool(true))
            }
            Self::Compute(left, sign, right) => {
                let (Object::Int(left), Object::Int(right)) = (left.value()?, right.value()?)
                else {
                    return None;
                };
                Some(Object::Int(match *sign {
                    "+" => left + right,
                    "-" => left - right,
                    "*" => left * right,
                    "//" if right != 0 => {
                        left.div_euclid(right) - i64::from(right < 0 && left.rem_euclid(right) != 0)
                    }
                    "%" if right > 0 => left.rem_euclid(right),
                    _ => return None,
                }))
            }
        }
    }
}

impl Object {
    fn truth(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Text(value) => !value.is_empty(),
        }
    }
}

/// The result of a comparison; `None` if Python fails. That true equals 1 there is left out.
fn compared(left: &Object, sign: &str, right: &Object) -> Option<bool> {
    let is_mixed = matches!(
        (left, right),
        (Object::Bool(_), Object::Int(_)) | (Object::Int(_), Object::Bool(_))
    );
    match sign {
        _ if is_mixed => None,
        "==" | "is" => Some(left == right),
        "!=" | "is not" => Some(left != right),
        _ => {
            let is_less = match (left, right) {
                (Object::Int(left), Object::Int(right)) => left < right,
                (Object::Text(left), Object::Text(right)) => left < right,
                (Object::Bool(left), Object::Bool(right)) => !left & right,
                _ => return None,
            };
            Some(is_less == (sign == "<"))
        }
    }
}

/// The value of a form in which every step has the output of `w`; `None` if the run would fail.
fn value_of(form: &Form) -> Option<Value> {
    let Form::First(alternatives) = form else {
        return None;
    };
    match alternatives.as_slice() {
        [Alternative::Literal(value)] => Some(value.clone()),
        [Alternative::Read(read)] => {
            assert!(matches!(&read.source, Source::Step(id) if id.as_str() == "w"));
            read_path(&output(), &read.path, read.missing).ok()
        }
        [Alternative::Expression(expression)] => {
            let values = expression.bindings().iter().map(value_of);
            let values = values.collect::<Option<Vec<_>>>()?;
            let limits = EvaluationLimits::default();
            expression.evaluate(&values, &limits).ok()
        }
        _ => None,
    }
}

/// Returns whether the step `id` runs; `None` if the run would fail at its condition.
fn runs(plan: &Plan, id: &str) -> Option<bool> {
    let step = plan.steps.iter().find(|step| step.id.as_str() == id);
    let Some(when) = &step.unwrap_or_else(|| panic!("no {id} in {plan:?}")).when else {
        return Some(true);
    };
    match &when.kind {
        NodeKind::Literal(value) => value.as_bool(),
        NodeKind::Reference(reference) => value_of(&reference.form)?.as_bool(),
        other => panic!("{other:?}"),
    }
}

/// The plan that the fixes make of `text`, if it has no errors.
fn sound(text: &str) -> Option<Plan> {
    let fixed = fixed(text);
    let read = parse(fixed.as_bytes(), &ReadOptions::new("plan"));
    read.plan.filter(|_| !read.diagnostics.has_errors())
}

/// `count` of the values of `strategy`, always the same.
fn samples<S: Strategy>(strategy: S, count: usize) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    let sample = |_| strategy.new_tree(&mut runner).unwrap().current();
    (0..count).map(sample).collect()
}

#[test]
fn sound_plans_have_the_conditions_of_the_text() {
    let mut counts = HashMap::new();
    for python in samples(expressions(), CASES) {
        let Some(meant) = python.value().map(|value| value.truth()) else {
            continue;
        };
        let condition = python.written(0);
        let json = Value::text(&*condition).to_json();
        let f = r#"{"id": "w", "tool": "f"}"#;
        let (g, h) = (r#""id": "g", "tool": "f""#, r#""id": "h", "tool": "f""#);
        let is_exact = !condition.contains(" / ") && !condition.contains(" % ");
        let texts = [
            (
                "if",
                format!("w = f()\nif {condition}:\n    g = f()\nelse:\n    h = f()"),
                meant,
                !meant,
            ),
            (
                "when",
                format!("{{\"steps\": [{f}, {{{g}, \"when\": {json}}}, {{{h}}}]}}"),
                meant,
                true,
            ),
            (
                "unless",
                format!("{{\"steps\": [{f}, {{{g}, \"unless\": {json}}}, {{{h}}}]}}"),
                !meant,
                true,
            ),
            (
                "then",
                format!(
                    "{{\"steps\": [{f}, {{\"if\": {json}, \"then\": [{{{g}}}], \"else\": [{{{h}}}]}}]}}"
                ),
                meant,
                !meant,
            ),
            (
                "group",
                format!(
                    "{{\"steps\": [{f}, {{\"if\": {json}, \"parallel\": [{{{g}}}, {{{h}, \"unless\": \"w.yes\"}}]}}]}}"
                ),
                meant,
                false,
            ),
        ];
        for (form, text, expected_g, expected_h) in texts {
            // The guesses are in the language of plans, in which these are operators of their own.
            let Some(plan) = sound(&text).filter(|_| form == "if" || is_exact) else {
                continue;
            };
            *counts.entry(form).or_insert(0) += 1;
            for (id, expected) in [("g", expected_g), ("h", expected_h)] {
                let found = runs(&plan, id);
                assert!(
                    found.is_none_or(|found| found == expected),
                    "{id}: {text}\n{plan:#?}"
                );
            }
        }
    }
    for form in ["if", "when", "unless", "then", "group"] {
        let count = counts.get(form).copied().unwrap_or(0);
        assert!(count > 15, "{form}: {count} were sound");
    }
}

/// Exactly one case of a switch runs, whatever the order.
#[test]
fn one_case_of_a_switch_runs() {
    let cases = ["\"default\": ", "\"US$\": ", "\"other\": "];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        for (value, expected) in [
            ("w.price", 1),
            ("w.text", 0),
            ("w.yes ? w.price : w.text", 1),
        ] {
            let written = order
                .map(|case| format!("{}{{\"id\": \"c{case}\", \"tool\": \"f\"}}", cases[case]));
            let text = format!(
                "{{\"steps\": [{{\"id\": \"w\", \"tool\": \"f\"}}, {{\"switch\": \"{value}\", \"cases\": {{{}}}}}]}}",
                written.join(", ")
            );
            let plan = sound(&text).unwrap_or_else(|| panic!("{text}"));
            for case in order {
                let found = runs(&plan, &format!("c{case}"));
                assert_eq!(found, Some(case == expected), "{case}: {text}");
            }
        }
    }
}

#[test]
fn texts_of_pieces_never_panic() {
    let pieces = [
        "w = f()",
        "\n",
        "\n    ",
        " ",
        "if ",
        "else:",
        "for r in ",
        "for (const r of ",
        ") {",
        "}",
        ":",
        "Action: f",
        "Action Input: {}",
        "Action Input: ",
        "Thought: x",
        "x = ",
        "g(",
        ")",
        "t=",
        "f\"",
        "\"",
        "'",
        "`",
        "{w.t}",
        "${w.t}",
        "$w",
        "\u{2026}",
        "é",
        "\u{1F600}",
        "\\",
        "[",
        "]",
        "{",
        ",",
        "w.t",
        "w[\"a\"]",
        " and ",
        " or ",
        "not ",
        " is ",
        " in ",
        "//",
        "==",
        "-1",
        " -> y",
        " and return it",
        "return ",
        "print(",
        "|",
        "await ",
        "const ",
        ";",
        "- ",
        "1. ",
    ];
    let lines = prop::collection::vec(prop::sample::select(pieces.to_vec()), 1..24);
    for pieces in samples(lines, CASES / 3) {
        let inside = pieces.concat();
        let _ = sound(&inside);
        let _ = sound(&format!("w = f()\n{inside}"));
        let json = Value::text(inside).to_json();
        for field in [
            "if", "unless", "when", "for", "filter", "switch", "args", "after", "output",
        ] {
            let _ = sound(&format!(
                "{{\"steps\": [{{\"id\": \"w\", \"tool\": \"f\"}}, {{\"id\": \"g\", \"tool\": \"f\", \"{field}\": {json}}}]}}"
            ));
        }
    }
}
