//! Texts with several arguments, as in `write_file[/notes.txt, #E2]` of a dialect whose calls have a single input.

use super::ArgumentPass;
use crate::Value;
use crate::check::passes::positional::{ArgumentReceiver, required};
use crate::check::reporter::Reporter;

/// The maximum length of arguments in advice, in bytes.
const MAX_SHOWN: usize = 500;

impl ArgumentPass<'_> {
    /// The advice to write the only argument as an object, if it is a text with as many parts as there are required parameters.
    pub(super) fn joined_arguments(
        &self,
        receiver: &ArgumentReceiver<'_>,
        reporter: &Reporter<'_>,
    ) -> Option<String> {
        let fields = self.fields(reporter)?;
        let required = required(receiver.schema);
        let (given, node) = fields.first().filter(|_| fields.len() == 1)?;
        (required.first() == Some(given)).then_some(())?;
        let text = node.text_with(|reference| &*reference.text)?;
        let parts: Vec<&str> = text
            .splitn(required.len(), [',', '|', ';'])
            .map(str::trim)
            .collect();
        let is_complete =
            parts.len() == required.len() && parts.iter().all(|part| !part.is_empty());
        (parts.len() > 1 && is_complete).then_some(())?;
        let named = required.iter().zip(parts).map(|(name, part)| {
            // `content=#E2`
            let part = part
                .strip_prefix(&**name)
                .and_then(|rest| {
                    rest.trim_start()
                        .strip_prefix(['=', ':'])
                        .map(str::trim_start)
                })
                .unwrap_or(part);
            let bare = part
                .strip_prefix('"')
                .and_then(|part| part.strip_suffix('"'));
            (name.clone(), Value::text(bare.unwrap_or(part)))
        });
        let json = Value::object(named).to_json();
        (json.len() <= MAX_SHOWN && !json.contains('`')).then(|| {
            format!("the text is one argument, `{given}`: write both as `{json}`")
                .replace("both", if required.len() == 2 { "both" } else { "all" })
        })
    }
}
