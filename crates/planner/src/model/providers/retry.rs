//! When another attempt is made. It knows no clock and no chance of its own.

use std::time::Duration;

use super::failure::Failure;
use super::settings::ProviderSettings;

/// No wait that we choose is longer.
const LONGEST: Duration = Duration::from_secs(30);

/// The attempts at one question.
#[derive(Clone, Debug)]
pub(super) struct Retries {
    allowed: u32,
    made: u32,
    next: Duration,
    chance: u64,
}

impl Retries {
    /// `question` tells the questions of one seed from each other.
    pub(super) fn new(settings: &ProviderSettings, question: u64) -> Self {
        Self {
            allowed: settings.attempts,
            made: 0,
            next: settings.first_wait.min(LONGEST),
            chance: settings.seed ^ question.rotate_left(32),
        }
    }

    /// How long to wait after another attempt has failed, where `left` is left for all that comes. Nothing, if it was the
    /// last.
    pub(super) fn wait(&mut self, failure: &Failure, left: Duration) -> Option<Duration> {
        self.made += 1;
        let ours = self.backoff();
        if self.made >= self.allowed || !failure.may_pass {
            return None;
        }
        Some(failure.pause.unwrap_or(ours)).filter(|wait| *wait < left)
    }

    /// Between half of the next wait and the whole of it, so that those who failed together do not come back together.
    fn backoff(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(LONGEST);
        whole.mul_f64(0.5 + 0.5 * self.fraction())
    }

    /// The next number between 0 and 1 (SplitMix64).
    fn fraction(&mut self) -> f64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let high = u32::try_from(mixed >> 32).unwrap_or_default();
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorKind;

    const AGES: Duration = Duration::from_secs(1000);

    fn retries(seed: u64) -> Retries {
        let settings = ProviderSettings {
            attempts: 4,
            seed,
            ..ProviderSettings::new("openai:a")
        };
        Retries::new(&settings, 0)
    }

    fn failure(may_pass: bool, pause: Option<u64>) -> Failure {
        Failure {
            may_pass,
            pause: pause.map(Duration::from_millis),
            ..Failure::new(ModelErrorKind::Unavailable, "it failed".to_owned())
        }
    }

    #[test]
    fn waits_grow_and_differ() {
        let waits = |seed: u64| -> Vec<Duration> {
            let mut retries = retries(seed);
            std::iter::from_fn(|| retries.wait(&failure(true, None), AGES)).collect()
        };
        let first = waits(1);
        assert_eq!(first.len(), 3);
        for (wait, most) in first.iter().zip([500, 1000, 2000]) {
            let most = Duration::from_millis(most);
            assert!(*wait >= most / 2 && *wait <= most, "{wait:?} of {most:?}");
        }
        assert_eq!(first, waits(1));
        assert_ne!(first, waits(2));
    }

    fn check(failure: &Failure, left: Duration, expected: Option<u64>) {
        let wait = retries(0).wait(failure, left);
        assert_eq!(wait, expected.map(Duration::from_millis), "{failure:?}");
    }

    #[test]
    fn what_the_provider_says_counts() {
        check(&failure(true, Some(7000)), AGES, Some(7000));
        check(&failure(true, Some(0)), AGES, Some(0));
        check(&failure(false, Some(0)), AGES, None);
        check(&failure(true, Some(7000)), Duration::from_secs(5), None);
    }
}
