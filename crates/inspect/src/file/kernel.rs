//! Programs that the kernel itself starts as root, whoever caused it to: what is written where it is told which (Linux, core(5),
//! "admin-guide/sysctl/kernel", "admin-guide/binfmt-misc").

use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::Machine;

/// Where a path stands alone.
const PATHS: &[&str] = &[
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/kernel/poweroff_cmd",
    "/sys/kernel/uevent_helper",
];

const DUMPS: &str = "/proc/sys/kernel/core_pattern";
const FORMATS: &str = "/proc/sys/fs/binfmt_misc/register";

/// The most settings of one file.
const MAX_LINES: usize = 2048;

/// Programs that systems have for it, and emulators for what is built for other machines.
const USUAL: &[&str] = &[
    "/sbin/modprobe",
    "/usr/sbin/modprobe",
    "/bin/true",
    "/sbin/poweroff",
    "/usr/lib/systemd/systemd-coredump",
    "/lib/systemd/systemd-coredump",
    "/usr/share/apport/apport",
    "/usr/libexec/abrt-hook-ccpp",
];

/// Where those emulators lie.
const EMULATORS: &[&str] = &["/usr/bin/qemu-", "/usr/libexec/qemu-binfmt/"];

/// Whether a program is one of those, and not one that is only named like them.
fn is_usual(program: &str) -> bool {
    let path = crate::path::normalise("/", program);
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    USUAL.contains(&path.as_str()) || EMULATORS.iter().any(|start| path.strip_prefix(start).is_some_and(plain))
}

impl Machine<'_> {
    /// A text that is written to one of those.
    pub(super) fn judge_helper(&mut self, name: &str, text: &str) {
        if name == "/etc/sysctl.conf" || is_in(name, "sysctl.d") {
            self.judge_kernel_settings(text);
            return;
        }
        // Each line is what the kernel is told (binfmt.d(5)).
        if is_in(name, "binfmt.d") {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
            lines.at_most(MAX_LINES).for_each(|line| self.judge_helper(FORMATS, line));
            return;
        }
        let text = text.trim();
        let program = match name {
            DUMPS => text.strip_prefix('|'),
            // `:NAME:TYPE:OFFSET:MAGIC:MASK:INTERPRETER:FLAGS`, with any sign between them.
            FORMATS => text.chars().next().and_then(|sign| text.rsplit(sign).find(|part| part.starts_with('/'))),
            _ if PATHS.contains(&name) => Some(text),
            _ => None,
        };
        let program = program.and_then(|program| program.split_whitespace().next()).unwrap_or("");
        if !program.is_empty() && !is_usual(program) {
            self.find(FindingKind::OpensToAnybody, format!("the kernel is told in {name} to start {program} as root"));
        }
    }

    /// Lines of settings (sysctl.d(5)).
    pub(crate) fn judge_kernel_settings(&mut self, text: &str) {
        text.lines().at_most(MAX_LINES).for_each(|line| self.judge_kernel_setting(line));
    }

    /// `sysctl NAME=VALUE` of a setting among those; a dash before it has no failure told, and either sign is between the parts of its name
    /// (sysctl(8), sysctl.d(5)).
    pub(crate) fn judge_kernel_setting(&mut self, setting: &str) {
        let Some((name, value)) = setting.split_once('=') else { return };
        let path = format!("/proc/sys/{}", name.trim().trim_start_matches('-').replace('.', "/"));
        self.judge_helper(&path, value);
    }
}

/// Whether a file lies in one of the folders of this name that settings of the machine are read from (sysctl.d(5), binfmt.d(5)).
fn is_in(name: &str, folder: &str) -> bool {
    ["/etc/", "/run/", "/usr/local/lib/", "/usr/lib/", "/lib/"].iter().any(|root| {
        name.strip_prefix(root).and_then(|rest| rest.strip_prefix(folder)).is_some_and(|rest| rest.starts_with('/'))
    })
}
