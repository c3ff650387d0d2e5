//! A place in a trace of another party, in the format of W3C Trace Context.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use planwright_core::Value;

/// A place in a trace: `traceparent` and `tracestate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext(pub(super) SpanContext);

impl TraceContext {
    /// Parses the values of the headers. Returns `None` for an invalid `traceparent`; an invalid `tracestate` is ignored.
    pub fn new(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length: usize| {
            text.len() == length
                && text
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        // Later versions may append fields; the first version has exactly these.
        let is_known =
            is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !is_known || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
        let state = tracestate.and_then(|state| state.parse::<TraceState>().ok());
        let context = SpanContext::new(
            TraceId::from_hex(trace).ok()?,
            SpanId::from_hex(span).ok()?,
            flags,
            true,
            state.unwrap_or_default(),
        );
        context.is_valid().then_some(Self(context))
    }

    /// Reads the trace from the `_meta` of an MCP request.
    pub fn of_meta(meta: &Value) -> Option<Self> {
        let text = |key: &str| meta.get(key).and_then(Value::as_text);
        Self::new(text("traceparent")?, text("tracestate"))
    }

    /// The value of `traceparent`.
    pub fn traceparent(&self) -> String {
        let Self(context) = self;
        let (trace, span) = (context.trace_id(), context.span_id());
        format!("00-{trace}-{span}-{:02x}", context.trace_flags())
    }

    /// The value of `tracestate`, if there is one.
    pub fn tracestate(&self) -> Option<String> {
        let state = self.0.trace_state().header();
        (!state.is_empty()).then_some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_read_is_written() {
        let context = TraceContext::new(PARENT, Some("rojo=1,congo=2")).unwrap();
        assert_eq!(context.traceparent(), PARENT);
        assert_eq!(context.tracestate().as_deref(), Some("rojo=1,congo=2"));
        let meta = serde_json::json!({"traceparent": PARENT, "progressToken": 1});
        let context = TraceContext::of_meta(&Value::from(meta)).unwrap();
        assert_eq!(
            (context.traceparent().as_str(), context.tracestate()),
            (PARENT, None)
        );
    }

    #[test]
    fn what_is_no_parent() {
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(TraceContext::new(wrong, None), None, "{wrong}");
        }
        let later = format!("{}-more", PARENT.replacen("00", "01", 1));
        assert!(TraceContext::new(&later, Some("?? no state")).is_some());
    }
}
