//! The picture of a plan or run as one HTML file, to hand on: graph, timeline, steps and output. It has no script, and loads nothing.

use std::fmt::Write as _;

use planwright_core::Value;
use planwright_engine::run::StepSummary;

use super::markup::{element, escaped};
use super::run_record::RunRecord;
use super::{svg, timeline};
use crate::drawing::drawn_plan::Drawing;
use crate::drawing::graph::{GraphStep, action_text, notes};
use crate::drawing::symbols::{Mark, Symbols};
use crate::terminal_text;

const STYLE: &str = include_str!("page.css");

/// The longest value that is shown whole, in bytes of formatted JSON.
const MAX_VALUE: usize = 64 * 1024;
/// The maximum number of items, rounds or inner steps that are shown of a step.
const MAX_PARTS: usize = 200;
/// The deepest level of inner steps that is shown.
const MAX_DEPTH: usize = 8;

impl Drawing {
    /// An HTML file: the graph, and of a `run` its timeline, its steps with their values, and its output. It has no script, and loads
    /// nothing.
    pub fn html(&self, run: Option<&RunRecord<'_>>) -> String {
        let graph = &self.main;
        let name = (graph.title.as_deref().or(graph.name.as_deref())).unwrap_or("plan");
        let title = match run {
            Some(record) => format!("{name}, run {}: {}", record.run.id, record.run.status),
            None => name.to_owned(),
        };
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<header>\n",
            escaped(&title),
            svg::STYLE
        );
        let _ = writeln!(page, "<h1>{}</h1>", escaped(name));
        let _ = writeln!(
            page,
            "{}\n</header>\n<main>",
            element("p", "facts", &facts(self, run))
        );
        section(
            &mut page,
            "Graph",
            &scrolling("Graph", &svg::draw_inline(self, true)),
        );
        if let Some((body, size)) = run.and_then(|record| timeline::draw(&graph.steps, record)) {
            let image = format!("{}{body}</svg>\n", svg::opening(size, "timeline"));
            section(&mut page, "Timeline", &scrolling("Timeline", &image));
        }
        let mut steps = String::new();
        for (index, step) in graph.steps.iter().enumerate() {
            write_step(&mut steps, index, step, run);
        }
        section(&mut page, "Steps", &steps);
        if let Some(output) = run.and_then(|record| record.output) {
            section(&mut page, "Output", &value(output));
        }
        page.push_str("</main>\n</body>\n</html>\n");
        page
    }
}

fn section(page: &mut String, heading: &str, body: &str) {
    let _ = writeln!(page, "<section>\n<h2>{heading}</h2>\n{body}</section>");
}

/// A part of the page that scrolls on its own, also by keyboard.
fn scrolling(label: &str, image: &str) -> String {
    format!(
        "<div class=\"scrolling\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n{image}</div>\n"
    )
}

fn facts(drawing: &Drawing, run: Option<&RunRecord<'_>>) -> String {
    let count = drawing.main.steps.len();
    let steps = format!("{count} {}", if count == 1 { "step" } else { "steps" });
    let Some(record @ RunRecord { run, history, .. }) = run else {
        return steps;
    };
    let calls: usize = history.steps().map(|(_, past)| past.calls.len()).sum();
    format!(
        "Run {}: {} after {}, {steps}, {calls} {}",
        run.id,
        run.status,
        terminal_text::time(record.duration()),
        if calls == 1 { "call" } else { "calls" }
    )
}

fn write_step(text: &mut String, index: usize, step: &GraphStep, run: Option<&RunRecord<'_>>) {
    let mark = step.mark.map_or("planned", Mark::as_str);
    let mut summary = element("b", "", &step.id);
    summary.push_str(&element("span", "action", &action_text(step)));
    if let Some(state) = &step.state {
        let status = state.status.replace('_', " ");
        summary.push_str(&element("span", &format!("status {mark}"), &status));
    }
    let _ = writeln!(
        text,
        "<details class=\"{mark}\"><summary>{summary}</summary>\n<div id=\"step-{index}\">"
    );
    let notes = notes(step, Symbols::Unicode);
    if !notes.is_empty() {
        let _ = writeln!(text, "{}", element("p", "notes", &notes.join(" · ")));
    }
    let summaries = run.into_iter().flat_map(|record| record.steps);
    for summary in summaries.filter(|summary| summary.at.step.as_str() == step.id) {
        write_summary(text, summary, 0);
    }
    text.push_str("</div></details>\n");
}

fn write_summary(text: &mut String, step: &StepSummary, depth: usize) {
    text.push_str("<dl>\n");
    let mut entry = |name: &str, content: &str| {
        let _ = writeln!(text, "<dt>{name}</dt><dd>{content}</dd>");
    };
    if let Some(instance) = &step.at.instance {
        entry("Instance", &escaped(instance));
    }
    if let (Some(started), Some(ended)) = (step.started, step.ended) {
        let time = terminal_text::time(ended.saturating_sub(started));
        let attempts = step.attempts;
        let calls = if attempts == 1 { "call" } else { "calls" };
        entry("Time", &format!("{time}, {attempts} {calls}"));
    }
    if let Some(error) = &step.error {
        let kind = error.kind.as_str();
        entry(
            "Error",
            &format!(
                "{}: {}",
                escaped(kind),
                element("span", "error", &error.message)
            ),
        );
    }
    if let Some(reason) = &step.reason {
        entry("Reason", &escaped(&reason.to_string()));
    }
    if let Some(args) = &step.args {
        entry("Arguments", &value(args));
    }
    if let Some(output) = &step.output {
        entry("Output", &value(output));
    }
    for content in &step.content {
        entry("Content", &value(content));
    }
    text.push_str("</dl>\n");
    if depth == MAX_DEPTH && !step.parts.is_empty() {
        let _ = writeln!(
            text,
            "{}",
            element("p", "notes", "inner steps are not shown")
        );
        return;
    }
    for part in step.parts.iter().take(MAX_PARTS) {
        let _ = writeln!(
            text,
            "<details><summary>{}{}</summary>",
            element("b", "", &part.at.to_string()),
            element("span", "status", &part.status.as_str().replace('_', " "))
        );
        write_summary(text, part, depth + 1);
        text.push_str("</details>\n");
    }
    let omitted = step.parts.len().saturating_sub(MAX_PARTS);
    if omitted > 0 {
        let note = format!("{omitted} more are not shown");
        let _ = writeln!(text, "{}", element("p", "notes", &note));
    }
}

/// A value as formatted JSON; of a long one, its beginning.
fn value(value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_json()),
    };
    if text.len() <= MAX_VALUE {
        return element("pre", "value", &text);
    }
    let shown = text.get(..text.floor_char_boundary(MAX_VALUE));
    let shown = shown.unwrap_or_default();
    let omitted = text.len() - shown.len();
    let note = format!("{omitted} more bytes are not shown");
    element("pre", "value", shown) + &element("p", "notes", &note)
}
