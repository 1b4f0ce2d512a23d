//! Programs that the kernel itself starts as root, whoever caused it to: what is written where it is told which (Linux, core(5),
//! "admin-guide/sysctl/kernel", "admin-guide/binfmt-misc").

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
const MAX_LINES: usize = 256;

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
    "/usr/bin/qemu-",
    "/usr/libexec/qemu-binfmt/",
];

impl Machine<'_> {
    /// A text that is written to one of those.
    pub(super) fn judge_helper(&mut self, name: &str, text: &str) {
        if name.starts_with("/etc/sysctl.d/") || name == "/etc/sysctl.conf" {
            text.lines().take(MAX_LINES).for_each(|line| self.judge_kernel_setting(line));
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
        let program = program.unwrap_or("").trim_start();
        if !program.is_empty() && !USUAL.iter().any(|usual| program.starts_with(usual)) {
            self.find(FindingKind::OpensToAnybody, format!("the kernel is told in {name} to start {program} as root"));
        }
    }

    /// `sysctl NAME=VALUE` of a setting among those (sysctl(8)).
    pub(crate) fn judge_kernel_setting(&mut self, setting: &str) {
        let Some((name, value)) = setting.split_once('=') else { return };
        let path = format!("/proc/sys/{}", name.trim().replace('.', "/"));
        self.judge_helper(&path, value);
    }
}
