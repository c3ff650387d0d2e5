//! Diagrams of Mermaid and Graphviz whose nodes are calls.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::super::program;
use super::{Draft, call, plan_of, referenced, scalar};
use crate::native::path_of;

/// The plan in a flowchart of Mermaid.
pub(super) fn flowchart(text: &str) -> Option<Value> {
    let mut lines = lines(text, "%%");
    let head = lines.next()?;
    let is_head = ["flowchart", "graph"].iter().any(|word| {
        head.strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ';']))
    });
    is_head.then_some(())?;
    let mut graph = Graph::default();
    for line in lines {
        let word = line.split([' ', ';']).next().unwrap_or_default();
        if [
            "style",
            "classDef",
            "class",
            "linkStyle",
            "click",
            "subgraph",
            "end",
            "direction",
        ]
        .contains(&word)
        {
            continue;
        }
        let mut rest = line.trim_end_matches(';');
        let mut before: Vec<String> = Vec::new();
        loop {
            let mut nodes = vec![node(&mut rest, &mut graph)?];
            while let Some(more) = rest.trim_start().strip_prefix('&') {
                rest = more.trim_start();
                nodes.push(node(&mut rest, &mut graph)?);
            }
            for (from, to) in before
                .iter()
                .flat_map(|from| nodes.iter().map(move |to| (from, to)))
            {
                graph.edges.push((from.clone(), to.clone()));
            }
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            rest = behind_edge(rest)?;
            before = nodes;
        }
    }
    graph.plan()
}

/// The nodes and the edges of a diagram.
#[derive(Default)]
struct Graph {
    /// The ids with their labels.
    nodes: Vec<(String, Option<String>)>,
    edges: Vec<(String, String)>,
}

impl Graph {
    fn add(&mut self, id: &str, label: Option<String>) -> Option<()> {
        match self.nodes.iter_mut().find(|(known, _)| known == id) {
            Some((_, known)) if label.is_some() => {
                (known.is_none() || *known == label).then_some(())?;
                *known = label;
            }
            Some(_) => {}
            None => self.nodes.push((id.to_owned(), label)),
        }
        Some(())
    }

    fn plan(self) -> Option<Value> {
        let ids: Vec<String> = self.nodes.iter().map(|(id, _)| id.clone()).collect();
        let mut drafts = Vec::new();
        for (id, label) in &self.nodes {
            let label = label.as_deref().unwrap_or(id);
            if is_border(label) {
                continue;
            }
            drafts.push(Draft {
                id: id.clone(),
                fields: call(label, &ids)?,
                after: self.before(id, 0),
            });
        }
        plan_of(drafts)
    }

    /// The steps before the node `id`; the markers of a start and an end are no steps.
    fn before(&self, id: &str, depth: usize) -> Vec<String> {
        let mut found = Vec::new();
        if depth > 8 {
            return found;
        }
        for (from, _) in self.edges.iter().filter(|(_, to)| to == id) {
            let label = self.nodes.iter().find(|(known, _)| known == from);
            let label = label
                .and_then(|(_, label)| label.as_deref())
                .unwrap_or(from);
            let more = if is_border(label) {
                self.before(from, depth + 1)
            } else {
                vec![from.clone()]
            };
            for id in more {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        }
        found
    }
}

/// Returns true for the marks of a start and an end.
fn is_border(label: &str) -> bool {
    let label = label
        .trim_matches(['(', ')', '*', '[', ']', ' '])
        .to_lowercase();
    ["start", "end", "begin", "done", "finish", "stop"].contains(&&*label)
}

/// The lines of `text` that are not empty and no comments.
fn lines<'t>(text: &'t str, comment: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines()
        .map(str::trim)
        .filter(move |line| !line.is_empty() && !line.starts_with(comment))
}

/// Reads a node such as `A["f(x=1)"]` from the start of `rest`, and returns its id.
fn node(rest: &mut &str, graph: &mut Graph) -> Option<String> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let end = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
    let (id, after) = rest.split_at(end);
    if id.is_empty() {
        return None;
    }
    let shapes = [
        ("([", "])"),
        ("[[", "]]"),
        ("[(", ")]"),
        ("((", "))"),
        ("{{", "}}"),
        ("[/", "/]"),
        ("[", "]"),
        ("(", ")"),
    ];
    let shape = shapes.iter().find(|(open, _)| after.starts_with(open));
    let Some((open, close)) = shape else {
        // A rhombus is a decision.
        if after.starts_with(['{', '>']) {
            return None;
        }
        *rest = after;
        graph.add(id, None)?;
        return Some(id.to_owned());
    };
    let inside = &after[open.len()..];
    let (label, behind) = match inside.strip_prefix('"') {
        Some(quoted) => {
            let end = quoted.find(&format!("\"{close}"))?;
            (&quoted[..end], &quoted[end + 1 + close.len()..])
        }
        None => {
            // The label ends with the last bracket before an edge.
            let line_end = [" --", " ==", " -."]
                .iter()
                .filter_map(|edge| inside.find(edge))
                .min()
                .unwrap_or(inside.len());
            let end = inside[..line_end].rfind(close)?;
            (&inside[..end], &inside[end + close.len()..])
        }
    };
    let label = label
        .replace("#quot;", "\"")
        .replace("&quot;", "\"")
        .replace("<br/>", " ")
        .replace("<br>", " ");
    *rest = behind;
    graph.add(id, Some(label))?;
    Some(id.to_owned())
}

/// `rest` after the edge at its start; `None` if there is none, or if it has a label that may be a condition.
fn behind_edge(rest: &str) -> Option<&str> {
    let end = rest.find(|sign| !"-=.<>ox".contains(sign))?;
    let edge = rest[..end].trim_end_matches(['o', 'x']);
    let is_edge = edge.len() > 1 && edge.ends_with('>') && !edge.starts_with('<');
    is_edge.then_some(())?;
    let rest = rest[edge.len()..].trim_start();
    match rest.strip_prefix('|') {
        Some(labelled) => {
            let (label, rest) = labelled.split_once('|')?;
            let lower = label.to_lowercase();
            let mut words = lower.split(|sign: char| !sign.is_alphanumeric());
            let is_harmless = words.all(|word| {
                [
                    "", "then", "next", "data", "result", "output", "text", "and",
                ]
                .contains(&word)
            });
            is_harmless.then(|| rest.trim_start())
        }
        None => Some(rest),
    }
}

/// The plan in a sequence diagram of Mermaid, whose messages are calls with their results.
pub(super) fn sequence(text: &str) -> Option<Value> {
    let mut lines = lines(text, "%%");
    (lines.next()? == "sequenceDiagram").then_some(())?;
    // The calls as a program, each with the participant that is called.
    let mut calls: Vec<(String, String, Option<String>)> = Vec::new();
    for line in lines {
        let word = line.split([' ', ':']).next().unwrap_or_default();
        if [
            "participant",
            "actor",
            "autonumber",
            "Note",
            "note",
            "title",
            "activate",
            "deactivate",
        ]
        .contains(&word)
        {
            continue;
        }
        let arrow = ["-->>", "->>", "-->", "->"]
            .iter()
            .find(|arrow| line.contains(**arrow))?;
        let (from, rest) = line.split_once(arrow)?;
        let (to, message) = rest.split_once(':')?;
        let (from, to) = (from.trim(), to.trim().trim_start_matches(['+', '-']));
        let message = message.trim();
        if arrow.starts_with("--") {
            // The answer of the last call of that participant.
            let call = calls.iter_mut().rev().find(|(callee, ..)| callee == from)?;
            let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
            if message.starts_with(char::is_alphabetic) && message.chars().all(is_name) {
                call.2 = Some(message.to_owned());
            }
        } else {
            calls.push((to.to_owned(), message.to_owned(), None));
        }
    }
    let program = calls.iter().map(|(callee, call, name)| {
        // The participant is the server, if its name can be one and the call names none.
        let is_word = |text: &str| {
            text.chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_')
        };
        let tool = call.split('(').next().unwrap_or_default();
        let is_server = is_word(callee) && callee.starts_with(char::is_lowercase) && is_word(tool);
        let call = if is_server {
            format!("{callee}.{call}")
        } else {
            call.clone()
        };
        match name {
            Some(name) => format!("{name} = {call}"),
            None => call,
        }
    });
    of_program(&program.collect::<Vec<_>>().join("\n"))
}

/// The plan of the program `text`, in whose texts names are references as well.
pub(super) fn of_program(text: &str) -> Option<Value> {
    let plan = program::plan_with_names(text)?;
    with_names(&plan)
}

/// `plan` with references in place of the ids in its texts.
pub(super) fn with_names(plan: &Value) -> Option<Value> {
    let steps = plan.get("steps")?.as_list()?;
    let ids = steps.iter().filter_map(|step| step.get("id")?.as_text());
    let mut names: HashMap<String, String> = ids.map(|id| (id.to_string(), path_of(id))).collect();
    let items = steps.iter().filter_map(|step| step.get("as")?.as_text());
    names.extend(items.map(|item| (item.to_owned(), item.to_owned())));
    let steps = steps.iter().map(|step| {
        let fields = step.as_object()?.iter().map(|(key, field)| {
            let field = match &**key {
                "args" | "positional" => referenced(field, &names),
                _ => field.clone(),
            };
            (Arc::clone(key), field)
        });
        Some(Value::object(fields))
    });
    let steps = Value::list(steps.collect::<Option<Vec<_>>>()?);
    let fields = plan.as_object()?.iter().map(|(key, field)| {
        let field = match &**key {
            "steps" => steps.clone(),
            _ => field.clone(),
        };
        (Arc::clone(key), field)
    });
    Some(Value::object(fields))
}

/// The plan in a graph of Graphviz, whose nodes have the tool and its arguments as attributes, or a call as their label.
pub(super) fn dot(text: &str) -> Option<Value> {
    let text = text.trim();
    let rest = text.strip_prefix("strict").unwrap_or(text).trim_start();
    let inside = rest.strip_prefix("digraph")?;
    let inside = &inside[inside.find('{')? + 1..];
    let inside = inside.trim_end().strip_suffix('}')?;
    let mut graph = Graph::default();
    let mut drafts: Vec<Draft> = Vec::new();
    for statement in statements(inside)? {
        let (head, attributes) = match statement.find('[') {
            Some(at) => {
                let list = statement[at + 1..].trim_end().strip_suffix(']')?;
                (statement[..at].trim(), attributes(list)?)
            }
            None => (statement, Vec::new()),
        };
        if matches!(head, "node" | "edge" | "graph") {
            continue;
        }
        let names: Vec<Vec<String>> = head.split("->").map(names).collect();
        if let [only] = names.as_slice() {
            // `rankdir=LR`
            if attributes.is_empty() && head.contains('=') {
                continue;
            }
            let [id] = only.as_slice() else {
                return None;
            };
            graph.add(id, None)?;
            drafts.push(draft(id, attributes)?);
            continue;
        }
        // The label of an edge may be a condition.
        if attributes
            .iter()
            .any(|(key, _)| key == "label" || key == "condition")
        {
            return None;
        }
        for pair in names.windows(2) {
            let [from, to] = pair else {
                return None;
            };
            for (from, to) in from
                .iter()
                .flat_map(|from| to.iter().map(move |to| (from, to)))
            {
                graph.edges.push((from.clone(), to.clone()));
            }
        }
    }
    for draft in &mut drafts {
        draft.after = graph.before(&draft.id, 0);
    }
    plan_of(drafts)
}

/// The step of a node.
fn draft(id: &str, attributes: Vec<(String, Value)>) -> Option<Draft> {
    let label = attributes.iter().find(|(key, _)| key == "label");
    let tool = attributes
        .iter()
        .find(|(key, _)| matches!(key.as_str(), "tool" | "call" | "action"));
    let Some((_, tool)) = tool else {
        return Some(Draft {
            id: id.to_owned(),
            fields: call(label?.1.as_text()?, &[])?,
            after: Vec::new(),
        });
    };
    let of_drawing = [
        "label",
        "shape",
        "color",
        "style",
        "fillcolor",
        "tool",
        "call",
        "action",
        "fontsize",
    ];
    let args = attributes
        .iter()
        .filter(|(key, _)| !of_drawing.contains(&key.as_str()))
        .map(|(key, value)| (Arc::from(key.as_str()), value.clone()));
    Some(Draft {
        id: id.to_owned(),
        fields: vec![
            ("tool".into(), tool.clone()),
            ("args".into(), Value::object(args)),
        ],
        after: Vec::new(),
    })
}

/// The names in a part of an edge: `a`, `"a b"` or `{a b}`.
fn names(part: &str) -> Vec<String> {
    let part = part.trim();
    let inside = part
        .strip_prefix('{')
        .and_then(|part| part.strip_suffix('}'));
    let names = inside.unwrap_or(part).split([' ', ',', ';']);
    names
        .filter(|name| !name.is_empty())
        .map(|name| name.trim_matches('"').to_owned())
        .collect()
}

/// The statements of a graph, which end with a semicolon or a line.
fn statements(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let (mut start, mut depth, mut is_text, mut is_escaped) = (0, 0_usize, false, false);
    for (at, sign) in text.char_indices() {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            ';' | '\n' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    let is_comment = |line: &&str| line.starts_with("//") || line.starts_with('#');
    found.retain(|line| !line.is_empty() && !is_comment(line));
    (depth == 0 && !is_text).then_some(found)
}

/// The attributes in the brackets of a node.
fn attributes(list: &str) -> Option<Vec<(String, Value)>> {
    let mut found = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, behind) = match after.strip_prefix('"') {
            Some(quoted) => {
                let length = crate::native::quoted_length(after, '"')?;
                let inside = quoted.get(..length - 2)?;
                let text = inside.replace("\\n", "\n").replace("\\\"", "\"");
                (Value::text(text), &after[length..])
            }
            None => {
                let end = after.find([',', ' ', ';', '\n']).unwrap_or(after.len());
                (scalar(&after[..end]), &after[end..])
            }
        };
        found.push((key.trim().to_owned(), value));
        rest = behind
            .trim_start()
            .trim_start_matches([',', ';'])
            .trim_start();
    }
    Some(found)
}
