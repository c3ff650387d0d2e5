//! Safe repairs of plans without asking the model: names with exactly one plausible correction.
//!
//! A misspelt tool name is corrected only if that cannot do more harm than intended: the tool is read-only, or both names have the
//! same letters, or both begin with the same word. `get_user` never becomes `set_user`.

use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, Fix, FixPart, Lookup};
use serde_json::Value;

/// A repair made in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// JSON pointer into the model's plan.
    pub pointer: String,
    /// Text before the repair.
    pub before: String,
    /// Text after the repair.
    pub after: String,
}

/// Applies all safe fixes in `diagnostics` to `text`. Returns `None` if there are none.
pub(super) fn repair(
    text: &str,
    diagnostics: &Diagnostics,
    catalog: &Catalog,
) -> Option<(String, Vec<Repair>)> {
    let mut plan: Value = serde_json::from_str(text).ok()?;
    let mut repairs = Vec::new();
    // Deepest pointers first: renaming a key invalidates the pointers below it.
    let mut fixes: Vec<(&Diagnostic, &Fix)> = diagnostics
        .iter()
        .filter_map(|diagnostic| Some((diagnostic, diagnostic.fix.as_ref()?)))
        .collect();
    fixes.sort_by(|(_, one), (_, other)| other.pointer.cmp(&one.pointer));
    for (diagnostic, fix) in fixes {
        if diagnostic.is_error()
            && is_safe(diagnostic, fix, &plan, catalog)
            && let Some(before) = apply(&mut plan, fix)
        {
            repairs.push(Repair {
                pointer: fix.pointer.clone(),
                before,
                after: fix.replacement.clone(),
            });
        }
    }
    // Reported in the order of their pointers.
    repairs.reverse();
    (!repairs.is_empty()).then(|| (plan.to_string(), repairs))
}

fn is_safe(diagnostic: &Diagnostic, fix: &Fix, plan: &Value, catalog: &Catalog) -> bool {
    // Any other repair can do no harm, since the repaired plan is checked again.
    if diagnostic.code != Code::UnknownTool {
        return true;
    }
    let Some(written) = plan.pointer(&fix.pointer).and_then(Value::as_str) else {
        return false;
    };
    let Lookup::Found(meant) = catalog.find(&fix.replacement) else {
        return false;
    };
    let annotations = meant.annotations;
    (annotations.trusted && annotations.read_only)
        || normalized(written) == normalized(&meant.name)
        || normalized(written) == normalized(&meant.qualified_name())
        || (first_word(written) == first_word(&meant.name) && similar_tools(written, catalog) == 1)
}

/// Returns a name in lower case without separators.
fn normalized(name: &str) -> String {
    let normalized = name.chars().filter(|letter| letter.is_alphanumeric());
    normalized.flat_map(char::to_lowercase).collect()
}

/// Returns the first word of a name, usually the verb.
fn first_word(name: &str) -> String {
    let bare = name.rsplit(['.', '/']).next().unwrap_or(name);
    let mut word = String::new();
    for letter in bare.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && !word.is_empty()) {
            break;
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// Counts the tools with a name similar to `written`, up to two.
fn similar_tools(written: &str, catalog: &Catalog) -> usize {
    let mut names: Vec<&str> = catalog.tools().map(|tool| &*tool.name).collect();
    let mut count = 0;
    while let Some(similar) = planwright_dialects::document::nearest(written, names.iter().copied())
    {
        names.retain(|name| *name != similar);
        count += 1;
        if count > 1 {
            break;
        }
    }
    count
}

/// Applies a fix and returns the previous text, if the place exists.
fn apply(plan: &mut Value, fix: &Fix) -> Option<String> {
    match fix.part {
        FixPart::Value => {
            let place = plan.pointer_mut(&fix.pointer)?;
            let before = match &*place {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            *place = Value::from(fix.replacement.as_str());
            Some(before)
        }
        FixPart::Key => {
            let (around, key) = fix.pointer.rsplit_once('/')?;
            let fields = plan.pointer_mut(around)?.as_object_mut()?;
            let key = key.replace("~1", "/").replace("~0", "~");
            // Renaming must not overwrite another field.
            if fields.contains_key(&fix.replacement) || !fields.contains_key(&key) {
                return None;
            }
            // Rebuilt, so that the fields keep their order.
            let renamed = std::mem::take(fields).into_iter().map(|(name, value)| {
                if name == key {
                    (fix.replacement.clone(), value)
                } else {
                    (name, value)
                }
            });
            *fields = renamed.collect();
            Some(key)
        }
    }
}
