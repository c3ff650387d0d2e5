//! What is mended without asking the model again: a name with exactly one that it can have meant.
//!
//! A misspelt tool is only taken for another where that cannot do more harm than the one that was meant: it merely reads, or it is the same
//! name in another spelling, or it begins with the same word. `get_user` is never taken for `set_user`.

use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, Fix, FixPart, Lookup};
use serde_json::Value;

/// Something that was mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Where, as a JSON pointer into the model's plan.
    pub pointer: String,
    /// What stood there.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

/// `text` with everything mended that `findings` say how to, and that is safe; nothing where there is none of it.
pub(super) fn repair(
    text: &str,
    findings: &Diagnostics,
    catalog: &Catalog,
) -> Option<(String, Vec<Repair>)> {
    let mut plan: Value = serde_json::from_str(text).ok()?;
    let mut repairs = Vec::new();
    // Deeper places first: a key that is renamed moves what is below it.
    let mut fixes: Vec<(&Diagnostic, &Fix)> = findings
        .iter()
        .filter_map(|finding| Some((finding, finding.fix.as_ref()?)))
        .collect();
    fixes.sort_by(|(_, one), (_, other)| other.pointer.cmp(&one.pointer));
    for (finding, fix) in fixes {
        if finding.is_error()
            && is_safe(finding, fix, &plan, catalog)
            && let Some(before) = apply(&mut plan, fix)
        {
            repairs.push(Repair {
                pointer: fix.pointer.clone(),
                before,
                after: fix.replacement.clone(),
            });
        }
    }
    repairs.reverse();
    (!repairs.is_empty()).then(|| (plan.to_string(), repairs))
}

fn is_safe(finding: &Diagnostic, fix: &Fix, plan: &Value, catalog: &Catalog) -> bool {
    if finding.code != Code::UnknownTool {
        return true;
    }
    let Some(written) = plan.pointer(&fix.pointer).and_then(Value::as_str) else {
        return false;
    };
    let Lookup::Found(meant) = catalog.find(&fix.replacement) else {
        return false;
    };
    let says = meant.annotations;
    (says.trusted && says.read_only)
        || letters(written) == letters(&meant.name)
        || letters(written) == letters(&meant.qualified_name())
        || (first_word(written) == first_word(&meant.name)
            && near(written, catalog).is_some_and(|near| near == 1))
}

/// A name without what separates its words.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// What a name says first, mostly what is done.
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

/// How many tools have a name near `written`.
fn near(written: &str, catalog: &Catalog) -> Option<usize> {
    let mut names: Vec<&str> = catalog.tools().map(|tool| &*tool.name).collect();
    let mut count = 0;
    while let Some(near) = planwright_dialects::document::nearest(written, names.iter().copied()) {
        names.retain(|name| *name != near);
        count += 1;
        if count > 1 {
            break;
        }
    }
    (count > 0).then_some(count)
}

/// Mends one place; what stood there, where it is there.
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
            if fields.contains_key(&fix.replacement) || !fields.contains_key(&key) {
                return None;
            }
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
