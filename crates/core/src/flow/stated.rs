//! Labels that a server states for a result, and the violations that follow from them.
//!
//! They come after the plan was checked, and can only take trust away: a server that calls its own result trusted or public
//! changes nothing.

use super::graph::Flags;
use super::report::{Confidentiality, FlowHop, FlowParameter, FlowReport, Integrity, ValueLabels};
use crate::{Code, Value};

impl ValueLabels {
    /// Reads the field `ifc` of the `_meta` of a result, as the MCP server of GitHub writes it: `integrity` is `trusted` or
    /// `untrusted`, and `confidentiality` is `public`, or anything else that names the readers: a text, or a list of texts. A
    /// label that cannot be read counts as untrusted or private.
    pub fn from_meta(meta: &Value) -> Self {
        let Some(labels) = meta.get("ifc").filter(|labels| !labels.is_null()) else {
            return Self::default();
        };
        let is_public = |text: &Value| text.as_text() == Some("public");
        let integrity = labels.get("integrity");
        let confidentiality = labels.get("confidentiality");
        let is_object = labels.as_object().is_some();
        let untrusted = integrity.is_some_and(|text| text.as_text() != Some("trusted"));
        let private = confidentiality.is_some_and(|readers| match readers.as_list() {
            Some(readers) => !readers.iter().any(is_public),
            None => !is_public(readers),
        });
        Self::new(!is_object || untrusted, !is_object || private)
    }
}

impl From<ValueLabels> for Flags {
    fn from(labels: ValueLabels) -> Self {
        Self {
            untrusted: labels.integrity == Integrity::Untrusted,
            private: labels.confidentiality == Confidentiality::Private,
        }
    }
}

impl FlowReport {
    /// Applies the labels that a server has stated for the output of the step at `path`, and returns the parameters that violate
    /// the policy by them.
    pub fn apply_stated(&mut self, path: &str, labels: ValueLabels) -> Vec<FlowParameter> {
        let untrusted = labels.integrity == Integrity::Untrusted;
        let private = labels.confidentiality == Confidentiality::Private;
        if self.output_sources.may_include_step(path) {
            self.exposes |= untrusted;
            self.output = self.output.joined(labels);
        }
        let mut violations = Vec::new();
        for parameter in &mut self.parameters {
            let is_source = parameter.sources.may_include_step(path);
            if is_source {
                parameter.integrity = parameter.integrity.max(labels.integrity);
                parameter.confidentiality = parameter.confidentiality.max(labels.confidentiality);
            }
            if parameter.code.is_some() {
                continue;
            }
            let decides = parameter.deciding.may_include_step(path);
            let (code, label, verb) = match () {
                () if is_source && untrusted && parameter.guard.is_some() => {
                    (Code::UntrustedArgument, "untrusted", "reaches")
                }
                () if is_source && private && parameter.leaves.is_some() => {
                    (Code::PrivateArgument, "private", "leaves through")
                }
                () if decides && untrusted => (Code::UntrustedDecision, "untrusted", "decides"),
                () => continue,
            };
            let hop = |text: String| FlowHop {
                place: String::new(),
                text,
            };
            parameter.code = Some(code);
            parameter.origins = parameter.sources_in(path, code);
            parameter.way = vec![
                hop(format!(
                    "the server states that the result of `{path}` is {label}"
                )),
                hop(format!(
                    "{verb} `{}` of `{}` in `{}`",
                    parameter.parameter, parameter.tool, parameter.step
                )),
            ];
            violations.push(parameter.clone());
        }
        violations
    }
}

impl FlowParameter {
    /// Returns the sources in the output of the step at `path`, of the value or of what decides the call.
    fn sources_in(&self, path: &str, code: Code) -> Vec<super::FlowOrigin> {
        let sources = match code {
            Code::UntrustedDecision => &self.deciding,
            _ => &self.sources,
        };
        let listed = sources.listed().iter();
        listed
            .filter(|origin| *origin.step == *path)
            .cloned()
            .collect()
    }

    /// Returns the message of a violation that became known during the run.
    pub fn stated_violation(&self) -> Option<(Code, String)> {
        let code = self.code?;
        let way: Vec<&str> = self.way.iter().map(|hop| hop.text.as_str()).collect();
        Some((code, way.join("; it ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_labels_only_take_trust_away() {
        let cases = [
            ("{}", false, false),
            (r#"{"ifc": null}"#, false, false),
            (
                r#"{"ifc": {"integrity": "trusted", "confidentiality": ["public"]}}"#,
                false,
                false,
            ),
            (
                r#"{"ifc": {"integrity": "untrusted", "confidentiality": ["public"]}}"#,
                true,
                false,
            ),
            (
                r#"{"ifc": {"integrity": "trusted", "confidentiality": ["ann", "bob"]}}"#,
                false,
                true,
            ),
            (
                r#"{"ifc": {"integrity": "trusted", "confidentiality": []}}"#,
                false,
                true,
            ),
            (r#"{"ifc": {"confidentiality": "private"}}"#, false, true),
            (r#"{"ifc": {"confidentiality": "public"}}"#, false, false),
            (r#"{"ifc": {"integrity": 7}}"#, true, false),
            (r#"{"ifc": "untrusted"}"#, true, true),
        ];
        for (meta, untrusted, private) in cases {
            let labels = ValueLabels::from_meta(&Value::from_json(meta).unwrap());
            assert_eq!(labels.integrity, Integrity::of(untrusted), "{meta}");
            assert_eq!(
                labels.confidentiality,
                Confidentiality::of(private),
                "{meta}"
            );
        }
    }
}
