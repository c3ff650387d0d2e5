//! Content of MCP results that is not text: images, audio, and resources.

use planwright_core::{Object, Value};

/// A block of content that is not text.
#[derive(Clone, Copy, Debug)]
pub struct Media<'a> {
    /// The kind: `image`, `audio`, `resource`, `resource_link`, or a kind that only the server knows.
    pub kind: &'a str,
    /// The kind of its data, such as `image/png`.
    pub mime_type: Option<&'a str>,
    /// The data as base64, if any.
    pub data: Option<&'a str>,
    /// The address of a resource.
    pub uri: Option<&'a str>,
}

impl<'a> Media<'a> {
    /// Reads a block of a tool's result.
    pub fn of(block: &'a Value) -> Option<Self> {
        let kind = text(block, "type")?;
        let of = block.get("resource").filter(|_| kind == "resource");
        let of = of.unwrap_or(block);
        Some(Self {
            kind,
            mime_type: text(of, "mimeType"),
            data: text(of, if kind == "resource" { "blob" } else { "data" }),
            uri: text(of, "uri"),
        })
    }

    /// Reads a value that is an image, audio or resource with data, which no person or model reads as text.
    pub fn binary(value: &'a Value) -> Option<Self> {
        value.as_object()?;
        let is_binary = |media: &Self| matches!(media.kind, "image" | "audio" | "resource");
        Self::of(value).filter(|media| is_binary(media) && media.data.is_some())
    }

    /// The bytes of its data.
    pub fn bytes(&self) -> Option<u64> {
        let digits = self.data?.trim_end_matches('=').len() as u64;
        // Four digits are three bytes.
        Some(digits / 4 * 3 + (digits % 4).saturating_sub(1))
    }

    /// Returns a label for people: `image/png, 1234 bytes`.
    pub fn label(&self) -> String {
        let mut parts = vec![self.mime_type.unwrap_or(self.kind).to_owned()];
        parts.extend(self.bytes().map(|bytes| format!("{bytes} bytes")));
        parts.extend(self.uri.map(str::to_owned));
        parts.join(", ")
    }

    /// Returns a description as data: its fields without the data.
    pub fn outline(&self) -> Object {
        let fields = [
            ("type", Some(Value::from(self.kind))),
            ("mimeType", self.mime_type.map(Value::from)),
            ("bytes", self.bytes().map(Value::from)),
            ("uri", self.uri.map(Value::from)),
        ];
        let fields = fields.into_iter();
        fields
            .filter_map(|(name, value)| Some((name.into(), value?)))
            .collect()
    }
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_text()
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::Media;

    fn check(block: &str, binary: bool, label: &str) {
        let block = Value::from_json(block).unwrap();
        assert_eq!(Media::binary(&block).is_some(), binary, "{block}");
        assert_eq!(Media::of(&block).unwrap().label(), label);
    }

    #[test]
    fn media_are_named() {
        check(
            r#"{"type":"image","mimeType":"image/png","data":"AAEC"}"#,
            true,
            "image/png, 3 bytes",
        );
        check(r#"{"type":"audio","data":"AA=="}"#, true, "audio, 1 bytes");
        check(
            r#"{"type":"resource","resource":{"uri":"x://y","blob":"AAE="}}"#,
            true,
            "resource, 2 bytes, x://y",
        );
        check(
            r#"{"type":"resource","resource":{"uri":"x://y","text":"a","mimeType":"text/plain"}}"#,
            false,
            "text/plain, x://y",
        );
        check(
            r#"{"type":"resource_link","uri":"x://y"}"#,
            false,
            "resource_link, x://y",
        );
    }
}
