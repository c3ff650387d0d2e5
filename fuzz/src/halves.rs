//! Inputs with two texts.

/// Returns the texts before and after the first NUL byte, which no JSON text contains. Without one, the first is empty.
pub fn halves(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|byte| *byte == 0) {
        Some(at) => {
            let (first, second) = input.split_at(at);
            (first, second.get(1..).unwrap_or_default())
        }
        None => (&[], input),
    }
}
