//! The table of all diagnostic codes. Each has a page in `docs/codes/` and a golden case.

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal;)*) => {
        /// The kind of a diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// All codes, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// Returns the code as shown to users, such as `PW0201`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Returns a short title.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }
        }
    };
}

codes! {
    NotJson = "PW0001", "the text is not JSON";
    TooLarge = "PW0002", "the text is too large";
    TooDeep = "PW0003", "the text is nested too deeply";
    DuplicateKey = "PW0004", "an object has a key twice";
    LoneSurrogate = "PW0005", "an escape is half of a surrogate pair";
    NumberOutOfRange = "PW0006", "a number cannot be stored as it is written";
    NotUtf8 = "PW0007", "the text is not UTF-8";

    UnknownDialect = "PW0101", "the text matches no dialect";
    AmbiguousDialect = "PW0102", "the text matches several dialects";
    MissingField = "PW0103", "a field is missing";
    WrongFieldType = "PW0104", "a field has the wrong type";
    UnknownField = "PW0105", "a field is not known";
    EmptyPlan = "PW0106", "the plan has no steps";
    ConflictingFields = "PW0107", "fields exclude each other";
    InvalidFieldValue = "PW0108", "a field has a value that is not allowed";
    InvalidId = "PW0109", "an id is blank or reserved";
    MalformedLine = "PW0110", "a line cannot be read";
    ReadAs = "PW0111", "the text was read with an assumption";

    UnknownTool = "PW0201", "a tool is not known";
    AmbiguousTool = "PW0202", "several servers offer a tool of that name";
    DuplicateStep = "PW0203", "two steps have the same id";
    UnknownStep = "PW0204", "a step is not known";
    UnknownInput = "PW0205", "an input or variable is not known";
    MissingInput = "PW0206", "a required input is missing";
    UnknownPlan = "PW0207", "a plan is not known";
    RecursivePlan = "PW0208", "a plan runs itself";
    NestedPlanTool = "PW0209", "a plan calls the plan tool";

    Cycle = "PW0301", "steps wait for each other in a cycle";
    LaterStep = "PW0302", "a reference points to a later step";
    UnorderedCalls = "PW0303", "calls that share data have no order";
    SkippedWithOthers = "PW0304", "a step is skipped if another one fails";

    MalformedReference = "PW0401", "a reference is malformed";
    ImpossiblePath = "PW0402", "a path leads nowhere";
    MixedOperators = "PW0403", "a reference mixes operators";
    OutOfScope = "PW0404", "a name is not available here";
    InvalidExpression = "PW0405", "an expression is malformed";
    UnlistedPath = "PW0406", "a path leads to a field that the schema does not list";
    UnwrittenSlot = "PW0407", "a slot is read but never written";
    UnseenPath = "PW0408", "a path reads a field that no answer of the tool had";

    InvalidLiteral = "PW0501", "a value does not fit the schema";
    MissingArgument = "PW0502", "a required argument is missing";
    UnknownArgument = "PW0503", "an argument is not known";
    WrongReferenceType = "PW0504", "a reference has the wrong type";
    InvalidSchema = "PW0505", "a schema is malformed";
    InvalidInputValue = "PW0506", "an input value does not fit its schema";
    UnnamedArgument = "PW0507", "an argument has no name";
    UnexpectedOutput = "PW0508", "an output does not fit its schema";
    WrongOperandType = "PW0509", "an operation does not apply to its operands";

    NotSharable = "PW0601", "a parameter may not receive references";
    DeniedTool = "PW0602", "the policy denies a tool";
    MisplacedExternalValue = "PW0603", "an external value is used where it is not allowed";
    UnreleasedValue = "PW0604", "a tool may not receive an external value";

    TooManySteps = "PW0701", "the plan has too many steps";
    ExpressionTooLong = "PW0702", "an expression is too long";
    BoundTooLarge = "PW0703", "a bound is too large";
    PlansTooDeep = "PW0704", "plans run plans too deeply";

    UnusedInput = "PW0801", "an input is never read";
    CompetingWriters = "PW0802", "two steps write the same slot";

    Unprintable = "PW0901", "a dialect cannot express something";

    UntrustedArgument = "PW1001", "an untrusted value reaches a guarded parameter";
    PrivateArgument = "PW1002", "a private value reaches a parameter through which values leave";
    UntrustedDecision = "PW1003", "an untrusted value decides a guarded call";
    UnusedFlowRule = "PW1004", "a flow rule matches nothing";
}

impl Code {
    /// Returns true if the code is about the flow policy. Such diagnostics are for the person whose policy it is, and not for
    /// a model.
    pub fn is_flow(self) -> bool {
        self.is_flow_violation() || self == Self::UnusedFlowRule
    }

    /// Returns true if the code is about a value that the flow policy does not let through.
    pub fn is_flow_violation(self) -> bool {
        matches!(
            self,
            Self::UntrustedArgument | Self::PrivateArgument | Self::UntrustedDecision
        )
    }
}
