//! The passphrase of a store: no decision about a call of a stored run is stored without it.

use std::time::SystemTime;

use planwright::config::{Config, ConfigSource, Origin};
use planwright::engine::Decision;
use planwright::service::Builder;
use planwright::store::Store;
use planwright::stored::{
    Decider, OpenQuestion, Passphrase, PassphraseError, StoredRunError, open_questions,
};
use planwright::{Error, Function, Functions, Planwright, parse};

const PASSPHRASE: &str = "correct horse";

/// A run `r` whose only call waits for a decision.
struct Waiting {
    planwright: Planwright,
    store: Store,
    question: OpenQuestion,
    _folder: tempfile::TempDir,
}

async fn waiting(configure: impl FnOnce(Builder) -> Builder) -> Waiting {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.db")).unwrap();
    let pay = Function::new("pay", async |()| {
        Ok::<_, planwright::ToolError>("paid".to_owned())
    });
    let functions = Functions::new().with(pay.needs_approval());
    let planwright = configure(Planwright::builder().functions(functions));
    let planwright = planwright.open().await.unwrap().with_store(&store);
    let plan = planwright
        .check(parse(r#"{"steps": [{"id": "a", "tool": "pay"}]}"#))
        .unwrap();
    let run = planwright.run(plan).stored_in(&store, "r".parse().unwrap());
    run.await.unwrap();
    let question = open_questions(&store, "r").unwrap().remove(0);
    Waiting {
        planwright,
        store,
        question,
        _folder: folder,
    }
}

impl Waiting {
    fn decide(&self, decision: Decision, decider: &Decider) -> Result<(), StoredRunError> {
        let now = SystemTime::UNIX_EPOCH;
        self.question.decide(&self.store, decision, decider, now)
    }

    fn decisions(&self) -> usize {
        self.store.decisions("r").unwrap().len()
    }
}

fn approve() -> Decision {
    Decision::Approve { args: None }
}

#[tokio::test]
async fn a_decision_requires_the_passphrase() {
    let run = waiting(|builder| builder).await;
    Passphrase::set(&run.store, Some(PASSPHRASE)).unwrap();
    let unproven = Decider::new(Some("ada".to_owned()));
    for decision in [approve(), Decision::Reject { because: None }] {
        let refused = run.decide(decision.clone(), &unproven).unwrap_err();
        assert_eq!(refused.to_string(), "decisions require the passphrase");
        let refused = run.planwright.decide(&run.question, decision, &unproven);
        assert!(
            matches!(
                refused,
                Err(Error::StoredRun(StoredRunError::Passphrase(
                    PassphraseError::Required
                )))
            ),
            "{refused:?}"
        );
    }
    assert_eq!(run.decisions(), 0);

    let passphrase = Passphrase::of([&run.store]).unwrap();
    let wrong = passphrase.confirm("battery staple");
    assert!(matches!(wrong, Err(PassphraseError::Wrong)), "{wrong:?}");
    let ada = unproven.confirmed(passphrase.confirm(PASSPHRASE).unwrap());
    run.decide(approve(), &ada).unwrap();
    let stored = run.store.decisions("r").unwrap().remove(0);
    assert_eq!(stored.by.as_deref(), Some("ada"));
}

#[tokio::test]
async fn proof_of_another_or_an_earlier_passphrase_is_rejected() {
    let run = waiting(|builder| builder).await;
    let other = waiting(|builder| builder).await;
    for store in [&run.store, &other.store] {
        Passphrase::set(store, Some(PASSPHRASE)).unwrap();
    }
    let of_other = Passphrase::of([&other.store]).unwrap();
    let decider_of_other = Decider::default().confirmed(of_other.confirm(PASSPHRASE).unwrap());
    assert!(run.decide(approve(), &decider_of_other).is_err());

    let before = Passphrase::of([&run.store]).unwrap();
    let before = Decider::default().confirmed(before.confirm(PASSPHRASE).unwrap());
    Passphrase::set(&run.store, Some("another one")).unwrap();
    assert!(run.decide(approve(), &before).is_err());
    assert_eq!(run.decisions(), 0);

    // If both stores have the same passphrase, one proof is valid for both.
    Passphrase::set(&run.store, Some(PASSPHRASE)).unwrap();
    let both = Passphrase::of([&run.store, &other.store]).unwrap();
    let both = Decider::default().confirmed(both.confirm(PASSPHRASE).unwrap());
    run.decide(approve(), &both).unwrap();
    other.decide(approve(), &both).unwrap();
}

#[tokio::test]
async fn an_approval_form_of_a_client_needs_no_passphrase() {
    let run = waiting(|builder| builder).await;
    Passphrase::set(&run.store, Some(PASSPHRASE)).unwrap();
    run.decide(approve(), &Decider::client_form()).unwrap();
    assert_eq!(run.decisions(), 1);
}

#[tokio::test]
async fn a_configuration_demands_a_passphrase_of_stores_without_one() {
    let text = "[approvals]\npassphrase = true\n";
    let source = ConfigSource::read(Origin::User, "planwright.toml", text).unwrap();
    let config = Config::of([&source]);
    let run = waiting(|builder| builder.config(config)).await;
    let refused = run
        .planwright
        .decide(&run.question, approve(), &Decider::default());
    assert!(refused.is_err());
    assert_eq!(run.decisions(), 0);

    let own = waiting(|builder| builder).await;
    Passphrase::set(&own.store, Some(PASSPHRASE)).unwrap();
    let own = Passphrase::of([&own.store]).unwrap();
    let decider = Decider::default().confirmed(own.confirm(PASSPHRASE).unwrap());
    run.planwright
        .decide(&run.question, approve(), &decider)
        .unwrap();
}

#[tokio::test]
async fn a_passphrase_is_changed_and_removed() {
    let run = waiting(|builder| builder).await;
    let short = Passphrase::set(&run.store, Some("1234567"));
    assert!(matches!(short, Err(PassphraseError::TooShort)), "{short:?}");
    assert!(!Passphrase::of([&run.store]).unwrap().is_set());
    Passphrase::set(&run.store, Some(PASSPHRASE)).unwrap();
    assert!(Passphrase::of([&run.store]).unwrap().is_set());
    Passphrase::set(&run.store, None).unwrap();
    run.decide(approve(), &Decider::default()).unwrap();
}
