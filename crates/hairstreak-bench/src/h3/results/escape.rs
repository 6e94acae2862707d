//! Text as it may stand in HTML.

/// `text` without characters that HTML takes for its own.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
