//! The schemas of reports and events, and the pages about them, made of the types themselves.

// The shapes below stand for types of other crates, so no values of them exist.
#![expect(dead_code, reason = "the types describe a shape")]

use planwright_testkit::generated;
use planwright_testkit::reference_page::page;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{
    DIFF_SCHEMA, DiffV1, ENTRY_SCHEMA, EVENT_SCHEMA, EntryV1, EventV1, LEARN_SCHEMA, LOG_SCHEMA,
    LearnV1, LogV1, RECURRING_SCHEMA, REPLAY_SCHEMA, REPORT_SCHEMA, RUNS_SCHEMA, RecurringV1,
    ReplayV1, ReportV1, RunsV1, SESSIONS_SCHEMA, SessionsV1,
};

/// A diagnostic.
#[derive(JsonSchema)]
#[schemars(rename = "diagnostic")]
pub(crate) struct DiagnosticShape {
    /// The code, such as `PW0201`.
    code: String,
    /// `error`, `warning` or `note`. A note is a fact about the reading of the plan.
    severity: String,
    /// The problem.
    message: String,
    /// The place, as a JSON pointer into the plan's text.
    pointer: String,
    /// The place, as `start` and `end` in bytes of the text, if the place is in the plan.
    #[schemars(skip_serializing_if = "Option::is_none")]
    span: Option<Value>,
    /// A hint how to fix it.
    #[schemars(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The likely correction, if there is one: the text `replacement` at the JSON pointer `pointer`. It may change what the plan does.
    #[schemars(skip_serializing_if = "Option::is_none")]
    fix: Option<Value>,
    /// Edits of the text that, all together, fix the problem and do not change what the plan does: each writes `replacement` in place of the
    /// bytes from `start` to `end` of `span`.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Value>,
    /// The plan of the library that pointer and span refer to, where it is not the plan itself.
    #[schemars(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// The reason why a step did not run.
#[derive(JsonSchema)]
#[schemars(rename = "reason")]
pub(crate) struct ReasonShape {
    /// The kind of reason. `step`: a step that it needs did not succeed; `branch`: no step filled a slot; `condition`: its own
    /// condition was false; `stopped`: the run stopped after a failure; `person`: a person decided to skip it.
    #[schemars(extend("enum" = ["step", "branch", "condition", "stopped", "person"]))]
    because: String,
    /// The step or slot that it is about.
    of: String,
}

const REPORT_HEAD: &str = "\
# The report

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright run --format json` prints: one object, `planwright.report/1`. As a JSON Schema:
[report.schema.json](../schema/report.schema.json). Fields marked with *optional* are left out where they say nothing.
A reader that meets another version in `schema` should refuse it.

With `--max-output`, a value that is larger stands as `{\"$trimmed\": {\"bytes\": N, \"start\": TEXT}}`: how large it is as compact JSON, and its
beginning, of a text without the quotes. Outputs are trimmed, blocks of content, and the fields of arguments, of `output`, `vars`, `state`
and `data`, each for itself. What steps hand on is always whole.
";

const EVENT_HEAD: &str = "\
# Events

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright run --format events` prints: one object a line, `planwright.event/1`, as soon as it happens. As a JSON
Schema: [event.schema.json](../schema/event.schema.json). Fields marked with *optional* are left out where they say
nothing about the event. `--max-output` trims outputs and the fields of arguments, as in [the report](report.md).
";

const REPLAY_HEAD: &str = "\
# A replay

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright replay RUN --format json` prints: one object, `planwright.replay/1`. As a JSON Schema:
[replay.schema.json](../schema/replay.schema.json). Fields marked with *optional* are left out where they say nothing.
";

const RUNS_HEAD: &str = "\
# The list of runs

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright runs --format json` prints: one object, `planwright.runs/1`. As a JSON Schema:
[runs.schema.json](../schema/runs.schema.json). Fields marked with *optional* are left out where they say nothing.
";

const LOG_HEAD: &str = "\
# The log of a run

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright logs RUN --format json` prints: one object, `planwright.log/1`. As a JSON Schema:
[log.schema.json](../schema/log.schema.json). Fields marked with *optional* are left out where they say nothing about the line.
";

const ENTRY_HEAD: &str = "\
# Entries of a journal

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright logs RUN --format events` prints: the journal of the run as it is, one object a line, `planwright.entry/1`. As a
JSON Schema: [entry.schema.json](../schema/entry.schema.json). Fields marked with *optional* are left out where they say nothing
about the entry.
";

const DIFF_HEAD: &str = "\
# What differs between two runs

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright diff RUN RUN --format json` prints: one object, `planwright.diff/1`. As a JSON Schema:
[diff.schema.json](../schema/diff.schema.json). Fields marked with *optional* are left out where they say nothing.
";

const LEARN_HEAD: &str = "\
# A learned plan

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright learn FILE… --format json` prints: one object, `planwright.learn/1`. As a JSON Schema:
[learn.schema.json](../schema/learn.schema.json). Fields marked with *optional* are left out where they say nothing.
";

const RECURRING_HEAD: &str = "\
# Recurring work

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright learn --from CLIENT --format json` prints: one object, `planwright.recurring/1`. As a JSON Schema:
[recurring.schema.json](../schema/recurring.schema.json).
";

const SESSIONS_HEAD: &str = "\
# The list of sessions

<!-- `cargo xtask generate` makes this page of the types. -->

What `planwright runs --sessions --format json` prints: one object, `planwright.sessions/1`. As a JSON Schema:
[sessions.schema.json](../schema/sessions.schema.json).
";

#[test]
fn generated_page_of_learned_plans() {
    publish::<LearnV1>("learn", LEARN_HEAD);
}

#[test]
fn generated_page_of_recurring_work() {
    publish::<RecurringV1>("recurring", RECURRING_HEAD);
}

#[test]
fn generated_page_of_sessions() {
    publish::<SessionsV1>("sessions", SESSIONS_HEAD);
}

#[test]
fn generated_page_of_differences() {
    publish::<DiffV1>("diff", DIFF_HEAD);
}

#[test]
fn generated_page_of_runs() {
    publish::<RunsV1>("runs", RUNS_HEAD);
}

#[test]
fn generated_page_of_logs() {
    publish::<LogV1>("log", LOG_HEAD);
}

#[test]
fn generated_page_of_entries() {
    publish::<EntryV1>("entry", ENTRY_HEAD);
}

#[test]
fn generated_page_of_replays() {
    publish::<ReplayV1>("replay", REPLAY_HEAD);
}

#[test]
fn generated_page_of_reports() {
    publish::<ReportV1>("report", REPORT_HEAD);
}

#[test]
fn generated_page_of_events() {
    publish::<EventV1>("event", EVENT_HEAD);
}

/// The constants that doc comments link to, with their values for the pages.
const CONSTANTS: &[(&str, &str)] = &[
    ("[`REPORT_SCHEMA`]", REPORT_SCHEMA),
    ("[`EVENT_SCHEMA`]", EVENT_SCHEMA),
    ("[`REPLAY_SCHEMA`]", REPLAY_SCHEMA),
    ("[`ENTRY_SCHEMA`]", ENTRY_SCHEMA),
    ("[`RUNS_SCHEMA`]", RUNS_SCHEMA),
    ("[`LOG_SCHEMA`]", LOG_SCHEMA),
    ("[`DIFF_SCHEMA`]", DIFF_SCHEMA),
    ("[`LEARN_SCHEMA`]", LEARN_SCHEMA),
    ("[`RECURRING_SCHEMA`]", RECURRING_SCHEMA),
    ("[`SESSIONS_SCHEMA`]", SESSIONS_SCHEMA),
];

fn publish<T: JsonSchema>(name: &str, head: &str) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    generated::check(&format!("docs/schema/{name}.schema.json"), &text);
    generated::check(
        &format!("docs/reference/{name}.md"),
        &page(schema.as_value(), head, CONSTANTS),
    );
}
