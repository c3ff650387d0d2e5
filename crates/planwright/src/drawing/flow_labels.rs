//! The labels of values along edges, and violations of the flow policy, as pictures mark them.

use planwright_core::Code;
use planwright_core::flow::{Confidentiality, FlowParameter, Integrity, ValueLabels};

/// Returns the labels that a picture marks; `None` for trusted and public values.
pub(super) fn mark(labels: ValueLabels) -> Option<&'static str> {
    match (labels.integrity, labels.confidentiality) {
        (Integrity::Trusted, Confidentiality::Public) => None,
        (Integrity::Trusted, Confidentiality::Private) => Some("private"),
        (Integrity::Untrusted, Confidentiality::Public) => Some("untrusted"),
        (Integrity::Untrusted, Confidentiality::Private) => Some("untrusted, private"),
    }
}

/// A violation of the flow policy by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) code: Code,
    /// The path of the parameter; empty for all arguments together.
    pub(super) parameter: String,
}

impl Violation {
    pub(super) fn of(parameter: &FlowParameter) -> Option<Self> {
        Some(Self {
            code: parameter.code?,
            parameter: parameter.parameter.to_string(),
        })
    }

    /// Returns the violation in a few words.
    pub(super) fn note(&self) -> String {
        let what = match self.parameter.as_str() {
            "" => "arguments",
            parameter => parameter,
        };
        match self.code {
            Code::UntrustedDecision => format!("decided by an untrusted value ({})", self.code),
            Code::PrivateArgument => format!("{what}: private ({})", self.code),
            _ => format!("{what}: untrusted ({})", self.code),
        }
    }
}
