//! Objects inside of texts, where they arrive as JSON.

use super::ArgumentPass;
use crate::check::passes::positional::ArgumentReceiver;
use crate::check::reporter::Reporter;
use crate::plan::TextPart;
use crate::{Code, PointerSegment, Severity};

impl ArgumentPass<'_> {
    /// Warns of each object in a text whose only field is text: alone it would arrive as this text.
    pub(super) fn report_objects_in_text(
        &self,
        receiver: &ArgumentReceiver<'_>,
        parts: &[TextPart],
        path: &[PointerSegment],
        reporter: &mut Reporter<'_>,
    ) {
        for part in parts {
            let TextPart::Reference(reference) = part else {
                continue;
            };
            let found = self.types.reference_type(reference, Some(self.index));
            let (Some(read), Some(field)) = (reference.as_read(), found.only_text_field()) else {
                continue;
            };
            if reporter.count_if_full(Severity::Warning) {
                return;
            }
            // A run inserts the text of a whole answer if it arrived beside the object.
            let unless = if read.path.is_empty() {
                " unless its server also sends the text"
            } else {
                ""
            };
            let message = format!(
                "the argument {} of {} is text, but `{}` gives {found}, which is inserted as JSON{unless}",
                receiver.named(path),
                receiver.name,
                reference.shown()
            );
            let text = &*reference.text;
            let meant = match text.strip_suffix('}') {
                Some(inside) => format!("{inside}.{field}}}"),
                None => format!("{text}.{field}"),
            };
            let diagnostic = reporter.warning(Code::WrongReferenceType, reference.place, message);
            reporter.push(diagnostic.help(format!("write `{meant}` for the text in it")));
        }
    }
}
