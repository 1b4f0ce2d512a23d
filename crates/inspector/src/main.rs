//! The inspector: reads command lines, code, statements, addresses and texts for the monitor, and can do nothing else. The
//! parsers that it links are large and meet hostile input first, so they live where a fault in them reaches nothing: no file, no
//! network, no program, one socket (INV-5).
//!
//! Started by the zygote with that socket as descriptor 3. It makes ready what every answer needs, seals itself before its first
//! read, announces that, and then answers each subject with one inspection until the monitor goes.
//!
//! With the word `classifier` it is the second reader of texts: it has the encoder as descriptors 4 and 5, and answers with what the
//! model adds to an inspection in which nothing was found.

mod channel;
#[cfg(feature = "classifier")]
mod classifier;

use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::Context as _;
use countersign_plan::inspection::{Context, Language, Subject};
use countersign_sandbox::{Layers, announce, inherited, seal_inspector};

/// The descriptor of the socket to the monitor.
const CONTROL: u32 = 3;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Descriptor 2 leads nowhere in production; whoever starts this by hand reads why it ends.
            drop(writeln!(std::io::stderr(), "countersign-inspector: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let control = inherited(CONTROL).context("this program is started by countersign-zygote")?;
    match std::env::args().nth(1).as_deref() {
        None => {
            prepare();
            channel::serve(&mut sealed(control)?, countersign_inspect::inspect)
        }
        #[cfg(feature = "classifier")]
        Some("classifier") => {
            let files = classifier::Files::inherited()?;
            let mut socket = sealed(control)?;
            // Read when nothing can be done any more: the files are somebody's until their digests were compared.
            let classifier = files.load()?;
            channel::serve(&mut socket, |subject| classifier.raise(subject))
        }
        #[cfg(not(feature = "classifier"))]
        Some("classifier") => anyhow::bail!("it was built without the feature `classifier`"),
        Some(_) => anyhow::bail!("it knows the word `classifier`, or none"),
    }
}

/// Seals this process and says so.
fn sealed(control: OwnedFd) -> anyhow::Result<UnixStream> {
    let enforcement = seal_inspector(Layers::all()).context("cannot seal")?;
    announce(control.as_fd(), &enforcement).context("cannot announce")?;
    Ok(UnixStream::from(control))
}

/// What is built on first use (the catalogue, the grammars, the automata) is built now, so that the first answer does not wait.
/// And what asks the kernel once is asked before that is forbidden: how large the stack is, for the parsers that watch it, and how
/// many processors there are, for expressions that are compiled when they are first needed.
fn prepare() {
    let _matched = regex::Regex::new("a|b").is_ok_and(|expression| expression.is_match("b"));
    let context = Context::new("/", "/");
    let text = String::new;
    for subject in [
        Subject::Shell { line: "ls".to_owned(), context: context.clone() },
        // Loop, words, expansion, arithmetic, test: each has a cache of its own in one of the two parsers.
        Subject::Shell {
            line: "for f in *.txt; do [[ -n $f ]] && echo \"${f%.txt}\" $((1 + 1)) <<< \"$(pwd)\"; done".to_owned(),
            context: context.clone(),
        },
        Subject::Code { language: Language::Python, text: text(), context },
        Subject::Sql { text: "SELECT 1".to_owned() },
        Subject::Url { url: "https://localhost/".to_owned() },
        Subject::Text { text: "a text".to_owned() },
    ] {
        drop(countersign_inspect::inspect(&subject));
    }
}
