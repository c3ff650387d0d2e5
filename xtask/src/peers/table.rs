//! Measured times, as medians and ratios.

use std::fmt;

use serde_json::{Value, json};

/// The description of a shape.
#[derive(Debug)]
pub(super) struct Shape {
    name: String,
    steps: usize,
    /// The duration in seconds if only sleeping took time.
    ideal: f64,
}

impl Shape {
    /// Parses the description that our side prints.
    ///
    /// # Errors
    ///
    /// The text is no such description.
    pub(super) fn all(described: &str) -> Result<Vec<Self>, String> {
        let shape = |shape: &Value| {
            Some(Self {
                name: shape["name"].as_str()?.to_owned(),
                steps: shape["steps"].as_array()?.len(),
                ideal: shape["ideal"].as_f64()?,
            })
        };
        let described: Value = serde_json::from_str(described).unwrap_or_default();
        let shapes = described.as_array();
        shapes
            .and_then(|shapes| shapes.iter().map(shape).collect())
            .ok_or_else(|| "our side describes no shapes".to_owned())
    }
}

/// The times of all turns.
#[derive(Debug)]
pub(super) struct Table<'a> {
    shapes: Vec<Shape>,
    contestants: &'a [&'static str],
    /// The median of the runs of each turn, by shape, contestant and round.
    rounds: Vec<Vec<Vec<f64>>>,
}

/// A row: one contestant with one shape.
#[derive(Debug, PartialEq)]
struct Line {
    median: f64,
    least: f64,
    maximum: f64,
    /// The median and the minimum of the ratios to the first contestant in the same round.
    ratio: f64,
    least_ratio: f64,
}

impl<'a> Table<'a> {
    /// Creates an empty table. The `contestants` are compared with the first one.
    pub(super) fn new(shapes: Vec<Shape>, contestants: &'a [&'static str]) -> Self {
        let rounds = vec![vec![Vec::new(); contestants.len()]; shapes.len()];
        Self {
            shapes,
            contestants,
            rounds,
        }
    }

    /// Returns the number of shapes.
    pub(super) fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Adds a turn of a contestant with a shape, given the `seconds` of each run.
    pub(super) fn add(&mut self, shape: usize, contestant: usize, seconds: Vec<f64>) {
        self.rounds[shape][contestant].push(median(seconds));
    }

    fn line(&self, shape: usize, contestant: usize) -> Line {
        let times = &self.rounds[shape][contestant];
        let first = &self.rounds[shape][0];
        let ratios: Vec<f64> = times.iter().zip(first).map(|(a, b)| a / b).collect();
        Line {
            median: median(times.clone()),
            least: times.iter().copied().fold(f64::INFINITY, f64::min),
            maximum: times.iter().copied().fold(0.0, f64::max),
            least_ratio: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratio: median(ratios),
        }
    }

    /// Returns all figures of all rounds, in seconds.
    pub(super) fn to_json(&self, versions: Value) -> Value {
        let mut lines = Vec::new();
        for (shape, of) in self.shapes.iter().enumerate() {
            for (contestant, name) in self.contestants.iter().enumerate() {
                let line = self.line(shape, contestant);
                lines.push(json!({
                    "shape": of.name,
                    "steps": of.steps,
                    "ideal": of.ideal,
                    "system": name,
                    "median": line.median,
                    "least": line.least,
                    "most": line.maximum,
                    "ratio": line.ratio,
                    "least_ratio": line.least_ratio,
                    "rounds": self.rounds[shape][contestant],
                }));
            }
        }
        json!({"versions": versions, "lines": lines})
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["median", "least", "most", "ratio", "least"];
        write!(f, "{:<20} {:<22}", "shape", "system")?;
        for title in head {
            write!(f, " {title:>10}")?;
        }
        for (shape, of) in self.shapes.iter().enumerate() {
            for (contestant, name) in self.contestants.iter().enumerate() {
                let line = self.line(shape, contestant);
                write!(f, "\n{:<20} {name:<22}", of.name)?;
                for seconds in [line.median, line.least, line.maximum] {
                    write!(f, " {:>7.2} ms", seconds * 1e3)?;
                }
                write!(f, " {:>8.2} × {:>8.2} ×", line.ratio, line.least_ratio)?;
            }
            if of.ideal > 0.0 {
                let ideal = of.ideal * 1e3;
                write!(f, "\n{:<20} {:<22} {ideal:>7.2} ms", of.name, "(ideal)")?;
            }
        }
        Ok(())
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[count / 2],
        count => f64::midpoint(figures[count / 2 - 1], figures[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIBED: &str = r#"[{"name": "pair", "steps": [{}, {}], "ideal": 0.25}]"#;

    fn measured() -> Table<'static> {
        let mut table = Table::new(Shape::all(DESCRIBED).unwrap(), &["ours", "theirs"]);
        for (ours, theirs) in [(1.0, 3.0), (2.0, 3.0), (4.0, 10.0)] {
            table.add(0, 0, vec![ours]);
            table.add(0, 1, vec![theirs, 2.0 * theirs, 0.0]);
        }
        table
    }

    #[test]
    fn rounds_are_compared_one_by_one() {
        let expected = Line {
            median: 3.0,
            least: 3.0,
            maximum: 10.0,
            ratio: 2.5,
            least_ratio: 1.5,
        };
        assert_eq!(measured().line(0, 1), expected);
    }

    #[test]
    fn the_ideal_stands_beside_what_was_measured() {
        let text = measured().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].ends_with("3000.00 ms 3000.00 ms 10000.00 ms     2.50 ×     1.50 ×"));
        assert!(lines[3].ends_with("(ideal)                 250.00 ms"));
    }

    #[test]
    fn what_is_no_description_is_refused() {
        for text in ["", "{}", r#"[{"name": "pair", "steps": 2, "ideal": 0.25}]"#] {
            assert!(Shape::all(text).is_err(), "{text}");
        }
    }

    fn check_median(figures: &[f64], expected: f64) {
        let found = median(figures.to_vec());
        assert!((found - expected).abs() < 1e-9, "{figures:?}: {found}");
    }

    #[test]
    fn medians_are_in_the_middle() {
        check_median(&[3.0], 3.0);
        check_median(&[9.0, 1.0], 5.0);
        check_median(&[9.0, 1.0, 2.0], 2.0);
    }
}
