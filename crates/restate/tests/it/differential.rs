//! Random plans on the engine of this process, on the engine with a PostgreSQL server as its store, and on Restate: their reports differ in
//! times and ids only.

use std::collections::BTreeMap;

use planwright::dialects::dialects;
use planwright_postgres::PostgresOptions;
use planwright_restate::AutomaticDecision;
use planwright_testkit::chance::Chance;
use planwright_testkit::postgres::PostgresDatabase;

use crate::plans::plan;
use crate::scene::{Scene, tools};

/// The number of plans, unless the variable [`COUNT`] has another one.
const PLANS: u64 = 120;

/// The variable with the number of plans.
const COUNT: &str = "PLANWRIGHT_TEST_PLANS";

#[expect(clippy::disallowed_methods, reason = "a longer run of the test")]
fn count() -> u64 {
    std::env::var(COUNT).map_or(PLANS, |count| count.parse().unwrap())
}

#[expect(clippy::print_stdout, reason = "the figures of a longer run")]
#[tokio::test(flavor = "multi_thread")]
async fn random_plans_have_the_same_outcome_everywhere() {
    let mut scene = Scene::new(tools()).await;
    let database = PostgresDatabase::create().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = PostgresOptions::new(folder.path());
    let shared = planwright_postgres::open(database.url(), options).unwrap();
    let (plans, mut compared) = (count(), BTreeMap::new());
    for seed in 0..plans {
        let mut chance = Chance::new(seed);
        scene.decision = Some(if chance.happens(80) {
            AutomaticDecision::Approve
        } else {
            AutomaticDecision::Reject
        });
        let plan = plan(seed, &mut chance);
        // A condition may read a field that the output of a loop does not have.
        if scene.is_sound(&plan) {
            let report = scene.compare_with(&shared, &plan).await;
            let status = report["status"].as_str().unwrap().to_owned();
            *compared.entry(plan.dialect.to_owned()).or_insert(0) += 1;
            *compared.entry(status).or_insert(0) += 1;
        }
    }
    for dialect in dialects() {
        assert!(
            compared.contains_key(dialect.name()),
            "{}: {compared:?}",
            dialect.name()
        );
    }
    let sound: u64 = dialects()
        .iter()
        .filter_map(|dialect| compared.get(dialect.name()))
        .sum();
    assert!(plans * 3 / 4 < sound, "only {sound} plans are sound");
    println!("{sound} plans have the same outcome everywhere: {compared:?}");
}
