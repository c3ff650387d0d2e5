//! Values of YAML without quotes.

use planwright_core::value::number::exact_number;
use planwright_core::{Diagnostic, Number, Span};

use super::yaml_reader::problem;
use super::{ItemKind, is_number, quote};

/// Fields of plans and playbooks that are always booleans.
const FLAGS: [&str; 18] = [
    "alone",
    "allow_failure",
    "any_errors_fatal",
    "approval",
    "become",
    "check_mode",
    "continue-on-error",
    "continue_on_error",
    "enabled",
    "fail-fast",
    "gather_facts",
    "idempotent",
    "ignore_errors",
    "ignore_unreachable",
    "no_log",
    "optional",
    "requires_approval",
    "run_once",
];

/// The value of a plain scalar by the [core schema](https://yaml.org/spec/1.2.2/#103-core-schema). Numbers in other bases and with zeros
/// before them, `yes`, `no`, `on` and `off` are errors: readers of YAML 1.1 and 1.2 disagree about them. As the value of a field `key` that
/// has no other values than booleans, `yes` is true.
pub(super) fn plain_value(
    text: &str,
    span: Span,
    key: Option<&str>,
) -> Result<ItemKind, Box<Diagnostic>> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => ItemKind::Null,
        "true" | "True" | "TRUE" => ItemKind::Bool(true),
        "false" | "False" | "FALSE" => ItemKind::Bool(false),
        _ if ["yes", "no", "on", "off"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word)) =>
        {
            if key.is_some_and(|key| FLAGS.contains(&key)) {
                let is_true = ["yes", "on"]
                    .iter()
                    .any(|word| text.eq_ignore_ascii_case(word));
                return Ok(ItemKind::Bool(is_true));
            }
            let message = format!("{} may be a boolean or a text", quote(text));
            let help = "write a text in double quotes, and a boolean as `true` or `false`";
            return Err(problem(message, span, help));
        }
        _ => match number(text) {
            PlainNumber::None => ItemKind::Text(text.into()),
            PlainNumber::Exact(number) => ItemKind::Number(number),
            PlainNumber::Doubtful => {
                let message = format!("{} may be a number or a text", quote(text));
                let help = "write a text in double quotes, and a number as JSON does";
                return Err(problem(message, span, help));
            }
        },
    })
}

enum PlainNumber {
    None,
    Exact(Number),
    Doubtful,
}

fn number(text: &str) -> PlainNumber {
    if is_number(text) {
        return exact_number(text).map_or(PlainNumber::Doubtful, PlainNumber::Exact);
    }
    let unsigned = text.trim_start_matches(['-', '+']);
    let is_special = matches!(&*unsigned.to_lowercase(), ".inf" | ".nan");
    let is_of_base = ["0x", "0o"].iter().any(|prefix| {
        let digits = unsigned.strip_prefix(prefix);
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit())
        })
    });
    // `007`, `+5`, `5.` and `.5` are numbers of YAML that JSON writes otherwise.
    let is_of_digits = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.chars().any(|c| c.is_ascii_digit())
        && unsigned.parse::<f64>().is_ok();
    if is_special || is_of_base || is_of_digits {
        PlainNumber::Doubtful
    } else {
        PlainNumber::None
    }
}
