//! Numbers in place of texts: a version or a clock time that was written without quotes.

use super::ArgumentPass;
use crate::check::passes::positional::ArgumentReceiver;
use crate::{Diagnostic, PointerSegment, Value};

/// The forms of clock times in descriptions, and what follows the minutes in them.
const CLOCKS: [(&str, &str); 2] = [("HH:MM:SS", ":00"), ("HH:MM", "")];

impl ArgumentPass<'_> {
    /// Spells a number as it is `written`: as a text, its digits count. A clock time gets the form that the tool describes.
    pub(super) fn with_written_number(
        &self,
        mut diagnostic: Diagnostic,
        (receiver, path): (&ArgumentReceiver<'_>, &[PointerSegment]),
        (value, written): (&Value, &str),
    ) -> Diagnostic {
        let json = value.to_json();
        let is_written = || Value::from_json(written).is_ok_and(|number| number == *value);
        if !matches!(value, Value::Number(_)) || !is_written() {
            return diagnostic;
        }
        let (canonical, spelt) = (format!("`{json}`"), format!("`{written}`"));
        diagnostic.message = diagnostic.message.replacen(&canonical, &spelt, 1);
        let quoted = Value::text(written).to_json();
        let in_text = format!("\"{json}\"");
        if let Some(help) = &diagnostic.help
            && help.contains(&in_text)
        {
            let help = help.replace(&in_text, &quoted);
            diagnostic.help = Some(match self.clock_time(receiver, path, written) {
                Some((time, form)) => format!(
                    "for the clock time, write `\"{time}\"`, as its description says `{form}`; for the text as it stands, `{quoted}`"
                ),
                None => help,
            });
        }
        diagnostic
    }

    /// The number `written`, such as `14.30`, as a clock time in the form of the description, with that form.
    fn clock_time(
        &self,
        receiver: &ArgumentReceiver<'_>,
        path: &[PointerSegment],
        written: &str,
    ) -> Option<(String, &'static str)> {
        let mut schema = Some(receiver.schema.as_value());
        for segment in path {
            schema = schema.and_then(|schema| match segment {
                PointerSegment::Root => Some(schema),
                PointerSegment::Key(key) => schema.get("properties")?.get(key),
                PointerSegment::Index(_) => schema.get("items"),
            });
        }
        let own = schema.and_then(|schema| schema.get("description")?.as_text());
        let tool = self.resolved.tool(self.index);
        let of_tool = tool.and_then(|tool| tool.description.as_deref());
        let shows = |form: &str| {
            let mut texts = [own, of_tool].into_iter().flatten();
            texts.any(|text| text.to_ascii_uppercase().contains(form))
        };
        let (form, rest) = CLOCKS.into_iter().find(|(form, _)| shows(form))?;
        let (hour, minute) = match written.split_once('.') {
            Some(parts) => parts,
            None if written.len() == 4 => written.split_at_checked(2)?,
            None => (written, "00"),
        };
        let is_within = |digits: &str, limit: u8| digits.parse().is_ok_and(|part: u8| part < limit);
        let is_time = is_within(hour, 24) && is_within(minute, 60) && minute.len() == 2;
        is_time.then(|| (format!("{hour:0>2}:{minute}{rest}"), form))
    }
}
