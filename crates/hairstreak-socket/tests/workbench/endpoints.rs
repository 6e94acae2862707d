//! Endpoints that nobody else uses: a new one for every call, to be bound by whoever gets it.

use std::sync::atomic::{AtomicU32, Ordering};

/// An endpoint of `transport`: a wildcard port for tcp, a name of its own for the others.
pub fn endpoint(transport: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unique = format!("hs-{}-{number}", std::process::id());
    match transport {
        "tcp" => "tcp://127.0.0.1:*".into(),
        "ipc" => format!("ipc://{}/{unique}", std::env::temp_dir().display()),
        "shm" => format!("shm://{unique}"),
        "inproc" => format!("inproc://{unique}"),
        other => panic!("no transport {other}"),
    }
}
