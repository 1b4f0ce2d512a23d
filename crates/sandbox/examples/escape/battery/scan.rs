//! Runs a whole battery: which probes are valid here, which get through, and which layers stop each.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use countersign_sandbox::{Layer, Layers, Variant};

use super::checks::Check;
use super::harness::{Harness, Seen, Setting, uid};
use super::probe::{Class, Probe};
use super::sys::call;
use super::{lead_session, planner, step};

/// Which battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// A sealed planner.
    Planner,
    /// A program of a step, of this variant.
    Step(Variant),
}

impl Which {
    /// The word for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Step(Variant::Exact) => "step-exact",
            Self::Step(Variant::Toolchain) => "step-toolchain",
        }
    }

    fn setting(self, layers: Layers) -> Setting {
        match self {
            Self::Planner => Setting::Planner(layers),
            Self::Step(variant) => Setting::Step(variant, layers),
        }
    }

    fn outside(self) -> Setting {
        match self {
            Self::Planner => Setting::Outside,
            Self::Step(_) => Setting::OutsideStep,
        }
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The battery.
    pub(crate) which: Which,
    /// Also with single groups of layers, without single groups, and without single layers.
    pub(crate) layers: bool,
    /// With namespaces made in advance, as the zygote has them.
    pub(crate) spares: bool,
    /// Only these ids; all if empty.
    pub(crate) only: Vec<String>,
}

/// A group of layers with its letter (SANDBOX section 5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Its letter.
    pub(crate) letter: char,
    /// What is on when only this group is.
    pub(crate) alone: Layers,
    /// What is on when everything but this group is.
    pub(crate) without: Layers,
}

/// The five groups. Landlock and seccomp need `no_new_privs` to be installed without privilege, so it comes with each.
fn groups() -> [Group; 5] {
    let root = uid() == 0;
    let hygiene = Layers::of(&[Layer::Descriptors, Layer::Environment, Layer::Session]);
    let user = if root { Layers::of(&[Layer::UserNamespace]) } else { Layers::none() };
    let restrict = Layers::of(&[Layer::ResourceLimits, Layer::Capabilities]);
    let restrict_alone = Layers::of(&[Layer::ResourceLimits, Layer::Capabilities, Layer::UserNamespace]);
    let spaces = Layers::NAMESPACES.minus(Layers::of(&[Layer::UserNamespace]));
    let all = Layers::all();
    [
        Group { letter: 'H', alone: hygiene, without: all.minus(hygiene) },
        Group { letter: 'R', alone: restrict_alone, without: all.minus(restrict).minus(user) },
        Group { letter: 'N', alone: Layers::NAMESPACES, without: all.minus(spaces) },
        Group {
            letter: 'L',
            alone: Layers::of(&[Layer::NoNewPrivileges, Layer::Landlock]),
            without: all.without(Layer::Landlock),
        },
        Group {
            letter: 'S',
            alone: Layers::of(&[Layer::NoNewPrivileges, Layer::Seccomp]),
            without: all.without(Layer::Seccomp),
        },
    ]
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The probe's id.
    pub(crate) id: String,
    /// Its class.
    pub(crate) class: &'static str,
    /// Its name.
    pub(crate) name: &'static str,
    /// What it tries.
    pub(crate) tries: &'static str,
    /// Unsandboxed.
    pub(crate) outside: Seen,
    /// With all layers.
    pub(crate) inside: Seen,
    /// Per group: with it alone, and without it.
    pub(crate) groups: Vec<(char, Seen, Seen)>,
    /// Per layer: with everything but it.
    pub(crate) without: Vec<(Layer, Seen)>,
    /// Why it may come through, where that is by design.
    pub(crate) allowed: Option<&'static str>,
}

impl Row {
    /// Whether it proves something on this machine.
    pub(crate) fn valid(&self) -> bool {
        self.outside.worked()
    }

    /// Whether it is something that must work.
    pub(crate) fn control(&self) -> bool {
        self.class == step::CONTROLS
    }

    /// Whether it came through although nothing says that it may.
    pub(crate) fn escaped(&self) -> bool {
        self.valid() && !self.control() && self.inside.worked() && self.allowed.is_none()
    }

    /// Whether the harness failed somewhere: then nothing is known.
    pub(crate) fn broken(&self) -> bool {
        let broken = |seen: &Seen| matches!(seen, Seen::Broken(_));
        broken(&self.outside)
            || (self.valid() && (broken(&self.inside) || self.groups.iter().any(|(_, a, w)| broken(a) || broken(w))))
    }
}

/// A whole run.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The battery.
    pub(crate) which: Which,
    /// Whether root ran it.
    pub(crate) root: bool,
    /// The lines.
    pub(crate) rows: Vec<Row>,
    /// Attacks on the spawner.
    pub(crate) checks: Vec<Check>,
    /// What the sandbox says about itself.
    pub(crate) gaps: Vec<String>,
    /// What was left behind by all runs inside.
    pub(crate) leftovers: Vec<String>,
    /// How long it took.
    pub(crate) seconds: f64,
}

impl Scan {
    /// Probes that work unsandboxed.
    pub(crate) fn valid(&self) -> usize {
        self.rows.iter().filter(|row| row.valid() && !row.control()).count()
    }

    /// Valid probes that do not come through.
    pub(crate) fn stopped(&self) -> usize {
        self.rows.iter().filter(|row| row.valid() && !row.control() && !row.broken() && !row.inside.worked()).count()
    }

    /// Whether everything that was tested holds.
    pub(crate) fn holds(&self) -> bool {
        self.leftovers.is_empty()
            && self.checks.iter().all(Check::held)
            && !self.rows.iter().any(|row| row.escaped() || row.broken())
    }
}

fn classes(which: Which) -> impl Iterator<Item = (&'static str, &'static Probe)> {
    let own: &[Class] = match which {
        Which::Planner => planner::CLASSES,
        Which::Step(_) => step::CLASSES,
    };
    let shared = planner::CLASSES
        .iter()
        .flat_map(|class| class.probes.iter().map(move |probe| (class.name, probe)))
        .filter(move |(_, probe)| which != Which::Planner && step::SHARED.contains(&probe.id));
    own.iter().flat_map(|class| class.probes.iter().map(move |probe| (class.name, probe))).chain(shared)
}

/// Brings up the loopback of the network that this process has been moved into, for the doors.
fn loopback_up() -> Result<()> {
    const SIOCSIFFLAGS: u32 = 0x8914;
    let fail = |what: &'static str| move |errno| anyhow!("{what}: {errno}");
    let socket = call!(SYS_socket, libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).map_err(fail("socket"))?;
    // `struct ifreq`: a name of 16 bytes, then the flags, of which the first says "up".
    let mut request = [0_u8; 40];
    for (place, byte) in request.iter_mut().zip(*b"lo\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01") {
        *place = byte;
    }
    call!(SYS_ioctl, i32::try_from(socket)?, SIOCSIFFLAGS, &mut request).map_err(fail("bring the loopback up"))?;
    let _ = call!(SYS_close, i32::try_from(socket)?);
    Ok(())
}

/// Runs a battery. The caller must be the process that [`super::in_own_session`] started.
pub(crate) fn scan(options: &Options) -> Result<Scan> {
    let started = Instant::now();
    lead_session()?;
    if options.spares {
        countersign_sandbox::keep_spares();
        loopback_up()?;
    }
    // Where nothing is left of another run, and everybody may look.
    let folder = tempfile::Builder::new()
        .prefix("escape-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in("/tmp")
        .context("a folder for the playground")?;
    let base = folder.path();
    let program = std::env::current_exe().context("find this program")?;
    let mut harness = Harness::new(base, &program)?;
    let which = options.which;
    let mut rows = Vec::new();
    let before = super::survivors::leftovers(&harness.world.base)?;
    for (class, probe) in classes(which) {
        if !options.only.is_empty() && !options.only.iter().any(|id| id == probe.id) {
            continue;
        }
        let outside = harness.run(probe, which.outside());
        let inside = harness.run(probe, which.setting(Layers::all()));
        let (mut columns, mut left_out) = (Vec::new(), Vec::new());
        if options.layers && outside.worked() && class != step::CONTROLS {
            for group in groups() {
                let alone = harness.run(probe, which.setting(group.alone));
                let without = harness.run(probe, which.setting(group.without));
                columns.push((group.letter, alone, without));
            }
            for layer in Layer::ALL {
                left_out.push((layer, harness.run(probe, which.setting(Layers::all().without(layer)))));
            }
        }
        let (id, name, tries) = (probe.id.to_owned(), probe.name, probe.tries);
        let allowed = allowed(which, probe.id, harness.gaps());
        rows.push(Row { id, class, name, tries, outside, inside, groups: columns, without: left_out, allowed });
    }
    if rows.is_empty() {
        return Err(anyhow!("no probe matches"));
    }
    let checks = match which {
        // A child without a namespace of its own gets one that its spawner leaves: nothing is missing then.
        _ if !options.only.is_empty() || options.spares => Vec::new(),
        Which::Planner => harness.check_attestation()?,
        Which::Step(variant) => harness.check_step(variant)?,
    };
    let after = super::survivors::leftovers(&harness.world.base)?;
    let leftovers = after.into_iter().filter(|left| !before.contains(left)).collect();
    let gaps = harness.gaps().to_vec();
    Ok(Scan { which, root: uid() == 0, rows, checks, gaps, leftovers, seconds: started.elapsed().as_secs_f64() })
}

/// What may come through, and why.
fn allowed(which: Which, id: &str, gaps: &[String]) -> Option<&'static str> {
    let list = match which {
        Which::Planner => planner::ALLOWED,
        Which::Step(Variant::Exact) => step::ALLOWED_EXACT,
        Which::Step(Variant::Toolchain) => step::ALLOWED_TOOLCHAIN,
    };
    let reported = step::NEEDS_CONTROLLER.contains(&id) && gaps.iter().any(|gap| gap.contains("memory"));
    if reported {
        return Some("no memory controller is delegated here, which the sandbox reports as a gap");
    }
    list.iter().find(|(allowed, _)| *allowed == id).map(|(_, why)| *why)
}
