//! Counts of passed and failed tests, parsed from the output of test runners.

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Tally {
    /// The counts of a stage without tests.
    pub(super) const NONE: Self = Self {
        passed: 0,
        failed: 0,
    };

    /// Sums the lines `test result: ok. N passed; N failed; …`.
    pub(super) fn of_doctests(text: &str) -> Self {
        let mut tally = Self::NONE;
        for line in text.lines().filter(|line| line.starts_with("test result:")) {
            tally.passed += number_before(line, " passed");
            tally.failed += number_before(line, " failed");
        }
        tally
    }

    /// Parses the last lines of a report of the Test Anything Protocol, as Node.js writes them; `None` if it broke off before them.
    pub(super) fn of_tap(report: &str) -> Option<Self> {
        let count = |name: &str| {
            let mut lines = report.lines().rev();
            lines.find_map(|line| {
                line.strip_prefix("# ")?
                    .strip_prefix(name)?
                    .trim()
                    .parse()
                    .ok()
            })
        };
        let failed: usize = count("fail ")?;
        let cancelled: usize = count("cancelled ")?;
        let skipped: usize = count("skipped ")?;
        Some(Self {
            passed: count("pass ")?,
            // A test that did not run has not passed.
            failed: failed + cancelled + skipped,
        })
    }

    /// Parses the element of a JUnit report that counts: `testsuites` in those of nextest, `testsuite` in those of pytest.
    pub(super) fn of_junit(report: &str, element: &str) -> Self {
        let all = report
            .split_once(&format!("<{element} "))
            .and_then(|(_, rest)| rest.split_once('>'))
            .map_or("", |(attributes, _)| attributes);
        // A test that did not run has not passed.
        let failed = ["failures", "errors", "skipped"].map(|name| attribute(all, name));
        let failed: usize = failed.into_iter().sum();
        Self {
            passed: attribute(all, "tests").saturating_sub(failed),
            failed,
        }
    }
}

fn number_before(line: &str, word: &str) -> usize {
    line.split_once(word)
        .and_then(|(before, _)| before.rsplit(' ').next())
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

fn attribute(element: &str, name: &str) -> usize {
    element
        .split_once(&format!("{name}=\""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .and_then(|(digits, _)| digits.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctests_are_added_up() {
        let text = "running 2 tests\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n\
            test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured\n";
        let tally = Tally::of_doctests(text);
        assert_eq!((tally.passed, tally.failed), (5, 1));
        assert_eq!(Tally::of_doctests(""), Tally::NONE);
    }

    #[test]
    fn a_report_is_read() {
        let report = "<?xml version=\"1.0\"?>\n\
            <testsuites name=\"run\" tests=\"12\" failures=\"2\" errors=\"1\" uuid=\"x\">\n\
            <testsuite name=\"a\" tests=\"99\" failures=\"0\"/></testsuites>";
        let tally = Tally::of_junit(report, "testsuites");
        assert_eq!((tally.passed, tally.failed), (9, 3));
        assert_eq!(Tally::of_junit("no report", "testsuites"), Tally::NONE);
        let report = "<testsuites name=\"pytest tests\"><testsuite name=\"pytest\" errors=\"0\" \
            failures=\"1\" skipped=\"1\" tests=\"9\" time=\"2.1\"><testcase/></testsuite></testsuites>";
        let tally = Tally::of_junit(report, "testsuite");
        assert_eq!((tally.passed, tally.failed), (7, 2));
    }

    #[test]
    fn a_report_of_node() {
        let report = "ok 1 - a\n1..3\n# tests 3\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n";
        assert_eq!(
            Tally::of_tap(report),
            Some(Tally {
                passed: 1,
                failed: 2
            })
        );
        assert_eq!(Tally::of_tap("ok 1 - a\n"), None);
    }
}
