//! Names of arguments: unlisted ones, and those that stand for others.

use std::sync::Arc;

use super::lists::list_of_arguments;
use super::{ArgumentPass, NamedArguments};
use crate::check::passes::meant::{is_related, lists_none};
use crate::check::passes::positional::{ArgumentReceiver, properties};
use crate::check::reporter::Reporter;
use crate::schema::{Additional, Type};
use crate::{Code, Severity};

/// The maximum number of arguments that are compared with missing ones.
const MAX_RENAMED: usize = 16;

impl ArgumentPass<'_> {
    /// Warns of arguments that an open schema does not list. Servers seldom close their schemas, and many ignore
    /// unknown arguments.
    pub(super) fn warn_unlisted(
        &self,
        receiver: &ArgumentReceiver<'_>,
        reporter: &mut Reporter<'_>,
    ) {
        let shape = receiver.schema.structure();
        let lists = |member: &Type| match member {
            Type::Object(object) => {
                object.additional == Additional::Unspecified && !object.properties.is_empty()
            }
            Type::Any
            | Type::Never
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::Text
            | Type::Literal(_)
            | Type::List(_)
            | Type::Union(_) => false,
        };
        let members = shape.members();
        let takes_none = lists_none(receiver.schema);
        // If one alternative accepts any field, an unlisted one is not a reason to warn.
        if !takes_none && (members.is_empty() || !members.iter().all(lists)) {
            return;
        }
        // The missing list is reported, with all of them as its item.
        if list_of_arguments(receiver, &self.step.args).is_some() {
            return;
        }
        let known = properties(shape);
        let Some(fields) = self.fields(reporter) else {
            return;
        };
        for (field, node) in fields {
            let is_renamed = |(written, _): &(Arc<str>, Arc<str>)| written == field;
            if known.contains(field)
                || self.renamed(receiver, reporter).iter().any(is_renamed)
                || reporter.count_if_full(Severity::Warning)
            {
                continue;
            }
            let message = format!("{} lists no parameter `{field}`", receiver.name);
            // Without the values, the text that they are for is another one.
            let help = self
                .bound_values(field, node, reporter)
                .or_else(|| self.row_limit(field, node, reporter));
            if let Some(help) = help {
                let diagnostic = reporter.error(Code::UnknownArgument, node.place, message);
                reporter.push(diagnostic.help(help));
                continue;
            }
            let mut diagnostic = reporter.warning(Code::UnknownArgument, node.place, message);
            diagnostic.help = self
                .related_advice(field, &known, reporter)
                .or_else(|| reporter.advice(field, "parameters", known.iter().map(|name| &**name)));
            if takes_none {
                diagnostic.help = Some("it takes no parameters".to_owned());
            }
            diagnostic.help = diagnostic.help.map(|help| {
                if help.starts_with("did you mean") {
                    help
                } else {
                    format!("leave it out, the tool may ignore it; {help}")
                }
            });
            reporter.push(match self.unambiguous_parameter(field, &known, reporter) {
                Some(name) => diagnostic.rename(name),
                None => diagnostic,
            });
        }
    }

    /// Returns the parameter that `written` certainly means: the only near one, if it is not given yet.
    pub(super) fn unambiguous_parameter<'n>(
        &self,
        written: &str,
        known: &'n [Arc<str>],
        reporter: &Reporter<'_>,
    ) -> Option<&'n str> {
        let near = reporter.unambiguous_nearest(written, known.iter().map(|name| &**name))?;
        let has_near = |fields: &NamedArguments| fields.contains_key(near);
        (!self.fields(reporter).is_some_and(has_near)).then_some(near)
    }

    /// The advice to take the only parameter that `written` may mean, if it is not near by its letters and not given yet.
    fn related_advice(
        &self,
        written: &str,
        known: &[Arc<str>],
        reporter: &Reporter<'_>,
    ) -> Option<String> {
        let given = self.fields(reporter)?;
        if reporter
            .nearest(written, known.iter().map(|name| &**name))
            .is_some()
        {
            return None;
        }
        let mut related = known
            .iter()
            .filter(|name| !given.contains_key(*name) && is_related(written, name));
        match (related.next(), related.next()) {
            (Some(only), None) => Some(format!("did you mean `{only}`?")),
            _ => None,
        }
    }

    /// The unknown arguments that certainly stand for missing ones, by their names.
    pub(super) fn renamed(
        &self,
        receiver: &ArgumentReceiver<'_>,
        reporter: &Reporter<'_>,
    ) -> &[(Arc<str>, Arc<str>)] {
        self.renamed.get_or_init(|| {
            let shape = receiver.schema.structure();
            let (Type::Object(object), None) = (shape, &receiver.argument) else {
                return Vec::new();
            };
            let Some(fields) = self.fields(reporter) else {
                return Vec::new();
            };
            if list_of_arguments(receiver, &self.step.args).is_some() {
                return Vec::new();
            }
            let unknown: Vec<&Arc<str>> = fields
                .keys()
                .filter(|name| !object.properties.contains_key(*name))
                .take(MAX_RENAMED)
                .collect();
            let missing: Vec<&Arc<str>> = object
                .properties
                .iter()
                .filter(|(name, property)| property.required && !fields.contains_key(*name))
                .map(|(name, _)| name)
                .take(MAX_RENAMED)
                .collect();
            let is_near = |written: &Arc<str>, meant: &Arc<str>| {
                is_related(written, meant) || reporter.nearest(written, [&**meant]).is_some()
            };
            let mut found = Vec::new();
            for meant in &missing {
                let mut near = unknown.iter().filter(|written| is_near(written, meant));
                if let (Some(written), None) = (near.next(), near.next())
                    && missing
                        .iter()
                        .filter(|other| is_near(written, other))
                        .count()
                        == 1
                {
                    found.push((Arc::clone(written), Arc::clone(meant)));
                }
            }
            found
        })
    }
}
