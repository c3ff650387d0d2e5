//! Which steps an answer says that it rests on: `[step]` in its words.

use std::collections::BTreeSet;

/// Those of `steps` that `text` cites, in their order.
pub fn cited<'s>(text: &str, steps: impl IntoIterator<Item = &'s str>) -> Vec<&'s str> {
    let marks: BTreeSet<&str> = text
        .split('[')
        .skip(1)
        .filter_map(|rest| rest.split_once(']'))
        .flat_map(|(inside, _)| inside.split(','))
        .map(|mark| mark.trim().trim_matches('`'))
        .collect();
    // A step of a loop or an inner plan may be cited by what it belongs to.
    steps
        .into_iter()
        .filter(|step| marks.contains(step))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::cited;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(cited(text, ["a", "b-2", "c"]), expected, "{text}");
    }

    #[test]
    fn marks_are_found() {
        check("", &[]);
        check("Five are red [a].", &["a"]);
        check(
            "Five [c, a] and [`b-2`], see [d] and [1](link).",
            &["a", "b-2", "c"],
        );
        check("An [unclosed a", &[]);
    }
}
