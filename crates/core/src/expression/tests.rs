//! Tables of texts, what they mean, what they give.

mod computing;
