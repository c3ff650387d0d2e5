//! The names and ids that texts carry across all crates: steps, servers, tools, and digests of plans.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Defines a newtype of a shared text, so that it cannot be confused with other texts. Its serialised form is the text.
macro_rules! text_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates it from its text.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Returns its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns its text, shared.
            pub fn text(&self) -> &Arc<str> {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text)
            }
        }

        impl From<$name> for Arc<str> {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                *self.0 == *text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                *self.0 == **text
            }
        }
    };
}

text_type! {
    /// The id of a step: any non-blank text, unique within its plan.
    StepId
}

text_type! {
    /// The name of a server, as it is configured. Empty for tools that belong to no server.
    ServerName
}

text_type! {
    /// The qualified name of a tool, `server.tool`. The name of a tool on its server is a plain text.
    ToolName
}

text_type! {
    /// The digest of a plan's meaning, SHA-256 in hexadecimal digits.
    PlanDigest
}

text_type! {
    /// The digest that a person's approval of a whole plan is bound to. Besides the plan's meaning it covers the inputs
    /// and the tools.
    PlanConsent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_text_in_json() {
        let name: ServerName = serde_json::from_str("\"files\"").unwrap();
        assert_eq!(name, "files");
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"files\"");
        assert_eq!(format!("{name:>7}"), "  files");
    }
}
