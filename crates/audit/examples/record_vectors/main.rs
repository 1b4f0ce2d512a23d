//! Writes the conformance vectors of this crate (`conformance/README.md`): `cargo run -p countersign-audit --example record_vectors`.
//!
//! Roots and refusals are written down by hand; this program adds proofs and signatures, and fails where the implementation
//! and an expectation differ. A test compares the checked-in files with what this writes.

mod files;

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    for (name, text) in files::all()? {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
