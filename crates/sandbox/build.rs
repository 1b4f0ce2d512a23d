//! Compiles the lists of system calls (`profiles/*.json`) into filters: a mistake in a list fails the build, and a child installs its
//! filter without parsing anything.
#![expect(unreachable_pub, reason = "the modules are shared with the library")]

use std::fmt::Write as _;
use std::path::Path;

#[path = "src/instruction.rs"]
mod instruction;
#[path = "src/name.rs"]
mod name;
#[path = "src/profile.rs"]
mod profile;
#[path = "src/seccomp.rs"]
mod seccomp;
#[path = "src/syscalls.rs"]
mod syscalls;

use name::{ProfileName, Variant};

/// Every list, with the name of its compiled form.
const LISTS: [(ProfileName, &str); 10] = [
    (ProfileName::Planner, "PLANNER"),
    (ProfileName::Executor, "EXECUTOR"),
    (ProfileName::PlannerWatched, "PLANNER_WATCHED"),
    (ProfileName::ExecutorWatched, "EXECUTOR_WATCHED"),
    (ProfileName::Unwatch, "UNWATCH"),
    (ProfileName::Builtin, "BUILTIN"),
    (ProfileName::StepInit(Variant::Exact), "STEP_INIT_EXACT"),
    (ProfileName::StepInit(Variant::Toolchain), "STEP_INIT_TOOLCHAIN"),
    (ProfileName::TakeBack(Variant::Exact), "TAKE_BACK_EXACT"),
    (ProfileName::TakeBack(Variant::Toolchain), "TAKE_BACK_TOOLCHAIN"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut source = String::new();
    for (name, constant) in LISTS {
        let code = seccomp::compile(&profile::Profile::load(name)?)?;
        writeln!(source, "static {constant}: [Instruction; {}] = [", code.len())?;
        for instruction::Instruction { code, jt, jf, k } in code {
            writeln!(source, "    Instruction {{ code: {code}, jt: {jt}, jf: {jf}, k: {k} }},")?;
        }
        writeln!(source, "];")?;
    }
    let folder = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    std::fs::write(Path::new(&folder).join("filters.rs"), source)?;
    let mut instructions = String::new();
    for input in [
        "build.rs",
        "profiles",
        "src/instruction.rs",
        "src/name.rs",
        "src/profile.rs",
        "src/seccomp.rs",
        "src/syscalls.rs",
    ] {
        instructions.push_str(&format!("cargo::rerun-if-changed={input}\n"));
    }
    std::io::Write::write_all(&mut std::io::stdout(), instructions.as_bytes())?;
    Ok(())
}
