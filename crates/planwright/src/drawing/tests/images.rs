//! Images: where boxes and edges are, and what becomes of hostile texts.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use planwright_engine::approval::CallSubject;
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::History;
use planwright_engine::{ToolError, ToolOutput};

use super::{Drawing, after, checked, plan, remarkable, step};
use crate::drawing::graph::Graph;
use crate::drawing::image::geometry::BoxSize;
use crate::drawing::image::layers::layout;
use crate::drawing::lanes::RowOrder;
use crate::drawing::{DrawnRunV1, Mark, RunRecord};
use planwright_engine::RunId;

#[test]
fn a_diamond_with_an_order() {
    let steps = vec![
        step("files", "list_files", &[]),
        step("count", "count_lines", &["files"]),
        step("search", "search_text", &["files"]),
        after(step("report", "write", &["count"]), &["search"]),
    ];
    let mut drawing = Drawing::of(&checked(plan(steps)));
    drawing.mark("files", Mark::Succeeded);
    drawing.mark("count", Mark::Failed);
    let image = drawing.svg(None);
    let (_, body) = image.split_once("</style>\n").unwrap();
    assert_snapshot!(body);
}

#[test]
fn every_note_is_in_the_title_of_its_box() {
    let image = Drawing::of_unchecked(&remarkable()).svg(None);
    for note in ["asks first", "within 1.5s", "may fail"] {
        assert!(image.contains(note), "{note} in {image}");
    }
}

/// A sequence of numbers that looks random and is the same in each run: a linear congruential generator, with the constants of
/// Numerical Recipes.
fn random(seed: &mut u32, below: u32) -> u32 {
    *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*seed >> 8) % below
}

#[test]
fn boxes_are_apart_and_edges_run_downwards() {
    let mut seed = 1;
    for round in 0..200 {
        let count = 1 + random(&mut seed, 40);
        let mut steps = Vec::new();
        for index in 0..count {
            let reads: Vec<String> = (0..index)
                .filter(|_| random(&mut seed, 1 + index) < 2)
                .map(|read| format!("s{read}"))
                .collect();
            let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
            steps.push(step(&format!("s{index}"), "get", &reads));
        }
        let graph = Graph::of(&checked(plan(steps)), "");
        let sizes: Vec<BoxSize> = (graph.steps.iter())
            .map(|_| BoxSize {
                width: 20.0 + f64::from(random(&mut seed, 200)),
                height: 20.0 + f64::from(random(&mut seed, 60)),
            })
            .collect();
        let ends: Vec<(usize, usize)> = graph
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to))
            .collect();
        let found = layout(&sizes, &ends, &RowOrder::of(&graph));
        let boxes: Vec<_> = found.boxes.iter().zip(&sizes).collect();
        for (index, (place, size)) in boxes.iter().enumerate() {
            assert!(place.x > -0.01 && place.y >= 0.0, "round {round}");
            assert!(
                place.x + size.width <= found.size.width + 0.01,
                "round {round}"
            );
            assert!(
                place.y + size.height <= found.size.height + 0.01,
                "round {round}"
            );
            for (other, other_size) in boxes.iter().skip(index + 1) {
                let is_beside = place.x + size.width <= other.x + 0.01
                    || other.x + other_size.width <= place.x + 0.01;
                let is_above =
                    place.y + size.height <= other.y || other.y + other_size.height <= place.y;
                assert!(is_beside || is_above, "round {round}: two boxes overlap");
            }
        }
        for ((from, to), path) in ends.iter().zip(&found.edges) {
            let downwards = path.windows(2).all(|pair| pair[0].y <= pair[1].y);
            assert!(downwards, "round {round}: {path:?}");
            let (first, last) = (path.first().unwrap(), path.last().unwrap());
            let (from, to) = (boxes[*from], boxes[*to]);
            assert!(
                (first.y - from.0.y - from.1.height).abs() < 0.01,
                "round {round}"
            );
            assert!((last.y - to.0.y).abs() < 0.01, "round {round}");
        }
    }
}

#[test]
fn a_cycle_is_drawn_as_well() {
    let steps = vec![step("a", "get", &["b"]), step("b", "get", &["a"])];
    let image = Drawing::of_unchecked(&plan(steps)).svg(None);
    assert!(image.contains("<title>a to b</title>") && image.contains("<title>b to a</title>"));
}

#[test]
fn a_plan_of_many_long_edges_is_drawn() {
    let all: Vec<String> = (0..400).map(|index| format!("s{index}")).collect();
    let steps = (0..400).map(|index| {
        let reads: Vec<&str> = all[..index].iter().map(String::as_str).collect();
        step(&all[index], "get", &reads)
    });
    let drawing = Drawing::of(&checked(plan(steps.collect())));
    assert_eq!(
        drawing.svg(None).matches("<path class=\"edge").count(),
        400 * 399 / 2
    );
}

#[test]
fn hostile_texts_are_shown_as_text() {
    let hostile = "</title><script>alert(1)</script>\u{202e}\u{200b}\"'&";
    let mut plan = plan(vec![step("a", "get", &[])]);
    plan.title = Some(hostile.into());
    plan.steps[0].title = Some(hostile.into());
    let checked = checked(plan);
    let drawing = Drawing::of(&checked);
    let run = DrawnRunV1 {
        id: RunId::try_from("r1".to_owned()).unwrap(),
        status: hostile.to_owned(),
        duration_ms: 1.0,
        retained: Vec::new(),
    };
    let output = planwright_core::Value::from(hostile);
    let page = drawing.html(Some(&RunRecord {
        run: &run,
        steps: &[],
        history: &History::default(),
        entries: &[],
        output: Some(&output),
    }));
    for text in [drawing.svg(None), page] {
        assert!(!text.contains("<script"), "{text}");
        assert!(!text.contains(['\u{202e}', '\u{200b}']), "{text}");
        assert!(text.contains("&lt;script&gt;alert(1)"), "{text}");
        assert!(text.contains("\\u{202e}\\u{200b}"), "{text}");
    }
}

/// The calls of a loop `a` with these results, one after another, in a run that takes `total`.
fn timeline(total: Duration, succeeded: &[bool]) -> String {
    let sent = |index: usize| total * u32::try_from(index).unwrap() / 4;
    let entries = succeeded.iter().enumerate().flat_map(|(index, succeeded)| {
        let at: Arc<Address> = Arc::new(Address {
            inside: None,
            instance: None,
            step: "a".into(),
            item: Some(u64::try_from(index).unwrap()),
            round: None,
        });
        let entry = |at, record| Entry {
            at,
            turn: 0,
            record,
        };
        let result = if *succeeded {
            Ok(ToolOutput::default())
        } else {
            Err(ToolError::tool("no", planwright_core::Value::Null))
        };
        [
            entry(
                sent(index),
                Record::Sent {
                    at: Arc::clone(&at),
                    server: "s".into(),
                    tool: "get".into(),
                    attempt: 1,
                    args: planwright_core::Value::Null,
                    consent: None,
                },
            ),
            entry(
                sent(index + 1),
                Record::Answered {
                    at,
                    attempt: 1,
                    result,
                },
            ),
        ]
    });
    let entries: Vec<Entry> = entries.collect();
    let run = DrawnRunV1 {
        id: RunId::try_from("r1".to_owned()).unwrap(),
        status: "succeeded".to_owned(),
        duration_ms: total.as_secs_f64() * 1e3,
        retained: Vec::new(),
    };
    Drawing::of(&checked(plan(vec![step("a", "get", &[])]))).svg(Some(&RunRecord {
        run: &run,
        steps: &[],
        history: &History::new(&entries),
        entries: &entries,
        output: None,
    }))
}

#[test]
fn the_axis_of_each_duration_is_markup_with_different_marks() {
    let mut micros = 1;
    while micros < 10 * 86_400_000_000 {
        let image = timeline(Duration::from_micros(micros), &[true]);
        for piece in image.split('<').skip(1) {
            assert!(
                piece.starts_with(|c: char| c == '/' || c.is_ascii_lowercase()),
                "<{piece}"
            );
        }
        let marks = image
            .split("y=\"14\">")
            .skip(1)
            .map(|mark| mark.split('<').next().unwrap());
        let marks: Vec<&str> = marks.collect();
        let different: HashSet<&&str> = marks.iter().collect();
        assert!(
            marks.len() > 1 && different.len() == marks.len(),
            "{marks:?}"
        );
        micros = micros * 7 / 4 + 1;
    }
}

#[test]
fn no_success_covers_a_failure_of_the_same_loop() {
    let image = timeline(Duration::from_secs(4), &[true, false, true]);
    let last = image.rfind("class=\"bar").unwrap();
    assert!(image[last..].starts_with("class=\"bar failed\""), "{image}");
}

#[test]
fn a_step_that_waits_for_a_person_has_a_bar_of_its_own() {
    let at = Arc::new(Address::of_step("a".into()));
    let asked = Record::Asked {
        at: Arc::clone(&at),
        subject: Box::new(CallSubject {
            server: "s".into(),
            tool: "get".into(),
            origin: None,
            definition: None,
            args: planwright_core::Value::Null,
            seal: None,
            flow: None,
        }),
        reason: None,
    };
    let entries = [Entry {
        at: Duration::from_secs(1),
        turn: 0,
        record: asked,
    }];
    let run = DrawnRunV1 {
        id: RunId::try_from("r1".to_owned()).unwrap(),
        status: "waiting".to_owned(),
        duration_ms: 4000.0,
        retained: Vec::new(),
    };
    let image = Drawing::of(&checked(plan(vec![step("a", "get", &[])]))).svg(Some(&RunRecord {
        run: &run,
        steps: &[],
        history: &History::new(&entries),
        entries: &entries,
        output: None,
    }));
    assert!(image.contains("class=\"person\""), "{image}");
    assert!(
        image.contains("a: waits for a person, 3.0s so far"),
        "{image}"
    );
}

#[test]
fn a_wide_layer_is_broken_into_rows() {
    let ids: Vec<String> = (0..300).map(|index| format!("step_{index}")).collect();
    let mut steps = vec![step("first", "get", &[])];
    steps.extend(ids.iter().map(|id| step(id, "get", &["first"])));
    let ends: Vec<&str> = ids.iter().map(String::as_str).collect();
    steps.push(step("last", "get", &ends));
    // A line of a step to one beyond the next layer passes the rows.
    steps.push(step("beyond", "get", &["first", "last"]));
    let layout = Drawing::of(&checked(plan(steps))).layout(&BTreeSet::new());
    assert!(layout.width <= 3100.0, "{} px", layout.width);
    assert!(layout.height <= 2500.0, "{} px", layout.height);
    let tops: HashSet<u64> = layout.nodes.iter().map(|node| node.y.to_bits()).collect();
    assert!(tops.len() > 5, "{} rows", tops.len());
    for (index, node) in layout.nodes.iter().enumerate() {
        assert!(node.x >= 0.0 && node.x + node.w <= layout.width + 0.1);
        for other in layout.nodes.iter().skip(index + 1) {
            let is_beside = node.x + node.w <= other.x || other.x + other.w <= node.x;
            let is_above = node.y + node.h <= other.y || other.y + other.h <= node.y;
            assert!(is_beside || is_above, "{} and {}", node.at, other.at);
        }
    }
    for edge in &layout.edges {
        let falls = edge.points.windows(2).all(|pair| pair[0][1] <= pair[1][1]);
        assert!(falls, "{} to {}", edge.from, edge.to);
        // The vertical parts of a line pass no box but those at its ends.
        for pair in edge
            .points
            .windows(2)
            .filter(|pair| (pair[0][0] - pair[1][0]).abs() < 0.05)
        {
            let crossed = layout.nodes.iter().find(|node| {
                let is_beside = pair[0][0] <= node.x || node.x + node.w <= pair[0][0];
                let is_above = pair[1][1] <= node.y || node.y + node.h <= pair[0][1];
                !is_beside && !is_above
            });
            assert!(crossed.is_none(), "{} to {}", edge.from, edge.to);
        }
    }
}
