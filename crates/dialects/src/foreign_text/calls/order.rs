//! The order of calls in a program, as the `after` of those with effects: calls that only read stay independent.

use std::collections::{HashMap, HashSet};

use planwright_core::Value;

use super::{Rewrite, Rewriter, refers_to, rewritten};
use crate::foreign_text::program::{only_reads, writes};
use crate::native::lines::to_json;

impl Rewriter<'_> {
    /// Writes the order of the calls into the lines that need it. Returns false, and changes nothing, if a name does not say whether its
    /// tool has effects, or if a line cannot have the field.
    pub(super) fn wait_for_effects(&mut self) -> bool {
        let Some(waits) = self.waits() else {
            return false;
        };
        let mut found: Vec<Rewrite> = Vec::new();
        for group in &self.groups {
            let mut waiting = group.ids.iter().filter(|id| waits.contains_key(*id));
            if waiting.next().is_none() {
                continue;
            }
            let old = self.found.iter().find(|old| old.range == group.range);
            let lines = old.map_or_else(
                || vec![self.text[group.range.clone()].to_owned()],
                |old| old.lines.clone(),
            );
            let lines = lines.into_iter().map(|line| {
                let id = line.split('=').next().unwrap_or_default().trim();
                match waits.get(id) {
                    Some(ids) => with_after(&line, ids),
                    None => Some(line),
                }
            });
            let Some(lines) = lines.collect::<Option<Vec<_>>>() else {
                return false;
            };
            found.push(Rewrite {
                range: group.range.clone(),
                lines,
                waits: old.is_none(),
            });
        }
        for rewrite in found {
            let is_same = |old: &Rewrite| old.range == rewrite.range;
            match self.found.iter().position(is_same) {
                Some(at) => self.found[at] = rewrite,
                None => {
                    let is_before = |old: &&Rewrite| old.range.start < rewrite.range.start;
                    let at = self.found.iter().filter(is_before).count();
                    self.found.insert(at, rewrite);
                }
            }
        }
        true
    }

    /// The steps that each step waits for besides those that it refers to: one that reads for the effects before it, one with effects
    /// for all steps before it.
    fn waits(&self) -> Option<HashMap<String, Vec<String>>> {
        let plan = to_json(&rewritten(self.text, &self.found))?;
        let steps: HashMap<&str, &Value> = plan
            .get("steps")?
            .as_list()?
            .iter()
            .filter_map(|step| Some((step.get("id")?.as_text()?, step)))
            .collect();
        let (mut writers, mut readers): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        // The steps that each step comes after.
        let mut before: HashMap<&str, HashSet<&str>> = HashMap::new();
        let mut found = HashMap::new();
        for group in &self.groups {
            let (mut reading, mut writing) = (Vec::new(), Vec::new());
            for id in &group.ids {
                let step = steps.get(&**id)?;
                let mut own: HashSet<&str> = HashSet::new();
                for (other, theirs) in &before {
                    if refers_to(step, other) {
                        own.insert(*other);
                        own.extend(theirs);
                    }
                }
                let mut waits: Vec<&String> = Vec::new();
                if let Some(tool) = step.get("tool") {
                    let tool = tool.as_text()?;
                    let reads = only_reads(tool);
                    (reads || writes(tool)).then_some(())?;
                    waits.extend(writers.iter().filter(|id| !own.contains(id.as_str())));
                    if reads {
                        reading.push(id.clone());
                    } else {
                        waits.extend(readers.iter().filter(|id| !own.contains(id.as_str())));
                        writing.push(id.clone());
                    }
                }
                for other in &waits {
                    let (other, theirs) = before.get_key_value(other.as_str())?;
                    own.insert(*other);
                    own.extend(theirs);
                }
                if !waits.is_empty() {
                    found.insert(id.clone(), waits.into_iter().cloned().collect());
                }
                before.insert(id, own);
            }
            if writing.is_empty() {
                readers.extend(reading);
            } else {
                // The next one waits for all of them.
                readers = reading;
                writers = writing;
            }
        }
        Some(found)
    }
}

/// The `line` of a call with the field `after` of the steps `ids`; `None` if it has no place for it.
fn with_after(line: &str, ids: &[String]) -> Option<String> {
    let ids: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    let field = format!("\"after\": [{}]", ids.join(", "));
    let line = line.trim_end();
    let fields = line.rsplit_once(") {").map(|(_, fields)| fields);
    if let (Some(fields), Some(inside)) = (fields, line.strip_suffix('}')) {
        let is_free = !fields.contains("\"after\"");
        return is_free.then(|| format!("{inside}, {field}}}"));
    }
    line.ends_with(')').then(|| format!("{line} {{{field}}}"))
}
