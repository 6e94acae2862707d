//! The memory that this process may use: the machine's, or less if a cgroup of the process has a limit; and free
//! memory of the allocator.
//!
//! ```text
//!   /proc/self/cgroup   0::/system.slice/node.service      version 2: /sys/fs/cgroup/system.slice/node.service/memory.max
//!                       4:memory:/docker/7                 version 1: /sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes
//! ```
//!
//! A limit of a parent applies to its children, so the smallest limit up to the root counts. A container often shows
//! its own cgroup as the root: then the path of `/proc/self/cgroup` does not exist, and the root has the limit.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Returns the bytes that this process may use, including those in use. `None` if the system does not say.
pub fn memory_limit() -> Option<u64> {
    System::new("/").limit()
}

/// Returns the bytes that new programs can use without swapping, within the limit. `None` if the system does not say.
pub fn available_memory() -> Option<u64> {
    System::new("/").available()
}

/// The files of a system.
struct System {
    root: PathBuf,
}

/// The files of one version of cgroups, with the kernel's names.
struct Version {
    folder: &'static str,
    limits: &'static [&'static str],
    usage: &'static str,
    /// Name in `memory.stat` of the page cache that the kernel drops first.
    cache: &'static str,
}

const VERSION_1: Version = Version {
    folder: "sys/fs/cgroup/memory",
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    cache: "total_inactive_file",
};
const VERSION_2: Version = Version {
    folder: "sys/fs/cgroup",
    // Above memory.high the kernel throttles a process almost to a halt.
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    cache: "inactive_file",
};
/// Limit of parents that a container does not show, in `memory.stat` of version 1.
const HIERARCHICAL_LIMIT: &str = "hierarchical_memory_limit";

impl System {
    fn new(root: impl Into<PathBuf>) -> System {
        System { root: root.into() }
    }

    fn limit(&self) -> Option<u64> {
        let limits = self.cgroups().into_iter().filter_map(|(folder, version)| version.limit(&folder));
        limits.chain(self.machine("MemTotal:")).min()
    }

    fn available(&self) -> Option<u64> {
        let left = self.cgroups().into_iter().filter_map(|(folder, version)| version.left(&folder));
        left.chain(self.machine("MemAvailable:")).min()
    }

    /// Returns a value of `/proc/meminfo`, in bytes.
    fn machine(&self, name: &str) -> Option<u64> {
        let kibibytes: u64 = field(&fs::read_to_string(self.root.join("proc/meminfo")).ok()?, name)?;
        kibibytes.checked_mul(1024)
    }

    /// Returns the folders of the cgroups that hold this process, from its own up to the root.
    fn cgroups(&self) -> Vec<(PathBuf, &'static Version)> {
        let text = fs::read_to_string(self.root.join("proc/self/cgroup")).unwrap_or_default();
        let mut found = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let version = match controllers {
                "" => &VERSION_2,
                names if names.split(',').any(|name| name == "memory") => &VERSION_1,
                _ => continue,
            };
            let folder = self.root.join(version.folder);
            let path = Path::new(path.trim_start_matches('/'));
            // A cgroup outside of the container's own begins with `..`.
            let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
            let inside = if is_inside { path } else { Path::new("") };
            found.extend(inside.ancestors().map(|path| (folder.join(path), version)));
        }
        found
    }
}

impl Version {
    fn limit(&self, folder: &Path) -> Option<u64> {
        let limits = self.limits.iter().filter_map(|name| number(&folder.join(name)));
        limits.chain(self.stat(folder, HIERARCHICAL_LIMIT)).min()
    }

    /// Returns the bytes below the limit. The page cache counts as free, because the kernel drops it on demand.
    fn left(&self, folder: &Path) -> Option<u64> {
        let limit = self.limit(folder)?;
        let cache = self.stat(folder, self.cache).unwrap_or(0);
        let used = number(&folder.join(self.usage)).unwrap_or(0).saturating_sub(cache);
        Some(limit.saturating_sub(used))
    }

    fn stat(&self, folder: &Path, name: &str) -> Option<u64> {
        field(&fs::read_to_string(folder.join("memory.stat")).ok()?, name)
    }
}

/// Returns the number in a file of its own. `None` if the file does not exist or says `max`.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the number behind `name` in lines of names and numbers.
fn field<T: FromStr>(text: &str, name: &str) -> Option<T> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok()).flatten()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MACHINE: &str = "MemTotal:       1000 kB\nMemFree: 5 kB\nMemAvailable:   700 kB\n";

    /// A system of these files, in a folder that is removed on drop.
    struct Files(System);

    impl Files {
        fn new(name: &str, cgroup: &str, files: &[(&str, &str)]) -> Files {
            let root = std::env::temp_dir().join(format!("hs-{}-memory-{name}", std::process::id()));
            for (path, text) in [("proc/self/cgroup", cgroup), ("proc/meminfo", MACHINE)].iter().chain(files)
            {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Files(System::new(root))
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0.root).unwrap();
        }
    }

    #[test]
    fn the_smallest_limit_up_to_the_root_counts() {
        let (own, parent) = ("sys/fs/cgroup/a.slice/b.service/", "sys/fs/cgroup/a.slice/");
        let limits = |name, own_limit, parent_limit| {
            let own_file = format!("{own}memory.max");
            let parent_file = format!("{parent}memory.max");
            let files = [(own_file.as_str(), own_limit), (parent_file.as_str(), parent_limit)];
            Files::new(name, "0::/a.slice/b.service\n", &files).0.limit()
        };
        assert_eq!(limits("own", "400000\n", "max\n"), Some(400_000));
        assert_eq!(limits("parent", "400000\n", "300000\n"), Some(300_000));
        assert_eq!(limits("none", "max\n", "max\n"), Some(1_024_000));
        let high = [("sys/fs/cgroup/a/memory.max", "400000"), ("sys/fs/cgroup/a/memory.high", "200000")];
        assert_eq!(Files::new("high", "0::/a\n", &high).0.limit(), Some(200_000));
    }

    #[test]
    fn version_1_has_a_hierarchy_of_its_own() {
        let cgroup = "5:cpu,cpuacct:/other\n4:memory:/docker/7\n0::/\n";
        let unlimited = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        let own = ("sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes", "400000\n");
        assert_eq!(Files::new("v1", cgroup, &[unlimited, own]).0.limit(), Some(400_000));
        let parent = ("sys/fs/cgroup/memory/memory.stat", "cache 5\nhierarchical_memory_limit 300000\n");
        assert_eq!(Files::new("v1-hidden", cgroup, &[unlimited, parent]).0.limit(), Some(300_000));
    }

    #[test]
    fn a_container_that_shows_its_own_cgroup_as_the_root_has_the_limit_there() {
        for (name, cgroup) in [("root", "0::/docker/7\n"), ("outside", "0::/../../docker/7\n")] {
            let files = Files::new(name, cgroup, &[("sys/fs/cgroup/memory.max", "400000\n")]);
            assert_eq!(files.0.limit(), Some(400_000), "{cgroup}");
        }
    }

    #[test]
    fn memory_in_use_is_not_available_and_page_cache_is() {
        let files = [
            ("sys/fs/cgroup/a/memory.max", "400000\n"),
            ("sys/fs/cgroup/a/memory.current", "350000\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 50000\n"),
        ];
        assert_eq!(Files::new("available", "0::/a\n", &files).0.available(), Some(100_000));
        assert_eq!(Files::new("machine", "0::/\n", &[]).0.available(), Some(716_800));
    }

    #[test]
    fn a_system_that_says_nothing_has_no_limit() {
        let system = System::new("/nowhere/at/all");
        assert_eq!((system.limit(), system.available()), (None, None));
        assert!(memory_limit().unwrap() >= available_memory().unwrap());
    }
}

/// Returns free memory of the allocator to the system: the free pages of all arenas with the GNU C library, and
/// nothing with other libraries. The call takes the allocator's locks, and some milliseconds for hundreds of
/// megabytes.
pub fn trim_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: malloc_trim may be called at any time and from any thread, and changes no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
