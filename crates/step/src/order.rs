//! The order, from a memory file that the zygote compared with the permit and that nobody can change any more.

use std::io::Read as _;
use std::os::fd::OwnedFd;

use anyhow::{Context as _, bail};
use countersign_plan::confinement::Profile;
use countersign_plan::document::{self, Bounds};
use countersign_sandbox::{StepSeal, Variant};
use countersign_wire::step::{ORDER_LIMIT, Order};

/// Reads and checks the order.
pub(crate) fn read(file: OwnedFd) -> anyhow::Result<Order> {
    let mut bytes = Vec::new();
    let most = u64::try_from(ORDER_LIMIT).unwrap_or(u64::MAX).saturating_add(1);
    // The offset is shared with the writer: wherever it stands, reading starts at the first byte.
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).context("order")?;
    std::fs::File::from(file).take(most).read_to_end(&mut bytes).context("order")?;
    if bytes.len() > ORDER_LIMIT {
        bail!("the order is larger than {ORDER_LIMIT} bytes");
    }
    let bounds = Bounds { bytes: ORDER_LIMIT, depth: 64, values: 1 << 18 };
    document::typed(document::from_json(&bytes, bounds).context("order")?).context("order")
}

/// The seal that a profile needs.
pub(crate) const fn seal(profile: Profile) -> StepSeal {
    match profile {
        Profile::None => StepSeal::Builtin,
        Profile::Exact => StepSeal::Program(Variant::Exact),
        Profile::Toolchain => StepSeal::Program(Variant::Toolchain),
    }
}
