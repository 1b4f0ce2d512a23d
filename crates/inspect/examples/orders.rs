//! Which texts hold an order to an agent by the rules alone: one JSON string a line comes in, `true` or `false` goes out. The
//! baseline of `evals/classifier`.

use std::io::{BufRead as _, Write as _};

use countersign_inspect::{TextKind, text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let read: String = serde_json::from_str(&line?)?;
        let found = text(&read)
            .iter()
            .any(|f| matches!(f.kind, TextKind::Instruction | TextKind::HiddenText | TextKind::HiddenMessage));
        writeln!(out, "{found}")?;
    }
    Ok(())
}
