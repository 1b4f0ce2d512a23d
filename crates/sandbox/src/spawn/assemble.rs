//! Builds the view of a child, between clone and exec.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use rustix::process::{chdir, chroot, fchdir, pivot_root};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::child::{At as _, Failure, Stage};
use crate::sys;
use crate::view::{FileIdentity, Operation, Plan, Source};

const EMPTY: &CStr = c"";

/// How many mounts a view that was made in advance can be completed with.
pub(super) const MOST_TREES: usize = 256;

/// Makes a mount namespace the own one; root and working directory become its root.
pub(super) fn enter(view: &OwnedFd) -> rustix::io::Result<()> {
    move_into_link_name_space(view.as_fd(), Some(LinkNameSpaceType::Mount))
}

/// Builds the view in the child's own mount namespace and makes it the root.
///
/// That namespace is a copy of the host's, whose mounts are let go of at the end; or a copy of one that never held any, for which the host's files are
/// taken along while the child is still in the host's.
pub(super) fn build_view(plan: &Plan, ready: Option<&OwnedFd>) -> Result<(), Failure> {
    let mut trees = [const { None }; MOST_TREES];
    let mut devices = None;
    if let Some(ready) = ready {
        take_along(plan, &mut trees)?;
        enter(ready).at(Stage::MountRoot)?;
        sys::unshare_mounts().at(Stage::MountRoot)?;
        if !plan.devices.is_empty() {
            devices = Some(clone_tree(CWD, c"/dev").at(Stage::MountRoot)?);
        }
    } else {
        rustix::mount::mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .at(Stage::MountRoot)?;
    }
    let root = memory_file_system(c"64k", c"0755").at(Stage::MountRoot)?;
    // On top of the root directory: names that start at "/" still lead below it until the end.
    rustix::mount::move_mount(&root, EMPTY, CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).at(Stage::MountRoot)?;
    if plan.masks {
        make_covers(&root).at(Stage::MountRoot)?;
    }
    let mut trees = trees.into_iter();
    for (index, operation) in plan.operations.iter().enumerate() {
        if devices.is_some() && plan.devices.contains(&index) {
            if index == plan.devices.start
                && let Some(devices) = &devices
            {
                attach(devices, &root, c"dev", None, index)?;
            }
            continue;
        }
        match operation {
            Operation::Directory { path } => make_directory(&root, path).at_operation(Stage::Mount, index)?,
            Operation::File { path } => make_file(&root, path, 0o644).at_operation(Stage::Mount, index)?,
            Operation::Link { path, target } => {
                rustix::fs::symlinkat(target, &root, path).at_operation(Stage::Mount, index)?;
            }
            Operation::Mount { source, path, covers, attributes } => {
                let taken = if source.needs_root() { None } else { trees.next().flatten() };
                let tree = taken.map_or_else(|| tree(&root, source, *attributes, index), Ok)?;
                attach(&tree, &root, path, *covers, index)?;
            }
        }
    }
    if plan.masks {
        remove_covers(&root).at(Stage::MountRoot)?;
    }
    let attributes = sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV | sys::MOUNT_ATTR_NOEXEC;
    sys::set_mount_attributes(&root, attributes, false).at(Stage::MountRoot)?;
    fchdir(&root).at(Stage::Pivot)?;
    if ready.is_some() {
        // It covers the root of the namespace, where nothing lies but the devices: letting go of that would take longer than all of this.
        chroot(c".").at(Stage::Pivot)?;
    } else {
        pivot_root(c".", c".").at(Stage::Pivot)?;
        rustix::mount::unmount(c".", UnmountFlags::DETACH).at(Stage::Pivot)?;
        chdir(c"/").at(Stage::Pivot)?;
    }
    chdir(&plan.cwd).at(Stage::Cwd)
}

/// Makes the mounts while the host's files are in sight, in the order of the plan.
fn take_along(plan: &Plan, trees: &mut [Option<OwnedFd>; MOST_TREES]) -> Result<(), Failure> {
    let mut free = trees.iter_mut();
    for (index, operation) in plan.operations.iter().enumerate() {
        if let Operation::Mount { source, attributes, .. } = operation
            && !source.needs_root()
            && !plan.devices.contains(&index)
            && let Some(free) = free.next()
        {
            *free = Some(tree(CWD, source, *attributes, index)?);
        }
    }
    Ok(())
}

/// What is to be mounted, not yet in its place.
fn tree(root: impl AsFd, source: &Source, attributes: u64, index: usize) -> Result<OwnedFd, Failure> {
    let tree = match source {
        Source::Host { path, identity } => {
            let file = open_in_view(CWD, path).at_operation(Stage::Mount, index)?;
            same_file(&file, *identity, index)?;
            clone_tree(&file, EMPTY)
        }
        Source::Device { path } => clone_tree(CWD, path),
        Source::EmptyDirectory => clone_tree(root, COVER_DIRECTORY),
        Source::EmptyFile => clone_tree(root, COVER_FILE),
        Source::Temporary { size } => memory_file_system(size, c"1777"),
        Source::Processes => process_file_system(),
    }
    .at_operation(Stage::Mount, index)?;
    sys::set_mount_attributes(&tree, attributes, true).at_operation(Stage::Mount, index)?;
    Ok(tree)
}

fn attach(
    tree: &OwnedFd,
    root: &OwnedFd,
    path: &CStr,
    covers: Option<FileIdentity>,
    index: usize,
) -> Result<(), Failure> {
    let point = open_in_view(root, path).at_operation(Stage::Mount, index)?;
    if let Some(identity) = covers {
        same_file(&point, identity, index)?;
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(tree, EMPTY, &point, EMPTY, flags).at_operation(Stage::Mount, index)
}

/// Opens a place without following any link.
pub(super) fn open_in_view(folder: impl AsFd, path: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(folder, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

fn same_file(file: &OwnedFd, identity: FileIdentity, index: usize) -> Result<(), Failure> {
    let found = rustix::fs::fstat(file).at_operation(Stage::Mount, index)?;
    let found = FileIdentity { dev: found.st_dev, ino: found.st_ino };
    if found == identity {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESTALE)).at_operation(Stage::Swapped, index)
    }
}

pub(super) fn clone_tree(folder: impl AsFd, path: &CStr) -> rustix::io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    if path.is_empty() {
        flags |= OpenTreeFlags::AT_EMPTY_PATH;
    }
    rustix::mount::open_tree(folder, path, flags)
}

fn memory_file_system(size: &CStr, mode: &CStr) -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, c"size", size)?;
    rustix::mount::fsconfig_set_string(&context, c"nr_inodes", c"64k")?;
    rustix::mount::fsconfig_set_string(&context, c"mode", mode)?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

/// Only the step's own processes; none of the files about the host (`subset=pid`).
fn process_file_system() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, c"subset", c"pid")?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

const COVER_DIRECTORY: &CStr = c".cover-directory";
const COVER_FILE: &CStr = c".cover-file";

fn make_covers(root: &OwnedFd) -> rustix::io::Result<()> {
    rustix::fs::mkdirat(root, COVER_DIRECTORY, Mode::empty())?;
    make_file(root, COVER_FILE, 0)
}

/// The covers stay mounted where they are; their names leave the root.
fn remove_covers(root: &OwnedFd) -> rustix::io::Result<()> {
    rustix::fs::unlinkat(root, COVER_DIRECTORY, rustix::fs::AtFlags::REMOVEDIR)?;
    rustix::fs::unlinkat(root, COVER_FILE, rustix::fs::AtFlags::empty())
}

fn make_directory(root: &OwnedFd, path: &CStr) -> rustix::io::Result<()> {
    match rustix::fs::mkdirat(root, path, Mode::from_raw_mode(0o755)) {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        other => other,
    }
}

fn make_file(root: &OwnedFd, path: &CStr, mode: u32) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(root, path, flags, Mode::from_raw_mode(mode)).map(drop)
}
