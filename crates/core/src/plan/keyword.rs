//! The values that a plan states as words. Dialects read and print the words of this table, and a value without one does not compile.

use std::fmt;

/// A value that a plan states as one word.
pub trait Keyword: Copy + PartialEq + 'static {
    /// All values, the default first if there is one.
    const ALL: &'static [Self];

    /// Returns the word in plans.
    fn as_str(self) -> &'static str;

    /// The value with this word.
    fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|value| value.as_str() == word)
    }
}

macro_rules! keywords {
    ($($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum $name {
                $($(#[$variant_meta])* $variant,)*
            }

            impl Keyword for $name {
                const ALL: &'static [Self] = &[$(Self::$variant,)*];

                fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$variant => $word,)*
                    }
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.as_str())
                }
            }
        )*
    };
}

keywords! {
    /// The meaning of the step order.
    #[derive(Default)]
    Ordering {
        /// The order means nothing: a step starts as soon as its dependencies are done.
        #[default]
        Dataflow = "dataflow",
        /// The steps run one after the other, in the listed order.
        Listed = "listed",
    }

    /// The effect of a failure on steps that do not depend on it, and on those that are done.
    #[derive(Default)]
    OnFailure {
        /// Independent steps continue.
        #[default]
        KeepGoing = "keep_going",
        /// No further step starts.
        Stop = "stop",
        /// No further step starts, and another run undoes what the run did.
        Revert = "revert",
    }

    /// The parameters that may receive references.
    #[derive(Default)]
    Sharing {
        /// All parameters.
        #[default]
        Open = "open",
        /// Only parameters that the tool marks with `x-sharable`.
        MarkedOnly = "marked",
    }

    /// The intended use of a plan.
    #[derive(Default)]
    Mode {
        /// The plan is to be run.
        #[default]
        Run = "run",
        /// The plan is to be checked and shown, but not run.
        Show = "show",
    }

    /// The method that combines an output with the current content of a slot.
    #[derive(Default)]
    Method {
        /// Replaces the content.
        #[default]
        Set = "set",
        /// Merges objects at every depth.
        Merge = "merge",
        /// Merges objects at the first level only.
        Assign = "assign",
        /// Appends the output to a list as one item.
        Push = "push",
        /// Appends the output's items to a list.
        Concat = "concat",
    }

    /// The kind of a slot. Steps write every kind except inputs.
    SlotKind {
        /// Values given to the plan; read-only.
        Inputs = "inputs",
        /// Variables: set by a caller, or by steps that name their results.
        Vars = "vars",
        /// Working state.
        State = "state",
        /// Data stored apart from the state.
        Data = "data",
    }
}
