//! Suggestions: the known name that is nearest to an unknown one.

/// Maximum length of a compared name. Longer names are rarely mistyped, and the cost is quadratic.
const MAX_NAME_BYTES: usize = 64;

/// Minimum length of a name that is searched for inside others.
const MIN_PART_CHARS: usize = 4;

/// Returns the known name that `name` was probably meant to be, with its distance. At most a third of the letters
/// differ, or one name contains the other; then the distance is the difference of their lengths.
pub(super) fn nearest_with_distance<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<(usize, &'a str)> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    // In names of one or two letters any difference is too much.
    let allowed = match length {
        0..=2 => 0,
        more => more / 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.len() > MAX_NAME_BYTES {
            continue;
        }
        let other = candidate.to_lowercase();
        // The distance is at least the difference of the lengths, so it need not be computed.
        let distance = if other.chars().count().abs_diff(length) <= allowed {
            strsim::osa_distance(&lower, &other)
        } else {
            usize::MAX
        };
        let is_part = length >= MIN_PART_CHARS
            && other.len() >= MIN_PART_CHARS
            && (other.contains(&lower) || lower.contains(&other));
        let rank = if distance <= allowed {
            distance
        } else if is_part {
            // A contained name has a larger distance than any name with few differing letters.
            other.len().abs_diff(lower.len())
        } else {
            continue;
        };
        if best.is_none_or(|(known, _)| rank < known) {
            best = Some((rank, candidate));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::nearest_with_distance;

    #[test]
    fn the_nearest_name_is_found() {
        fn check(name: &str, known: &[&str], expected: Option<&str>) {
            let near = nearest_with_distance(name, known.iter().copied());
            assert_eq!(near.map(|(_, near)| near), expected, "{name}");
        }

        check(
            "get_wether",
            &["get_weather", "get_time"],
            Some("get_weather"),
        );
        check("GetWeather", &["getweather"], Some("getweather"));
        check("totl", &["rows", "total"], Some("total"));
        check("alpah", &["zeta", "alpha"], Some("alpha"));
        check(
            "weather",
            &["get_weather", "weather_report_long"],
            Some("get_weather"),
        );
        check("x", &["y", "long"], None);
        check("X", &["y", "x"], Some("x"));
        check("abc", &["abd"], Some("abd"));
        check("ghost", &["alpha", "zeta"], None);
        check("", &["alpha"], None);
        check(&"a".repeat(100), &["a"], None);
        // Names at the maximum length are compared, longer ones are not.
        let (longest, longer) = ("a".repeat(64), "a".repeat(65));
        check(&longest, &[&longest], Some(&longest));
        check(&longest, &[&longer], None);
        check(&longer, &[&longer], None);
        // The nearest name wins; among equally near ones, the first.
        check("abcdef", &["abxyef", "abcdeg", "abcdeh"], Some("abcdeg"));
        check(
            "weather",
            &["weather_in_town", "weather_here"],
            Some("weather_here"),
        );
    }
}
