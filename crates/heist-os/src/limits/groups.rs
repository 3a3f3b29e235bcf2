//! Where the control groups of this process are, and those above them.

use std::path::{Component, Path, PathBuf};

/// The directories of this process's groups, each followed by those above it as far as they can be seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Groups {
    /// Of the one hierarchy of version 2.
    pub unified: Vec<PathBuf>,
    /// Of the hierarchies of version 1 that limit CPU time, choose CPUs, and count processes.
    pub cpu: Vec<PathBuf>,
    pub cpuset: Vec<PathBuf>,
    pub pids: Vec<PathBuf>,
}

impl Groups {
    /// From the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`. Paths are absolute; the files are below `root`.
    pub fn find(root: &Path, cgroup: &[u8], mountinfo: &[u8]) -> Self {
        let mounts: Vec<Mount> = lines(mountinfo).filter_map(Mount::parse).collect();
        let find = |controller| {
            let Some(own) = lines(cgroup).find_map(|line| own_path(line, controller)) else {
                return Vec::new();
            };
            directories(root, &mounts, controller, own)
        };
        Self {
            unified: find(None),
            cpu: find(Some("cpu")),
            cpuset: find(Some("cpuset")),
            pids: find(Some("pids")),
        }
    }
}

/// The lines of a file. One that is no UTF-8 is about something else.
fn lines(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok())
}

/// The group in a line of `/proc/self/cgroup`, such as `4:cpu,cpuacct:/a/b`, if it is about the hierarchy of `controller`; `None` for
/// that of version 2, `0::/a/b`.
fn own_path<'a>(line: &'a str, controller: Option<&str>) -> Option<&'a Path> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let is_it = match controller {
        None => number == "0" && controllers.is_empty(),
        Some(controller) => controllers.split(',').any(|name| name == controller),
    };
    (is_it && path.starts_with('/')).then(|| Path::new(path))
}

/// A hierarchy, or a part of one, that is mounted somewhere.
struct Mount {
    /// The group that is seen at the mount's place.
    group: PathBuf,
    at: PathBuf,
    is_unified: bool,
    /// Of version 1: its controllers, among other words.
    options: String,
}

impl Mount {
    /// From a line of `mountinfo`: number, parent, device, root, place, options, any number of further fields, a dash, type, source, and
    /// the options of the file system.
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (group, at) = (unescape(before.next()?)?, unescape(before.next()?)?);
        let mut after = after.split(' ');
        let kind = after.next()?;
        let options = after.nth(1).unwrap_or_default().to_string();
        let is_unified = kind == "cgroup2";
        let (group, at) = (PathBuf::from(group), PathBuf::from(at));
        let is_mount = (is_unified || kind == "cgroup") && group.has_root() && at.has_root();
        is_mount.then_some(Self { group, at, is_unified, options })
    }

    fn has(&self, controller: Option<&str>) -> bool {
        match controller {
            None => self.is_unified,
            Some(controller) => !self.is_unified && self.options.split(',').any(|name| name == controller),
        }
    }

    /// What leads from here to the group `own`. Both paths are as seen from the process's cgroup namespace: what is above that begins
    /// with `/..`, once for each step up. `None` if `own` is not below this mount.
    fn way_to<'a>(&self, own: &'a Path) -> Option<&'a Path> {
        if let Ok(way) = own.strip_prefix(&self.group) {
            return way.components().all(|part| matches!(part, Component::Normal(_))).then_some(way);
        }
        // A mount from above the namespace. The names on the way down to the namespace are not known, but what limits this mount's
        // group limits ours.
        let above = |path: &Path| path.components().filter(|part| *part == Component::ParentDir).count();
        let is_above =
            above(&self.group) + 1 == self.group.components().count() && above(&self.group) > above(own);
        is_above.then_some(Path::new(""))
    }
}

/// `\040` for a space and the like, as `mountinfo` writes them.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let octal = after
            .get(..3)
            .filter(|digits| *first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        let value = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { &after[3..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// The directory of the group `own`, and those above it up to where its hierarchy is mounted. Of several mounts, that from which most of
/// the hierarchy is seen, and of equals the last, which may hide the others.
fn directories(root: &Path, mounts: &[Mount], controller: Option<&str>, own: &Path) -> Vec<PathBuf> {
    let seen = || {
        let mounts = mounts.iter().filter(|mount| mount.has(controller));
        mounts.filter_map(|mount| Some((mount, mount.way_to(own)?)))
    };
    let is_there = |(mount, way): &(&Mount, &Path)| below(root, &mount.at.join(way)).is_dir();
    let length = |(_, way): &(&Mount, &Path)| way.components().count();
    let widest = seen().filter(is_there).max_by_key(length).or_else(|| seen().max_by_key(length));
    let Some((mount, way)) = widest else { return Vec::new() };
    way.ancestors().map(|group| mount.at.join(group)).collect()
}

/// Where the file that the system calls `path` is.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups of version 2, or of a controller of version 1, by their directories.
    fn found(cgroup: &str, mountinfo: &str) -> [String; 2] {
        let groups = Groups::find(Path::new("/nowhere"), cgroup.as_bytes(), mountinfo.as_bytes());
        [groups.unified, groups.cpu].map(|dirs| {
            let dirs: Vec<String> =
                dirs.iter().map(|dir| dir.display().to_string().trim_end_matches('/').into()).collect();
            dirs.join(" < ")
        })
    }

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str =
        "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:2 - cgroup cgroup rw,cpu,cpuacct\n";

    #[test]
    fn a_group_is_followed_by_all_above_it() {
        let [v2, v1] = found("0::/a.slice/b", V2);
        assert_eq!(v2, "/sys/fs/cgroup/a.slice/b < /sys/fs/cgroup/a.slice < /sys/fs/cgroup");
        assert_eq!(v1, "");
        let [v2, v1] = found("4:cpu,cpuacct:/x/y\n3:cpuset:/z\n0::/u\n", &format!("{V1}{V2}"));
        assert_eq!(
            v1,
            "/sys/fs/cgroup/cpu,cpuacct/x/y < /sys/fs/cgroup/cpu,cpuacct/x < /sys/fs/cgroup/cpu,cpuacct"
        );
        assert_eq!(v2, "/sys/fs/cgroup/u < /sys/fs/cgroup");
    }

    #[test]
    fn the_root_of_a_namespace_is_its_own_group() {
        assert_eq!(found("0::/", V2), ["/sys/fs/cgroup", ""]);
    }

    /// A container without a namespace of its own sees the host's path, of which its mount is a part.
    #[test]
    fn a_mount_may_begin_further_down() {
        let mount = "9 8 0:30 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        assert_eq!(found("4:cpu:/docker/ab", mount)[1], "/sys/fs/cgroup/cpu");
        assert_eq!(found("4:cpu:/docker/ab/c", mount)[1], "/sys/fs/cgroup/cpu/c < /sys/fs/cgroup/cpu");
        // Another group's mount says nothing of ours, nor does one with a similar name.
        assert_eq!(found("4:cpu:/docker/cd", mount)[1], "");
        assert_eq!(found("4:cpu:/docker/abc", mount)[1], "");
    }

    /// With several mounts, that which shows most of what is above us.
    #[test]
    fn the_widest_mount_counts() {
        let narrow = "9 8 0:30 /docker/ab /mnt/narrow rw - cgroup cgroup rw,cpu\n";
        let wide = "9 8 0:30 / /mnt/wide rw - cgroup cgroup rw,cpu\n";
        for mounts in [format!("{narrow}{wide}"), format!("{wide}{narrow}")] {
            assert_eq!(
                found("4:cpu:/docker/ab", &mounts)[1],
                "/mnt/wide/docker/ab < /mnt/wide/docker < /mnt/wide"
            );
        }
    }

    #[test]
    fn groups_outside_of_the_namespace() {
        let above = |n: usize| format!("9 8 0:30 {} /m rw - cgroup2 none rw\n", "/..".repeat(n));
        // The process has been moved to a neighbour of its namespace.
        assert_eq!(found("0::/../next", &above(1))[0], "/m/next < /m");
        // Its mount begins above: two levels, whose names are not known.
        assert_eq!(found("0::/", &above(2))[0], "/m");
        assert_eq!(found("0::/../next", &above(2))[0], "/m");
        assert_eq!(found("0::/own", &above(1))[0], "/m");
        // The mount is not above the group, or nobody can tell.
        assert_eq!(found("0::/../next", V2)[0], "");
        assert_eq!(found("0::/../../next", &above(1))[0], "");
        assert_eq!(found("0::/a/../../../etc", V2)[0], "");
    }

    #[test]
    fn escapes_and_odd_names() {
        let mount = r"9 8 0:30 /my\040group /mnt/a\134b\011c\040- rw - cgroup2 cgroup2 rw";
        assert_eq!(found("0::/my group/x: y", mount)[0], "/mnt/a\\b\tc -/x: y < /mnt/a\\b\tc -");
        assert_eq!(unescape(r"\9\04\\0400\400").as_deref(), Some(r"\9\04\ 0\400"));
        assert_eq!(unescape(r"\377"), None);
    }

    #[test]
    fn what_is_no_mount_of_groups_is_passed_over() {
        let lines = "\n-\nx - cgroup2\n1 2 3 - cgroup2 a b\n1 2 3 / - cgroup2 a b\n1 2 3 a b c - cgroup2 a b\n\
                     1 2 3 / /tmp rw - tmpfs cgroup2 rw,cpu\n1 2 3 / /n rw - cgroup cgroup rw,name=cpu\n";
        assert_eq!(found("0::/\n1:cpu:/", lines), ["", ""]);
        assert_eq!(
            found("0::/\n1:cpu:/", &format!("{lines}{V2}{V1}")),
            ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu,cpuacct"]
        );
        assert_eq!(found("garbage\n0:\n:::\n0::relative\n1:name=cpu:/", &format!("{V2}{V1}")), ["", ""]);
        let mut bytes = b"1 2 3 / /\xff rw - cgroup2 a b\n".to_vec();
        bytes.extend_from_slice(V2.as_bytes());
        let groups = Groups::find(Path::new("/nowhere"), b"0::/", &bytes);
        assert_eq!(groups.unified, [Path::new("/sys/fs/cgroup/")]);
    }
}
