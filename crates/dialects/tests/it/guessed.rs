//! Plans as people and models guess them, over the tools of five common servers: each is read, or led to the right form by
//! diagnostics that say what to write.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use planwright_core::{Catalog, CheckContext, Diagnostic, Diagnostics, Schema, Tool, Value, check};
use planwright_dialects::{ReadOptions, parse};

use crate::golden::{assert_golden, cases};

#[test]
fn guessed_plans_are_read_or_led() {
    let catalog = catalog();
    for file in cases("guessed") {
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            continue;
        }
        let text = fs::read(&file).unwrap();
        assert_golden(&file, &outcome(&text, &catalog));
    }
}

/// Each plan that advice spells, and each text that the fixes make, is read without errors.
#[test]
fn proposals_are_plans() {
    let mut count = 0;
    for file in cases("guessed") {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let found = parse(text.as_bytes(), &ReadOptions::new("plan")).diagnostics;
        let file = file.display();
        for json in found.iter().filter_map(proposal) {
            let read = parse(json.as_bytes(), &ReadOptions::new("proposal"));
            assert!(read.plan.is_some(), "{file}: {json}");
            // Errors in the proposal are also among the diagnostics of the text.
            for error in read.diagnostics.iter().filter(|found| found.is_error()) {
                let is_named = found.iter().any(|found| found.message == error.message);
                assert!(is_named, "{file}: {error:?}");
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count} of the guesses have proposals");
}

/// The plan that the last words of a hint spell.
fn proposal(found: &Diagnostic) -> Option<&str> {
    let (_, json) = found.help.as_deref()?.strip_suffix('`')?.rsplit_once('`')?;
    let is_plan = Value::from_json(json)
        .ok()?
        .get("steps")?
        .as_list()
        .is_some();
    is_plan.then_some(json)
}

/// The dialect of the plan, and all diagnostics of reading and checking it.
fn outcome(text: &[u8], catalog: &Catalog) -> String {
    let read = parse(text, &ReadOptions::new("plan"));
    let mut diagnostics = read.diagnostics;
    if let Some(plan) = read.plan {
        let (_, found) = check(plan, &CheckContext::new(catalog));
        diagnostics.extend(found);
        diagnostics.sort();
    }
    let verdict = if diagnostics.has_errors() {
        "rejected"
    } else {
        "sound"
    };
    format!(
        "{}: {verdict}\n{}",
        read.dialect.unwrap_or("no dialect"),
        shown(&diagnostics)
    )
}

fn shown(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(line).collect()
}

fn line(diagnostic: &Diagnostic) -> String {
    let mut line = format!(
        "{:?} {} {}: {}\n",
        diagnostic.severity, diagnostic.code, diagnostic.pointer, diagnostic.message
    );
    if let Some(help) = &diagnostic.help {
        writeln!(line, "  help: {help}").unwrap();
    }
    line
}

/// The tools of five servers.
fn catalog() -> Catalog {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/guessed/tools.json");
    let servers = Value::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    let mut catalog = Catalog::new();
    for (server, tools) in servers.as_object().unwrap() {
        for (name, schemas) in tools.as_object().unwrap() {
            let schema = |key: &str| {
                let found = schemas.get(key).cloned();
                found.map_or(Schema::any(), Schema::from_value)
            };
            let mut tool = Tool::new(server.clone(), name.clone());
            tool.input = schema("input");
            tool.output = schema("output");
            catalog.add(tool);
        }
    }
    catalog.add_extraction();
    catalog
}

/// Expressions of other systems over the step `q`, each with the one that has its effect here.
const EXPRESSIONS: [(&str, &str); 59] = [
    // n8n, Handlebars, Go
    ("={{ $json.rows.length }}", "q.rows.size()"),
    ("={{ $('q').item.json.total }}", "q.total"),
    ("={{ $node[\"q\"].json.total + 1 }}", "q.total + 1"),
    ("{{#if q.ok}}yes{{else}}no{{/if}}", "(q.ok ? 'yes' : 'no')"),
    (
        "{{#each q.rows}}{{name}};{{/each}}",
        "q.rows.map(x, string(x.name) + ';').join('')",
    ),
    ("{{json q.rows}}", "string(q.rows)"),
    ("{{ len q.rows }}", "size(q.rows)"),
    ("{{ eq q.total 3 }}", "q.total == 3"),
    // Jinja and Liquid
    ("{{ q.rows | length }}", "size(q.rows)"),
    ("{{ q.total | default(0) }}", "q.total ?? 0"),
    (
        "{{ q.total | round(2) }}",
        "math.round(q.total * 100) / 100.0",
    ),
    (
        "{{ q.rows | map(attribute='name') | join(', ') }}",
        "q.rows.map(x, x.name).join(', ')",
    ),
    (
        "{{ q.rows | selectattr('ok') | list | length }}",
        "size(q.rows.filter(x, x.ok))",
    ),
    (
        "{{ q.rows | selectattr('age', '>', 18) | map(attribute='name') | list }}",
        "q.rows.filter(x, x.age > 18).map(x, x.name)",
    ),
    (
        "{{ q.rows | rejectattr('ok') | list }}",
        "q.rows.filter(x, !x.ok)",
    ),
    (
        "{{ q.rows | sum(attribute='age') }}",
        "q.rows.map(x, x.age).sum()",
    ),
    (
        "{{ q.rows | sort(attribute='age') | first }}",
        "q.rows.sortBy(x, x.age).first()",
    ),
    (
        "{{ q.name | replace('a', 'b') | upper }}",
        "q.name.replace('a', 'b').upperAscii()",
    ),
    (
        "{{ q.rows | where: \"ok\", true | map: \"name\" }}",
        "q.rows.filter(x, x.ok == true).map(x, x.name)",
    ),
    ("{{ q.total | plus: 1 }}", "q.total + 1"),
    (
        "{% for r in q.rows %}{{ r.name }}, {% endfor %}",
        "q.rows.map(r, string(r.name) + ', ').join('')",
    ),
    (
        "{% if q.total > 3 %}many{% elif q.total > 1 %}few{% else %}none{% endif %}",
        "(q.total > 3 ? 'many' : (q.total > 1 ? 'few' : 'none'))",
    ),
    // GitHub, Logic Apps
    ("${{ steps.q.outputs.total }}", "q.total"),
    (
        "${{ steps.q.outputs.total > 3 && 'a' || 'b' }}",
        "q.total > 3 ? 'a' : 'b'",
    ),
    ("${{ fromJSON(steps.q.outputs.text) }}", "json(q.text)"),
    (
        "${{ contains(steps.q.outputs.text, 'x') }}",
        "q.text.contains('x')",
    ),
    (
        "${{ format('{0} rows', steps.q.outputs.total) }}",
        "string(q.total) + ' rows'",
    ),
    ("@{body('q')?['total']}", "q.total"),
    ("@outputs(\"q\").total", "q.total"),
    // JavaScript
    (
        "${q.rows.filter(r => r.ok).map(r => r.name).join(', ')}",
        "q.rows.filter(r, r.ok).map(r, r.name).join(', ')",
    ),
    (
        "${q.rows.find(r => r.id === 1)?.name}",
        "q.rows.filter(r, r.id == 1).first().name",
    ),
    ("${q.rows.some(r => r.ok)}", "q.rows.exists(r, r.ok)"),
    (
        "${q.rows.reduce((a, r) => a + r.age, 0)}",
        "q.rows.map(r, r.age).sum()",
    ),
    ("${`${q.total} rows`}", "string(q.total) + ' rows'"),
    ("${q?.rows?.[0]?.name}", "q.rows[0].name?"),
    ("${JSON.stringify(q)}", "string(q)"),
    ("${Math.round(q.total)}", "math.round(q.total)"),
    ("${[...q.rows, 1]}", "q.rows + [1]"),
    ("${new Date().toISOString()}", "now()"),
    // Python
    (
        "${[r.name for r in q.rows if r.ok]}",
        "q.rows.filter(r, r.ok).map(r, r.name)",
    ),
    ("${sum(r.age for r in q.rows)}", "sum(q.rows.map(r, r.age))"),
    (
        "${max(q.rows, key=lambda r: r.age)}",
        "q.rows.sortBy(r, r.age).last()",
    ),
    ("${q.total if q.ok else 0}", "q.ok ? q.total : 0"),
    ("${f\"{q.total} rows\"}", "string(q.total) + ' rows'"),
    (
        "${len(q.rows) > 0 and not q.ok}",
        "size(q.rows) > 0 && !q.ok",
    ),
    ("${q.rows[0:3]}", "q.rows.slice(0, 3)"),
    ("${q.get('total', 0)}", "q.total ?? 0"),
    ("${q.name.upper().strip()}", "q.name.upperAscii().trim()"),
    (
        "${list(map(lambda r: r.name, q.rows))}",
        "q.rows.map(r, r.name)",
    ),
    // JSONPath and others
    ("$.q.rows[*].name", "q.rows[*].name"),
    (
        "$.q.rows[?(@.age > 18)].name",
        "q.rows.filter(x, x.age > 18).map(x, x.name)",
    ),
    ("$q.total", "q.total"),
    ("<q.total>", "q.total"),
    ("#{q.total}", "q.total"),
    ("$(q.total)", "q.total"),
    ("<% q.total %>", "q.total"),
    ("{q.total}", "q.total"),
    ("{{q.rows.[0].name}}", "q.rows[0].name"),
    ("{{ steps.q.output.total }}", "q.total"),
];

#[test]
fn expressions_of_other_systems_lead_to_whole_ones() {
    let plan = |value: &str| {
        let value = Value::from(value).to_json();
        format!(
            r#"{{"steps": [{{"id": "q", "tool": "t"}}, {{"id": "s", "value": {value}, "after": ["q"]}}]}}"#
        )
    };
    let read = |text: &str| parse(text.as_bytes(), &ReadOptions::new("plan")).diagnostics;
    for (written, meant) in EXPRESSIONS {
        let found = read(&plan(written));
        let advice = format!("write `${{{meant}}}`");
        let is_advised = |found: &Diagnostic| {
            let help = found.help.as_deref().unwrap_or_default();
            // A form with a difference is no fix, and says so.
            let similar = format!("`${{{meant}}}` is similar, but ");
            help == advice || help.starts_with(&format!("{advice};")) || help.starts_with(&similar)
        };
        assert!(found.iter().any(is_advised), "{written}: {found:#?}");
        let again = read(&plan(&format!("${{{meant}}}")));
        assert!(again.is_empty(), "{meant}: {again:#?}");
    }
}
