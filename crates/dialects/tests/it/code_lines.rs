//! Lines of programs in the dialects in lines: errors, since ignoring one would change the meaning of the plan.

use planwright_core::Code;
use planwright_dialects::{ReadOptions, parse};

/// A plan in `dialect` with `line` between its steps.
fn plan(dialect: &str, line: &str) -> String {
    match dialect {
        "lines" => format!("a = f(x=1)\n{line}\nb = g(x=2)\nreturn [\"b\"]\n"),
        "llm-compiler" => format!("1. f(x=1)\n{line}\n2. g(x=2)\n3. join()<END_OF_PLAN>\n"),
        _ => format!("Plan: first\n#E1 = f[x]\n{line}\nPlan: then\n#E2 = g[#E1]\n"),
    }
}

const DIALECTS: [&str; 3] = ["lines", "llm-compiler", "rewoo"];

#[test]
fn code_is_an_error_with_the_way_to_say_it() {
    for dialect in DIALECTS {
        for line in [
            "if x:",
            "if t.ok:",
            "else:",
            "for c in cities:",
            "while True:",
            "try:",
            "with f() as x:",
            "if (x) {",
            "} else {",
            "}",
            "unless x",
            "// w = f(x=1)",
            "/* w = f(x=1) */",
            "-- w = f(x=1)",
            "let x = 5",
            "x := f()",
            "x = 5",
            "print(x)",
            "f(x=1)",
            "all: x",
            "loop:",
            "For each city:",
            "done",
            "return x",
        ] {
            // `return x` is part of this dialect.
            if (dialect, line) == ("lines", "return x") {
                continue;
            }
            let plan = plan(dialect, line);
            let result = parse(
                plan.as_bytes(),
                &ReadOptions::new("test").in_dialect(dialect),
            );
            let found: Vec<_> = result.diagnostics.iter().collect();
            let [one] = &found[..] else {
                panic!("{dialect}: {line}: {found:?}");
            };
            assert_eq!(one.code, Code::MalformedLine, "{dialect}: {line}");
            assert!(one.is_error() && one.help.is_some(), "{dialect}: {line}");
        }
    }
}

#[test]
fn words_are_ignored() {
    for dialect in DIALECTS {
        for line in [
            "",
            "Here is the plan:",
            "If it rains, take an umbrella.",
            "// the file is written next",
            "Step two: compare both",
            "note: compare both",
            "- Then compare both:",
            "```",
            "---",
        ] {
            let plan = plan(dialect, line);
            let result = parse(
                plan.as_bytes(),
                &ReadOptions::new("test").in_dialect(dialect),
            );
            assert!(
                result.diagnostics.is_empty(),
                "{dialect}: {line}: {:?}",
                result.diagnostics
            );
            assert_eq!(result.plan.map(|plan| plan.steps.len()), Some(2));
        }
    }
}
