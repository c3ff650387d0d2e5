//! Findings: what the traces leave open, and what was decided in spite of alternatives.

use std::sync::Arc;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A value occurs in several places of earlier answers, so it is an input.
    AmbiguousReference,
    /// A value occurs in several places of earlier answers, which may agree by chance. The plan fails if they differ.
    AgreeingReferences,
    /// A value occurs in an earlier answer only at a position of a list, so it is an input.
    PositionalReference,
    /// A value differs between the traces and occurs neither in a request nor in an earlier answer, so it is an input.
    UnknownOrigin,
    /// All calls of the plan, or of a step, are those of a single trace, which does not tell constants from inputs.
    SingleTrace,
    /// A value of a single trace, or an identifier that is the same in all traces, may be an input.
    PossibleInput,
    /// A value of a single trace is read from an earlier answer and may as well be a constant.
    PossibleConstant,
    /// An argument is present in some traces only.
    OptionalArgument,
    /// A call is present in some traces only, and no single condition agrees with all of them.
    OptionalCall,
    /// A call depends on a condition that few values prove.
    PossibleCondition,
    /// A call depends on a limit that all requests say, which the traces do not prove.
    PossibleLimit,
    /// Repeated calls fit all items of a list, which all have a field that a request names: the request may mean only such items.
    PossibleSelection,
    /// Repeated calls fit the items of several lists.
    AmbiguousLoop,
    /// Calls are repeated over values that no earlier answer lists, so the list is an input.
    InputLoop,
    /// A call failed and was repeated with success.
    RetriedCall,
    /// A call failed and was not repeated.
    FailedCall,
    /// A trace has no answer to a call.
    MissingAnswer,
    /// The session has calls that the trace does not have.
    LeftOutCall,
    /// A value was redacted in the trace, so it is an input.
    RedactedValue,
    /// A constant may come from untrusted data, since its session had read some.
    UntrustedConstant,
}

impl FindingKind {
    /// Returns the name of the kind, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AmbiguousReference => "ambiguous_reference",
            Self::AgreeingReferences => "agreeing_references",
            Self::PositionalReference => "positional_reference",
            Self::UnknownOrigin => "unknown_origin",
            Self::SingleTrace => "single_trace",
            Self::PossibleInput => "possible_input",
            Self::PossibleConstant => "possible_constant",
            Self::OptionalArgument => "optional_argument",
            Self::OptionalCall => "optional_call",
            Self::PossibleCondition => "possible_condition",
            Self::PossibleLimit => "possible_limit",
            Self::PossibleSelection => "possible_selection",
            Self::AmbiguousLoop => "ambiguous_loop",
            Self::InputLoop => "input_loop",
            Self::RetriedCall => "retried_call",
            Self::FailedCall => "failed_call",
            Self::MissingAnswer => "missing_answer",
            Self::LeftOutCall => "left_out_call",
            Self::RedactedValue => "redacted_value",
            Self::UntrustedConstant => "untrusted_constant",
        }
    }

    /// Returns true if the meaning of the plan depends on a decision that the traces leave open. The other kinds are decided safely:
    /// the value is an input, or the call had no effect.
    pub fn is_undecided(self) -> bool {
        match self {
            Self::SingleTrace
            | Self::PossibleInput
            | Self::PossibleConstant
            | Self::OptionalArgument
            | Self::OptionalCall
            | Self::AmbiguousLoop
            | Self::FailedCall
            | Self::MissingAnswer
            | Self::LeftOutCall
            | Self::AgreeingReferences
            | Self::PossibleCondition
            | Self::PossibleLimit
            | Self::PossibleSelection
            | Self::RedactedValue
            | Self::UntrustedConstant => true,
            Self::AmbiguousReference
            | Self::PositionalReference
            | Self::UnknownOrigin
            | Self::InputLoop
            | Self::RetriedCall => false,
        }
    }
}

/// A finding about a learned plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// True if the meaning of the plan depends on it.
    pub undecided: bool,
    /// The step, if the plan has one for it.
    pub step: Option<Arc<str>>,
    /// The argument.
    pub argument: Option<Arc<str>>,
    /// The fact, as one clause.
    pub message: String,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            undecided: kind.is_undecided(),
            step: None,
            argument: None,
            message: message.into(),
        }
    }

    pub(super) fn at(self, step: &str, argument: Option<&str>) -> Self {
        Self {
            step: Some(step.into()),
            argument: argument.map(Into::into),
            ..self
        }
    }
}
