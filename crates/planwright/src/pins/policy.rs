//! The policy for tools that changed since they were pinned.

/// The policy for tools that changed since they were pinned. A later variant is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinPolicy {
    /// Tools are not pinned.
    Off,
    /// A change is shown.
    Warn,
    /// A change is shown, and the tool asks before each call until a person accepts it.
    Ask,
}

impl PinPolicy {
    /// The word for it in `planwright.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Ask => "ask",
        }
    }
}

impl TryFrom<String> for PinPolicy {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let all = [Self::Off, Self::Warn, Self::Ask];
        let found = all.into_iter().find(|policy| policy.as_str() == word);
        found.ok_or_else(|| {
            format!("`{word}` is no way to pin tools (write `ask`, `warn` or `off`)")
        })
    }
}
