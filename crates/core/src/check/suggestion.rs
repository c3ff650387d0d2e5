//! "Did you mean": the known name that is nearest to an unknown one.

/// Names longer than this are compared with nothing: nobody mistypes them, and comparing costs
/// their square.
const MAX_NAME_BYTES: usize = 64;

/// The shortest name that is looked for inside of others.
const MIN_PART_CHARS: usize = 4;

/// The one of `known` that `name` was probably meant to be, and its distance: at most a third of its letters differ, or one is a part of
/// the other. The distance is the letters that differ, or those that the longer name has more.
pub(super) fn nearest_with_distance<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<(usize, &'a str)> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let lower = name.to_lowercase();
    let length = lower.chars().count();
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
            // More than what is allowed, or the distance would not be more.
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
        // At the longest that is compared, and beyond it.
        let (longest, longer) = ("a".repeat(64), "a".repeat(65));
        check(&longest, &[&longest], Some(&longest));
        check(&longest, &[&longer], None);
        check(&longer, &[&longer], None);
        // The nearest of several; the first of those that are as near.
        check("abcdef", &["abxyef", "abcdeg", "abcdeh"], Some("abcdeg"));
        check(
            "weather",
            &["weather_in_town", "weather_here"],
            Some("weather_here"),
        );
    }
}
