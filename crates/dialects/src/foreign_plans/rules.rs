//! The rules of a `Choice` in a state machine, as expressions.

use planwright_core::Value;

/// The maximum nesting of rules.
const MAX_DEPTH: usize = 8;

/// The comparisons of rules, without the kind of the value before them.
const COMPARISONS: [(&str, &str); 5] = [
    ("Equals", "=="),
    ("GreaterThan", ">"),
    ("GreaterThanEquals", ">="),
    ("LessThan", "<"),
    ("LessThanEquals", "<="),
];

/// The condition of a choice, such as `{"Variable": "$.a", "NumericGreaterThan": 0, "Next": "b"}`, with the path that `path` has for
/// each variable. `None` if it says more.
pub(super) fn condition(choice: &Value, path: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let fields = choice.as_object()?.iter();
    let is_rule = |key: &str| !matches!(key, "Next" | "Comment");
    let fields = fields.filter(|(key, _)| is_rule(key));
    expression(
        &fields
            .map(|(key, value)| (&**key, value))
            .collect::<Vec<_>>(),
        path,
        0,
    )
}

/// The expression of a rule with `fields`.
fn expression(
    fields: &[(&str, &Value)],
    path: &dyn Fn(&str) -> Option<String>,
    depth: usize,
) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let inner = |rule: &Value| {
        let fields = rule.as_object()?.iter();
        let fields: Vec<_> = fields.map(|(key, value)| (&**key, value)).collect();
        Some(format!("({})", expression(&fields, path, depth + 1)?))
    };
    let all = |rules: &Value, sign: &str| {
        let rules = rules.as_list().filter(|rules| !rules.is_empty())?;
        Some(
            rules
                .iter()
                .map(inner)
                .collect::<Option<Vec<_>>>()?
                .join(sign),
        )
    };
    match fields {
        [("And", rules)] => all(rules, " && "),
        [("Or", rules)] => all(rules, " || "),
        [("Not", rule)] => Some(format!("!{}", inner(rule)?)),
        [("Variable", variable), (key, value)] | [(key, value), ("Variable", variable)] => {
            let (sign, value) = comparison(key, value)?;
            Some(format!("{} {sign} {value}", path(variable.as_text()?)?))
        }
        _ => None,
    }
}

/// The operator of the comparison `key`, and its `value` in an expression.
fn comparison(key: &str, value: &Value) -> Option<(&'static str, String)> {
    let (comparison, written) = match value {
        Value::Number(_) => (key.strip_prefix("Numeric")?, value.to_json()),
        Value::Text(text) if !text.contains(['\'', '\\', '{', '}', '\n']) => {
            (key.strip_prefix("String")?, format!("'{text}'"))
        }
        Value::Bool(_) if key == "BooleanEquals" => ("Equals", value.to_json()),
        _ => return None,
    };
    let found = COMPARISONS.iter().find(|(name, _)| *name == comparison)?;
    Some((found.1, written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_expressions_if_all_of_them_is_known() {
        let check = |rule: &str, expected: Option<&str>| {
            let path = |path: &str| path.strip_prefix("$.").map(str::to_owned);
            let found = condition(&Value::from_json(rule).unwrap(), &path);
            assert_eq!(found.as_deref(), expected, "{rule}");
        };
        check(
            r#"{"Variable": "$.a", "NumericLessThanEquals": 1, "Next": "x"}"#,
            Some("a <= 1"),
        );
        check(
            r#"{"StringEquals": "t", "Variable": "$.a", "Comment": "c"}"#,
            Some("a == 't'"),
        );
        check(
            r#"{"Or": [{"Not": {"Variable": "$.a", "BooleanEquals": true}}, {"Variable": "$.b", "NumericEquals": 2}]}"#,
            Some("(!(a == true)) || (b == 2)"),
        );
        check(
            r#"{"Variable": "$.a", "NumericGreaterThan": 1, "NumericLessThan": 5}"#,
            None,
        );
        check(r#"{"Variable": "$.a", "IsPresent": true}"#, None);
        check(r#"{"Variable": "$.a", "NumericEquals": "1"}"#, None);
        check(r#"{"Variable": "$.a", "BooleanGreaterThan": true}"#, None);
        check(r#"{"Variable": "$.a", "StringEquals": "it's"}"#, None);
        check(r#"{"And": [], "Next": "x"}"#, None);
        check(
            r#"{"And": [{"Variable": "$.a", "NumericEquals": 1, "Next": "y"}]}"#,
            None,
        );
        check(r#"{"Condition": "{% $a = 1 %}", "Next": "x"}"#, None);
        let deep = "{\"Not\": ".repeat(12)
            + "{\"Variable\": \"$.a\", \"NumericEquals\": 1}"
            + &"}".repeat(12);
        check(&deep, None);
    }
}
