//! Tests of the markers, and of their escapes.

use planwright_core::plan::{Input, InputKind};
use planwright_core::{Place, Value};

use super::ReferenceNames;
use crate::{ReadOptions, parse};

fn shown(text: &str) -> Option<String> {
    let inputs = [("city", InputKind::Input), ("v", InputKind::Variable)];
    let inputs = inputs.map(|(name, kind)| Input {
        name: name.into(),
        kind,
        schema: Value::Null,
        default: None,
        place: Place::NOWHERE,
    });
    let names = ReferenceNames::native(vec!["o", "rows"], &inputs, false);
    let found = names.marker(text);
    found.map(|marker| {
        let verb = if marker.is_certain { "is" } else { "may be" };
        format!("{} {verb} {}", &text[marker.range], marker.meaning)
    })
}

#[test]
fn markers_of_other_systems() {
    for (text, expected) in [
        ("{{o.temp}}", "{{o.temp}} is o.temp"),
        ("It is {{ o.temp }} there", "{{ o.temp }} is o.temp"),
        (
            "{{steps.o.outputs.temp}}",
            "{{steps.o.outputs.temp}} is o.temp",
        ),
        (
            "${{ steps.o.outputs.temp }}",
            "${{ steps.o.outputs.temp }} is o.temp",
        ),
        (
            "{{ o.temp | round }}",
            "{{ o.temp | round }} is math.round(o.temp)",
        ),
        ("={{ o.x }}", "={{ o.x }} is o.x"),
        ("{{o__temp}}", "{{o__temp}} is o.temp"),
        (
            "{{ tasks.o.outputs.result }}",
            "{{ tasks.o.outputs.result }} is o",
        ),
        (
            "$(tasks.o.results.temp)",
            "$(tasks.o.results.temp) is o.temp",
        ),
        ("<output of step 2>", "<output of step 2> is rows"),
        ("see [the result of o]", "[the result of o] is o"),
        ("{{city}}", "{{city}} is inputs.city"),
        ("{{ inputs.city }}", "{{ inputs.city }} is inputs.city"),
        ("{{v}}", "{{v}} is vars.v"),
        ("$o.temp", "$o.temp is o.temp"),
        ("It is $rows[0].id.", "$rows[0].id is rows[0].id"),
        ("$o", "$o is o"),
        ("<o.temp>", "<o.temp> is o.temp"),
        ("<o>", "<o> is o"),
        ("{o} {rows}", "{o} is o"),
        ("${o}, {rows}", "{rows} is rows"),
        ("{o} or {rows}", "{o} may be o"),
        ("{o} {name}", "{o} may be o"),
        ("{{- o.temp -}}", "{{- o.temp -}} is o.temp"),
        ("{{{o.temp}}}", "{{{o.temp}}} is o.temp"),
        (
            "{{ upper(o.temp) }}",
            "{{ upper(o.temp) }} is o.temp.upperAscii()",
        ),
        ("{{ o['temp'] }}", "{{ o['temp'] }} is o.temp"),
        (
            "{{ Steps[\"o\"].temp }}",
            "{{ Steps[\"o\"].temp }} is o.temp",
        ),
        ("{{ steps[1].id }}", "{{ steps[1].id }} is rows.id"),
        ("{{ $('o').item }}", "{{ $('o').item }} may be o"),
        (
            "{{ $('o').item.json.temp.max }}",
            "{{ $('o').item.json.temp.max }} is o.temp.max",
        ),
        (
            "${{ steps.o.temp == 'x' && o.y }}",
            "${{ steps.o.temp == 'x' && o.y }} is o.temp == 'x' && o.y",
        ),
        (
            "a {% if o %}b{% endif %}",
            "a {% if o %}b{% endif %} is 'a ' + (o ? 'b' : '')",
        ),
        (
            "$.rows[?(@.id == 'x')].id",
            "$.rows[?(@.id == 'x')].id is rows.filter(x, x.id == 'x').map(x, x.id)",
        ),
        ("$.o..id", "$.o may be o"),
        ("{{ not o }}", "{{ not o }} may be o"),
        ("<%= o.temp %>", "<%= o.temp %> is o.temp"),
        ("@{body('o')?['temp']}", "@{body('o')?['temp']} is o.temp"),
        ("#{o.temp}", "#{o.temp} is o.temp"),
        ("%{o}", "%{o} is o"),
        ("{o}", "{o} is o"),
        ("It is {o.temp}", "{o.temp} is o.temp"),
        ("It is {city}", "{city} may be inputs.city"),
        ("%o.temp%", "%o.temp% is o.temp"),
        ("%o%", "%o% is o"),
        ("%(o.temp)s", "%(o.temp)s is o.temp"),
        ("[[o.temp]]", "[[o.temp]] is o.temp"),
        ("$(o.temp)", "$(o.temp) is o.temp"),
        ("$ref:o.temp", "$ref:o.temp is o.temp"),
        ("$.o.temp", "$.o.temp is o.temp"),
        ("a $o b", "$o may be o"),
        ("$o->temp", "$o may be o"),
        ("@o.temp", "@o.temp is o.temp"),
        ("#o", "#o may be o"),
        ("=steps.o.temp", "=steps.o.temp is o.temp"),
        ("a <rows> b", "<rows> may be rows"),
        ("{{x.temp}}", "{{x.temp}} may be x.temp"),
        ("{{x}}", "{{x}} may be x"),
        ("Dear {{ x.name }}", "{{ x.name }} may be x.name"),
        ("$o.output.temp", "$o.output.temp is o.temp"),
        ("$.rows[*].id", "$.rows[*].id is rows[*].id"),
        ("${o.x} and {{o.y}}", "{{o.y}} is o.y"),
    ] {
        assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn objects_that_are_references() {
    let text = r##"{"steps": [
        {"id": "o", "tool": "f"},
        {"id": "p", "tool": "f", "positional": ["{{o.a}}"], "args": {
            "a": [{"$ref": "#/steps/o/x"}], "b": {"output_by_reference": {"o": ["x", 0]}},
            "c": {"$ref": "#/definitions/o"}, "d": {"$ref": "o", "x": 1}
        }}
    ]}"##;
    let result = parse(
        text.as_bytes(),
        &ReadOptions::new("test").in_dialect("native"),
    );
    let found = result.diagnostics.iter();
    let found: Vec<_> = found
        .map(|one| (one.is_error(), one.help.clone().unwrap_or_default()))
        .collect();
    let wanted = [
        (
            true,
            r#"write `${o.a}`; for the text itself, `${"{{o.a}}"}`"#,
        ),
        (true, "write `${o.x}`"),
        (false, "write `${o.x[0]}`"),
    ]
    .map(|(is_error, help)| (is_error, help.to_owned()));
    assert_eq!(found, wanted, "{:#?}", result.diagnostics);
}

#[test]
fn texts_that_are_none() {
    for text in [
        "{{",
        "Dear {{name}}",
        "$5.00",
        "$x.y",
        "<b>o</b>",
        "<p.x>",
        "a@o.temp",
        "50% of o and 20%",
        "{\"o\": 1}",
        "o.temp",
        "${o.temp}",
        "${'{{o.temp}}'}",
        "${rows.map(o, {'a': o.x})}",
        "${{o.temp: o.size}}",
        "$${o.temp}",
        "$${{ o.temp }}",
        "${\"{{o.temp}}\"}",
    ] {
        assert_eq!(shown(text), None, "{text}");
    }
}

#[test]
fn escaped_texts_are_not_reported() {
    let names = ReferenceNames::native(vec!["o"], &[], false);
    for text in [
        "{{o.x}}",
        "a {{o.x}} b {{ o.y }} c",
        "$${{ o.x }} and ${{ o.x }}",
        "$o.x and $o.y.",
        "<o>",
        "<o.x><o.y>",
        "$$o.x",
        "{{{o.x}}}",
        "a $o b",
        "#{o} and @{o.x}",
        "$ref:o",
        "=o.x",
    ] {
        let escaped = names.escape_text(text).expect("the text has a marker");
        assert!(names.marker(&escaped).is_none(), "{text}: {escaped}");
    }
    assert_eq!(names.escape_text("${o.x}"), None);
}

#[test]
fn a_reference_inside_of_a_marker_remains_one() {
    let names = ReferenceNames::native(vec!["o"], &[], false);
    for (text, escaped) in [
        ("{{${o.x}}}", "${\"{{\"}${o.x}}}"),
        ("a {{ ${o.x} }} b", "a ${\"{{ \"}${o.x} }} b"),
        (
            "{{${o.x ?? {\"a\": [\"}\"]}}}}",
            "${\"{{\"}${o.x ?? {\"a\": [\"}\"]}}}}",
        ),
        ("{{ $${o.x} }}", "${\"{{ \"}$${o.x} }}"),
        ("<%${o.x}%>", "${\"<%\"}${o.x}%>"),
        ("#{${o.x}}", "${\"#{\"}${o.x}}"),
        ("{{o.x}} {{${o}}}", "${\"{{o.x}}\"} ${\"{{\"}${o}}}"),
    ] {
        assert_eq!(names.escape_text(text).as_deref(), Some(escaped));
    }
    // All closing brackets are those of the reference.
    assert_eq!(names.escape_text("{{${o.x ?? {\"a\": [\"}\"]}}"), None);
}
