//! The loop that most agents are: the model writes a call, it is made, the model is asked again. That a model has to read its prompt
//! again before each round is not counted.

use futures::StreamExt;
use futures::future::join_all;
use planwright_planner::model::{Delivery, Message, Model, ModelRequest};

use super::scene::{Scene, Server, Writer, model};

/// How many calls the model wants at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// One.
    One,
    /// All that need nothing that is not there.
    AllThatMay,
}

/// Has all calls of `scene` made, round by round.
pub async fn rounds(scene: &Scene, together: Together) {
    let rounds: Vec<Vec<usize>> = match together {
        Together::One => (0..scene.calls.len()).map(|index| vec![index]).collect(),
        Together::AllThatMay => scene.levels(),
    };
    let words = |round: &Vec<usize>| -> String {
        round.iter().map(|index| scene.tool_call(*index)).collect()
    };
    let server = Server::of(scene);
    let model = model(rounds.iter().map(words));
    for round in rounds {
        hear(&model).await;
        join_all(round.iter().map(|_| server.call())).await;
    }
}

/// Waits for the whole answer, at the pace at which it is written.
async fn hear(model: &Writer) {
    let mut request = ModelRequest::new("", [Message::User("go on".to_owned())]);
    request.delivery = Delivery::Live;
    let mut pieces = model.ask(request);
    while let Some(piece) = pieces.next().await {
        piece.expect("an answer");
    }
}
