//! The usual agent loop: the model writes calls, they are made, and the model is asked again. The time to read the prompt again in each
//! round is not counted.

use futures::StreamExt;
use futures::future::join_all;
use planwright_planner::model::{Delivery, Message, Model, ModelRequest};

use super::scene::{Scene, Server, Writer, model};

/// The number of calls in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundSize {
    /// A single call.
    One,
    /// All calls whose inputs are available.
    AllReady,
}

/// Makes all calls of `scene`, round by round.
pub async fn rounds(scene: &Scene, round_size: RoundSize) {
    let rounds: Vec<Vec<usize>> = match round_size {
        RoundSize::One => (0..scene.calls.len()).map(|index| vec![index]).collect(),
        RoundSize::AllReady => scene.levels(),
    };
    let text = |round: &Vec<usize>| -> String {
        round.iter().map(|index| scene.tool_call(*index)).collect()
    };
    let server = Server::of(scene);
    let model = model(rounds.iter().map(text));
    for round in rounds {
        wait_for_answer(&model).await;
        join_all(round.iter().map(|_| server.call())).await;
    }
}

/// Waits for the whole answer, at the speed of the model.
async fn wait_for_answer(model: &Writer) {
    let mut request = ModelRequest::new("", [Message::User("go on".to_owned())]);
    request.delivery = Delivery::Live;
    let mut chunks = model.ask(request);
    while let Some(chunk) = chunks.next().await {
        chunk.expect("an answer");
    }
}
