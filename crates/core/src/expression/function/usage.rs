//! The usages of all functions and loops, for people and models that write expressions.

use super::table;
use crate::expression::tree::Loop;

/// Returns a usage of each loop and each function of the language: `x.filter(i, …)`, `size(x)`, `x.trim()`, `x.split(…)`.
pub fn function_usages() -> Vec<String> {
    let loops = Loop::ALL
        .into_iter()
        .map(|found| format!("x.{}(i, …)", found.name()));
    loops.chain(table::usages()).collect()
}

#[cfg(test)]
mod tests {
    use super::function_usages;
    use crate::expression::parse_form;

    #[test]
    fn usages_name_functions_of_the_language() {
        let usages = function_usages();
        for expected in [
            "x.filter(i, …)",
            "size(x)",
            "x.trim()",
            "x.split(…)",
            "lists.range(x)",
        ] {
            assert!(
                usages.iter().any(|usage| usage == expected),
                "{expected} in {usages:?}"
            );
        }
        for usage in usages {
            // A wrong number of arguments is another error than an unknown name.
            let written = usage.replace("(x)", "([])").replace('…', "1");
            let written = match written.strip_prefix("x.") {
                Some(method) => format!("[].{method}"),
                None => written,
            };
            let error = parse_form(&written).err();
            let message = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(!message.contains("there is no"), "{usage}: {message}");
        }
    }
}
