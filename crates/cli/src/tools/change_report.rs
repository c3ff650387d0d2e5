//! Changed tools as people and programs read them.

use planwright::call_view::visible;
use planwright::pins::{
    Definition, DefinitionPart, DifferenceLine, HintChange, Pending, PendingTool, difference,
    selection_digest,
};
use serde::Serialize;

use crate::runs::run_storage;

/// A server with changes that wait for a person.
#[derive(Serialize)]
pub(crate) struct ServerV1<'a> {
    server: &'a str,
    /// The way in which it is reached.
    origin: &'a str,
    /// The accepted ways to reach a server of this name, if this one is not accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_origins: Option<&'a [String]>,
    tools: Vec<ToolV1<'a>>,
}

/// A tool that waits for a person.
#[derive(Serialize)]
struct ToolV1<'a> {
    tool: &'a str,
    /// The digest that accepts it alone; absent for a tool of a server that is accepted as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The changes: `description`, `input schema`, `output schema`, `title`, or an annotation.
    changed: Vec<&'static str>,
    is_new: bool,
    /// True if its calls ask under `pin = "ask"`.
    asks: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Definition>,
    now: &'a Definition,
}

/// A server as programs read it.
pub(crate) fn described(server: &Pending) -> ServerV1<'_> {
    let is_accepted = server.accepted_origins.is_none();
    let tools = server.tools.iter().map(|tool| ToolV1 {
        tool: &tool.name,
        digest: is_accepted.then(|| selection_digest(&[alone(server, tool)])),
        changed: tool.changes.names(),
        is_new: tool.before.is_none(),
        asks: !is_accepted || tool.changes.asks(),
        before: tool.before.as_ref(),
        now: &tool.now,
    });
    ServerV1 {
        server: &server.identity.server,
        origin: &server.identity.origin,
        accepted_origins: server.accepted_origins.as_deref(),
        tools: tools.collect(),
    }
}

/// Returns the number of new tools in words.
pub(crate) fn new(count: u64) -> &'static str {
    if count == 1 { "new tool" } else { "new tools" }
}

/// Formats a selection for people, without control or invisible characters.
pub(crate) fn lines(selection: &[Pending]) -> Vec<String> {
    let mut text = Text(Vec::new());
    for server in selection {
        text.server(server);
    }
    text.0
}

fn alone(server: &Pending, tool: &PendingTool) -> Pending {
    let mut alone = server.clone();
    alone.tools.retain(|other| other.name == tool.name);
    alone
}

struct Text(Vec<String>);

impl Text {
    fn server(&mut self, server: &Pending) {
        let name = &server.identity.server;
        if let Some(origins) = &server.accepted_origins {
            self.line(&format!(
                "{name}  another server than the one that was pinned"
            ));
            for origin in origins {
                self.line(&format!("  - {origin}"));
            }
            self.line(&format!("  + {}", server.identity.origin));
        }
        for tool in &server.tools {
            let qualified = format!("{name}.{}", tool.name);
            let what = match &tool.before {
                None => "new".to_owned(),
                Some(_) if tool.changes.is_empty() => "the same definition".to_owned(),
                Some(_) => format!("{} changed", tool.changes.names().join(", ")),
            };
            self.line(&format!("{qualified}  {what}"));
            self.tool(tool);
            if server.accepted_origins.is_none() {
                let digest = selection_digest(&[alone(server, tool)]);
                self.line(&format!("  digest {}", run_storage::digest(&digest)));
            }
        }
    }

    fn tool(&mut self, tool: &PendingTool) {
        let before = tool.before.as_ref();
        self.part(
            "description",
            before.and_then(|before| before.description.as_ref()),
            tool.now.description.as_ref(),
        );
        self.part(
            "input schema",
            before.map(|before| &before.input_schema),
            Some(&tool.now.input_schema),
        );
        self.part(
            "output schema",
            before.map(|before| &before.output_schema),
            Some(&tool.now.output_schema),
        );
        self.part(
            "title",
            before.and_then(|before| before.title.as_ref()),
            tool.now.title.as_ref(),
        );
        for hint in &tool.changes.hints {
            self.hint(hint);
        }
    }

    /// Returns the difference of one part; `None` if it did not change.
    fn part(&mut self, name: &str, before: Option<&DefinitionPart>, now: Option<&DefinitionPart>) {
        if before == now {
            return;
        }
        let text =
            |part: Option<&DefinitionPart>| part.map(DefinitionPart::pretty).unwrap_or_default();
        self.line(&format!("  {name}"));
        let lines = difference(&text(before), &text(now));
        if lines.is_empty() {
            self.line("      the same lines, with other line ends or beyond what is stored");
        }
        for line in lines {
            match line {
                DifferenceLine::Same(line) => self.line(&format!("      {line}")),
                DifferenceLine::Removed(line) => self.line(&format!("    - {line}")),
                DifferenceLine::Added(line) => self.line(&format!("    + {line}")),
                DifferenceLine::Skipped(count) => self.line(&format!("      … {count} lines")),
            }
        }
        for (sign, part) in [('-', before), ('+', now)] {
            if let Some(part) = part.filter(|part| 0 < part.missing()) {
                self.line(&format!(
                    "    {sign} … {} more bytes, SHA-256 of all {}: {}",
                    part.missing(),
                    part.bytes,
                    part.sha256
                ));
            }
        }
    }

    fn hint(&mut self, hint: &HintChange) {
        let stated = |value: Option<bool>| match value {
            Some(value) => value.to_string(),
            None => "not stated".to_owned(),
        };
        self.line(&format!(
            "  {}: {} → {}",
            hint.name,
            stated(hint.before),
            stated(hint.now)
        ));
    }

    fn line(&mut self, line: &str) {
        self.0.push(visible(line).into_owned());
    }
}
