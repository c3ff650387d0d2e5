//! Addresses: the places of steps in a run.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::StepId;

/// The place of a step in a run: the step with its instance, item and round, and the steps whose plans contain it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The step of the enclosing plan that runs this step's plan, if this is a step of an inner plan.
    pub inside: Option<Arc<Address>>,
    /// The instance, if the plan runs for several.
    pub instance: Option<Arc<str>>,
    /// The step.
    pub step: StepId,
    /// The item of its `for_each`, from 0.
    pub item: Option<u64>,
    /// The round of its `repeat`, from 0.
    pub round: Option<u64>,
}

impl Address {
    /// The number of plans that enclose this step's plan.
    pub fn depth(&self) -> usize {
        self.inside.as_ref().map_or(0, |outer| outer.depth() + 1)
    }
}

impl Address {
    /// The step of the run's own plan that contains this one, or is this one.
    pub fn outermost(&self) -> &StepId {
        let mut at = self;
        while let Some(outer) = &at.inside {
            at = outer;
        }
        &at.step
    }
}

impl Address {
    /// The steps on the way to this one, as their plans write them, with slashes between them: without instances, items
    /// and rounds.
    pub fn steps(&self) -> String {
        match &self.inside {
            Some(outer) => format!("{}/{}", outer.steps(), self.step),
            None => self.step.to_string(),
        }
    }

    /// Creates the address of a whole step of the run's own plan.
    pub fn of_step(step: StepId) -> Self {
        Self {
            inside: None,
            instance: None,
            step,
            item: None,
            round: None,
        }
    }

    /// The address with the ids as plans write them. It is ambiguous: a step `a/b` and the step `b` of a plan inside
    /// the step `a` have the same text.
    fn unescaped(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write(&mut text, &|name: &str| Cow::Borrowed(name));
        text
    }

    /// Finds the address that a person or a model names. An address whose [`Display`](fmt::Display) form is `text`
    /// comes first; if there is none, the only one whose unescaped form is `text`.
    ///
    /// # Errors
    ///
    /// The candidates, if there are several.
    pub fn find<'a>(
        text: &str,
        known: impl IntoIterator<Item = &'a Self>,
    ) -> Result<Option<&'a Self>, Vec<&'a Self>> {
        let mut similar = Vec::new();
        for address in known {
            if address.to_string() == text {
                return Ok(Some(address));
            }
            // People write ids as the plan does, without escapes.
            if address.unescaped() == text && !similar.contains(&address) {
                similar.push(address);
            }
        }
        match similar.as_slice() {
            [] => Ok(None),
            [address] => Ok(Some(address)),
            _ => Err(similar),
        }
    }

    /// The address appended to `name` and a slash.
    pub(crate) fn key_below(&self, name: &str) -> String {
        let mut key = String::with_capacity(name.len() + 1 + self.step.as_str().len());
        key.push_str(name);
        key.push('/');
        // Writing to a text cannot fail.
        let _ = self.write(&mut key, &escaped);
        key
    }

    fn write(&self, to: &mut impl fmt::Write, name: &impl Fn(&str) -> Cow<'_, str>) -> fmt::Result {
        if let Some(outer) = &self.inside {
            outer.write(to, name)?;
            to.write_char('/')?;
        }
        to.write_str(&name(self.step.as_str()))?;
        if let Some(instance) = &self.instance {
            write!(to, "@{}", name(instance))?;
        }
        if let Some(item) = self.item {
            write!(to, "[{item}]")?;
        }
        if let Some(round) = self.round {
            write!(to, "#{round}")?;
        }
        Ok(())
    }
}

/// Percent-encodes the characters that separate parts of an address.
fn escaped(name: &str) -> Cow<'_, str> {
    let is_sign = |character: char| matches!(character, '%' | '/' | '@' | '[' | ']' | '#');
    if !name.contains(is_sign) {
        return Cow::Borrowed(name);
    }
    let mut escaped = String::with_capacity(name.len() + 2);
    for character in name.chars() {
        if is_sign(character) {
            // Writing to a text cannot fail.
            let _ = write!(escaped, "%{:02X}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Formats the address as a text that no other address of any plan has: in names, the characters that separate its
/// parts (`/`, `@`, `[`, `]`, `#`) and `%` are percent-encoded.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &escaped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: &str, item: Option<u64>, round: Option<u64>) -> Address {
        Address {
            item,
            round,
            ..Address::of_step(StepId::new(step))
        }
    }

    fn within(outer: &str, step: &str) -> Address {
        Address {
            inside: Some(Arc::new(at(outer, None, None))),
            ..at(step, None, None)
        }
    }

    #[test]
    fn no_two_addresses_have_the_same_text() {
        let mut of_instance = at("a", None, None);
        of_instance.instance = Some(Arc::from("x"));
        let mut texts: Vec<String> = [
            at("a", Some(0), None),
            at("a[0]", None, None),
            at("a", None, Some(2)),
            at("a#2", None, None),
            at("a%232", None, None),
            at("a/b", None, None),
            within("a", "b"),
            at("a@x", None, None),
            of_instance,
        ]
        .iter()
        .map(ToString::to_string)
        .collect();
        assert_eq!(texts[0], "a[0]");
        assert_eq!(texts[1], "a%5B0%5D");
        assert_eq!(texts[4], "a%25232");
        let count = texts.len();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), count);
    }

    #[test]
    fn a_text_names_one_address_or_none() {
        let step = at("sub/w", None, None);
        let inner = within("sub", "w");
        let both = [&step, &inner];
        assert_eq!(Address::find("sub/w", both), Ok(Some(&inner)));
        assert_eq!(Address::find("sub%2Fw", both), Ok(Some(&step)));
        assert_eq!(Address::find("sub/w", [&step]), Ok(Some(&step)));
        assert_eq!(Address::find("sub/x", both), Ok(None));
        let (one, other) = (within("a/b", "c"), within("a", "b/c"));
        let found = Address::find("a/b/c", [&one, &other, &one]);
        assert_eq!(found, Err(vec![&one, &other]));
    }
}
