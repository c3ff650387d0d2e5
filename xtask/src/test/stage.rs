//! Outcomes of the stages, printed as a table with a last line that counts.

use std::fmt;
use std::time::Duration;

use super::tally::Tally;

/// The outcome of one stage.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) time: Duration,
    pub(super) result: Result<Tally, String>,
}

/// The outcomes of all stages so far.
#[derive(Debug, Default)]
pub(super) struct Summary(Vec<Outcome>);

impl Summary {
    /// Adds a stage that has ended.
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.0.push(outcome);
    }

    /// Returns true if all stages passed.
    pub(super) fn is_success(&self) -> bool {
        self.0.iter().all(Outcome::is_success)
    }

    fn total(&self) -> Tally {
        let mut total = Tally::NONE;
        for outcome in &self.0 {
            match &outcome.result {
                Ok(tally) => {
                    total.passed += tally.passed;
                    total.failed += tally.failed;
                }
                Err(_) => total.failed += 1,
            }
        }
        total
    }
}

impl Outcome {
    fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(|tally| tally.failed == 0)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in &self.0 {
            let verdict = if outcome.is_success() { "ok" } else { "FAILED" };
            let seconds = outcome.time.as_secs_f64();
            writeln!(f, "{:<12}{verdict:<8}{seconds:>7.1} s", outcome.name)?;
        }
        let Tally { passed, failed } = self.total();
        write!(f, "{passed} passed, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(results: Vec<Result<Tally, String>>) -> Summary {
        let outcome = |result| Outcome {
            name: "tests",
            time: Duration::from_millis(1250),
            result,
        };
        Summary(results.into_iter().map(outcome).collect())
    }

    #[test]
    fn the_last_line_counts() {
        let good = summary(vec![
            Ok(Tally::NONE),
            Ok(Tally {
                passed: 7,
                failed: 0,
            }),
        ]);
        assert!(good.is_success());
        assert_eq!(
            good.to_string(),
            "tests       ok          1.2 s\ntests       ok          1.2 s\n7 passed, 0 failed"
        );
        let bad = summary(vec![
            Err("no".to_owned()),
            Ok(Tally {
                passed: 6,
                failed: 1,
            }),
        ]);
        assert!(!bad.is_success());
        assert!(bad.to_string().ends_with("\n6 passed, 2 failed"));
    }
}
