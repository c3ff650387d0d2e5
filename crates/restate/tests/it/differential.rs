//! Random plans on Restate and on the engine of this process: their reports differ in times and ids only.

use planwright_restate::AutomaticDecision;
use planwright_testkit::chance::Chance;
use serde_json::{Value, json};

use crate::scene::{Scene, tools};

/// The number of plans.
const PLANS: u64 = 120;

/// A random sound plan: calls of all kinds, failures, loops, conditions, retries, time limits, calls that need consent.
fn plan(chance: &mut Chance) -> Value {
    let count = 1 + chance.below(8);
    let steps: Vec<Value> = (0..count).map(|index| step(index, chance)).collect();
    json!({"steps": steps})
}

fn step(index: u64, chance: &mut Chance) -> Value {
    let tool = ["read", "slow", "write", "pay", "fail", "slower"]
        [usize::try_from(chance.below(6)).unwrap()];
    let mut args = json!({"n": index});
    for _ in 0..chance.below(3) {
        if 0 < index {
            let on = chance.below(index);
            args[format!("s{on}")] = json!(format!("${{s{on} ?? \"none\"}}"));
        }
    }
    let mut step = json!({"id": format!("s{index}"), "tool": tool});
    match chance.below(10) {
        0 | 1 => {
            let items: Vec<u64> = (0..=chance.below(4)).collect();
            step["for_each"] = json!(items);
            args["item"] = json!("${item}");
        }
        2 => {
            step["repeat"] = json!({"until": "${index >= 1}", "max": 3});
            args["round"] = json!("${index}");
        }
        3 if 0 < index => {
            step["when"] = json!(format!("${{s{}.n > {}}}", index - 1, chance.below(6)));
        }
        _ => {}
    }
    if tool == "slower" {
        step["timeout"] = json!("60ms");
    } else if chance.happens(15) {
        step["timeout"] = json!("20s");
    }
    if chance.happens(20) {
        step["retry"] = json!({"attempts": 2, "delay": "5ms"});
    }
    match chance.below(4) {
        0 => step["on_error"] = json!("continue"),
        1 => step["on_error"] = json!({"output": {"n": 7}}),
        _ => {}
    }
    step["args"] = args;
    step
}

#[tokio::test(flavor = "multi_thread")]
async fn random_plans_have_the_same_outcome_as_on_the_engine() {
    let mut scene = Scene::new(tools()).await;
    let mut compared = 0;
    for seed in 0..PLANS {
        let mut chance = Chance::new(seed);
        scene.decision = Some(if chance.happens(80) {
            AutomaticDecision::Approve
        } else {
            AutomaticDecision::Reject
        });
        let plan = plan(&mut chance);
        // A condition may read a field that the output of a loop does not have.
        if scene.is_sound(&plan) {
            scene.compare(&plan).await;
            compared += 1;
        }
    }
    assert!(PLANS * 3 / 4 < compared, "only {compared} plans are sound");
}
