//! Reading of whole requests, and the permits held until their responses are sent.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::limits::InFlightPermit;
use super::metrics::ActiveRequest;
use super::refusal::Refusal;

/// Reads the body, as far as it is small enough and comes in time.
pub(super) async fn read_body(
    request: Request<Body>,
    most: usize,
    time: Duration,
) -> Result<Request<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let announced = http_body::Body::size_hint(&body).lower();
    if usize::try_from(announced).is_ok_and(|announced| announced > most) {
        return Err(Refusal::TooLarge { most });
    }
    let whole = tokio::time::timeout(time, Limited::new(body, most).collect());
    match whole.await {
        Err(_) => Err(Refusal::TooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge { most }),
        Ok(Err(_)) => Err(Refusal::Broken),
        Ok(Ok(body)) => Ok(Request::from_parts(parts, Body::from(body.to_bytes()))),
    }
}

/// The guards that are held until a request is answered to the last byte, or its client is gone.
#[derive(Debug)]
pub(super) struct ResponseLease {
    _permit: Option<InFlightPermit>,
    _active: ActiveRequest,
}

impl ResponseLease {
    pub(super) fn new(permit: Option<InFlightPermit>, active: ActiveRequest) -> Self {
        Self {
            _permit: permit,
            _active: active,
        }
    }

    pub(super) fn until_answered(self, response: Response) -> Response {
        response.map(|body| Body::new(GuardedBody { body, _guard: self }))
    }
}

/// An answer that keeps something until it is through.
struct GuardedBody {
    body: Body,
    _guard: ResponseLease,
}

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
