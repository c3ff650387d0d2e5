//! Names in programs: functions of languages, the first words of tools, and steps in references.

use std::collections::HashSet;

/// The names of arguments that are all arguments of a tool.
pub(super) const OF_ALL: [&str; 6] = [
    "arguments",
    "args",
    "input",
    "params",
    "parameters",
    "kwargs",
];

/// The modules and objects of languages.
pub(super) const RESERVED: [&str; 20] = [
    "json",
    "JSON",
    "os",
    "re",
    "math",
    "Math",
    "datetime",
    "console",
    "asyncio",
    "Promise",
    "Object",
    "Array",
    "sys",
    "random",
    "itertools",
    "functools",
    "logging",
    "process",
    "subprocess",
    "Date",
];

/// The functions of the module `time`, whose name servers have as well.
pub(super) const TIME_FUNCTIONS: [&str; 12] = [
    "time",
    "time_ns",
    "sleep",
    "strftime",
    "strptime",
    "localtime",
    "gmtime",
    "mktime",
    "ctime",
    "monotonic",
    "perf_counter",
    "process_time",
];

/// The functions of languages, which are no tools.
pub(super) const FUNCTIONS: [&str; 33] = [
    "open",
    "input",
    "range",
    "enumerate",
    "zip",
    "type",
    "isinstance",
    "getattr",
    "setattr",
    "hasattr",
    "len",
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "set",
    "tuple",
    "sum",
    "min",
    "max",
    "any",
    "all",
    "sorted",
    "reversed",
    "map",
    "filter",
    "eval",
    "exec",
    "round",
    "abs",
    "setTimeout",
];

/// Returns true if the name of `tool` says that it only reads.
pub(crate) fn only_reads(tool: &str) -> bool {
    [
        "read", "get", "list", "search", "find", "fetch", "describe", "query", "show", "lookup",
        "count", "head", "view",
    ]
    .contains(&verb(tool))
}

/// Returns true if the name of `tool` says that it writes.
pub(super) fn writes(tool: &str) -> bool {
    [
        "write", "create", "edit", "append", "move", "delete", "remove", "copy", "save", "put",
        "update", "insert", "add", "set", "send", "post", "upload", "rename", "drop", "store",
    ]
    .contains(&verb(tool))
}

/// The first word of the name of `tool`.
fn verb(tool: &str) -> &str {
    let name = tool.rsplit(['.', '/']).next().unwrap_or(tool);
    name.split(|sign: char| sign == '_' || sign == '-' || sign.is_uppercase())
        .next()
        .unwrap_or(name)
}

/// The names in the references of `written` that may be steps: no words of texts and no fields. A step that is not found is waited for
/// once more.
pub(super) fn referenced_names(written: &str) -> HashSet<&str> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut names = HashSet::new();
    for inside in written.split("${").skip(1) {
        let code = inside.split('}').next().unwrap_or_default();
        // Every other part is a text in quotes.
        for code in code.split(['\'', '"']).step_by(2) {
            let mut before = "";
            for name in code.split_inclusive(|sign| !is_part(sign)) {
                let word = name.trim_end_matches(|sign| !is_part(sign));
                let is_field = before.ends_with('.') && before != "results.";
                if !word.is_empty() && !is_field {
                    names.insert(word);
                }
                before = name;
            }
        }
    }
    names
}

/// The names in `written` after a bracket or a dollar.
pub(super) fn bracketed_names(written: &str) -> impl Iterator<Item = &str> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    written
        .split(['{', '<', '$', '('])
        .skip(1)
        .map(move |rest| {
            let end = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
            &rest[..end]
        })
}
