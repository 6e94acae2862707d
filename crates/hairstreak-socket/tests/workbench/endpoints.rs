//! Endpoints that nobody else uses: a new one for every call, to be bound by whoever gets it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hairstreak_transport::vortex::{Fabric, FabricOptions};

/// The name of this process's fabric of eight ranks.
static FABRIC: LazyLock<String> = LazyLock::new(|| {
    let name = format!("test-{}", std::process::id());
    let options = FabricOptions { heights: 4, angles: 2, ..FabricOptions::new(&name) };
    let mut fabric = Fabric::bind(&options).unwrap();
    std::thread::spawn(move || fabric.run().unwrap());
    name
});

/// An endpoint of `transport`: a wildcard port of an address of its own for tcp, of a rank for vortex, a name of its own for the others. A
/// port may be another test's as soon as it is free, and whoever still connects to it would meet a stranger there.
pub fn endpoint(transport: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unique = format!("hs-{}-{number}", std::process::id());
    match transport {
        "tcp" => {
            let [.., high, middle, low] = (std::process::id() << 4 | (number & 15)).to_be_bytes();
            format!("tcp://127.{}.{middle}.{}:*", 1 + high % 250, 1 + low % 250)
        }
        "ipc" => format!("ipc://{}/{unique}", std::env::temp_dir().display()),
        "shm" => format!("shm://{unique}"),
        "vortex" => format!("vortex://{}/{}:*", *FABRIC, number % 8),
        "inproc" => format!("inproc://{unique}"),
        other => panic!("no transport {other}"),
    }
}
