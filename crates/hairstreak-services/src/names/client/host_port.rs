//! Addresses `host[:port]` as users type them, for directories, interfaces and advertised addresses.

/// Returns the host and the port, if there is one. An IPv6 address is returned in brackets, which `text` may omit.
pub fn split(text: &str) -> (String, Option<&str>) {
    if let Some((host, port)) = text.rsplit_once("]:") {
        return (format!("{host}]"), Some(port));
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') && !text.starts_with('[') => (format!("[{text}]"), None),
        Some((host, port)) if !text.starts_with('[') => (host.to_owned(), Some(port)),
        _ => (text.to_owned(), None),
    }
}

/// Returns the text as a tcp endpoint, with `port` if the text has none. A text that is already an endpoint is returned
/// unchanged.
pub fn endpoint(text: &str, port: &str) -> String {
    if text.contains("://") {
        return text.to_owned();
    }
    let (host, given) = split(text);
    format!("tcp://{host}:{}", given.unwrap_or(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_where_there_is_none() {
        for (text, expected) in [
            ("SVR001", "tcp://SVR001:5682"),
            ("SVR001:7", "tcp://SVR001:7"),
            ("*", "tcp://*:5682"),
            ("*:*", "tcp://*:*"),
            ("10.0.0.1", "tcp://10.0.0.1:5682"),
            ("::1", "tcp://[::1]:5682"),
            ("[::1]", "tcp://[::1]:5682"),
            ("[fe80::1]:9", "tcp://[fe80::1]:9"),
            ("ipc:///tmp/x", "ipc:///tmp/x"),
        ] {
            assert_eq!(endpoint(text, "5682"), expected);
        }
    }
}
