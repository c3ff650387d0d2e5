//! Expansion of `${NAME}` in commands, arguments and environment values.

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// The values of variables whose names indicate a secret.
    pub(super) secrets: Vec<String>,
}

/// The reason why a variable cannot be expanded, and a hint.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExpansionError {
    pub(super) message: String,
    pub(super) help: String,
}

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}` with the values of `lookup`. Expanded values are not
/// expanded again.
pub(super) fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Expanded, Vec<ExpansionError>> {
    let mut expanded = Expanded {
        text: String::with_capacity(text.len()),
        secrets: Vec::new(),
    };
    let mut errors = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        expanded.text.push_str(before);
        let Some(end) = from.find('}') else {
            errors.push(ExpansionError {
                message: format!("`{from}` opens a variable that is never closed"),
                help: "write it as `${NAME}`".to_owned(),
            });
            // Without an end, the variable cannot be separated from the text after it.
            rest = "";
            break;
        };
        match variable(&from[2..end], lookup) {
            Ok((value, is_secret)) => {
                expanded.text.push_str(&value);
                if is_secret {
                    expanded.secrets.push(value);
                }
            }
            // The other variables are still read, so that all errors are reported together.
            Err(error) => errors.push(error),
        }
        rest = &from[end + 1..];
    }
    expanded.text.push_str(rest);
    if errors.is_empty() {
        Ok(expanded)
    } else {
        Err(errors)
    }
}

/// Returns true if a variable of this name usually contains a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    const MARKERS: [&str; 8] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "AUTH",
        "PRIVATE",
    ];
    let name = name.to_ascii_uppercase();
    MARKERS.iter().any(|marker| name.contains(marker))
}

fn variable(
    inside: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<(String, bool), ExpansionError> {
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    // Other clients have kinds such as `${input:NAME}`, which cannot be resolved here.
    if let Some((kind, _)) = name.split_once(':') {
        return Err(ExpansionError {
            message: format!("`${{{inside}}}` asks for a `{kind}` variable, which is not known"),
            help: "put the value into an environment variable and write `${env:NAME}`".to_owned(),
        });
    }
    match lookup(name).or_else(|| default.map(str::to_owned)) {
        Some(value) => Ok((value, is_secret_name(name))),
        None => Err(ExpansionError {
            message: format!("the environment variable `{name}` is not set"),
            help: format!("set `{name}`, or give a default: `${{{name}:-…}}`"),
        }),
    }
}
