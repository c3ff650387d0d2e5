//! Tables of texts, what they mean, what they give.

mod computing;
mod cost;
mod reading;
mod round_trip;
