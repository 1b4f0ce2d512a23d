//! Passphrases: from the terminal itself, or from a descriptor that a script owns. Never from standard input by accident, from
//! an argument or from the environment.

use std::fs::File;
use std::io::Read;

use rpassword::ConfigBuilder;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// The longest passphrase, in bytes.
const LONGEST: usize = 1024;
/// The shortest passphrase for a new key, in characters.
const SHORTEST: usize = 8;

/// A passphrase; overwritten when it is no longer needed.
pub(crate) type Passphrase = Zeroizing<String>;

/// Where a passphrase comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// `/dev/tty`, echo off.
    Terminal,
    /// The first line of a descriptor.
    Descriptor(u32),
}

impl Source {
    /// The descriptor where one was named, else the terminal.
    pub(crate) fn of(descriptor: Option<u32>) -> Self {
        descriptor.map_or(Self::Terminal, Self::Descriptor)
    }

    /// The passphrase of a key that exists; empty where nothing was typed.
    pub(crate) fn ask(self, prompt: &str) -> Result<Passphrase, Failure> {
        match self {
            Self::Terminal => from_terminal(prompt),
            Self::Descriptor(number) => from_descriptor(number),
        }
    }

    /// The passphrase of a new key; on a terminal it is asked for twice.
    pub(crate) fn choose(self) -> Result<Passphrase, Failure> {
        let first = self.ask("New passphrase for the approver key: ")?;
        if first.chars().count() < SHORTEST {
            let message = format!("a passphrase has at least {SHORTEST} characters");
            return Err(Failure::usage(message).fix("several unrelated words are easy to type and hard to guess"));
        }
        if self == Self::Terminal && self.ask("The same again: ")? != first {
            return Err(Failure::usage("the two passphrases differ; nothing was written"));
        }
        Ok(first)
    }
}

fn from_terminal(prompt: &str) -> Result<Passphrase, Failure> {
    let no_terminal = |error: std::io::Error| {
        Failure::usage(format!("no terminal to ask for the passphrase: {error}"))
            .fix("run it on a terminal, or give the passphrase with --passphrase-fd N")
    };
    let config = ConfigBuilder::new().input_file_path("/dev/tty").output_file_path("/dev/tty").build();
    let typed = rpassword::prompt_password_with_config(prompt, config).map_err(no_terminal)?;
    bounded(Zeroizing::new(typed))
}

fn from_descriptor(number: u32) -> Result<Passphrase, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("--passphrase-fd {number}: {error}"))
            .fix("open the descriptor for reading, as in `--passphrase-fd 3 3<FILE`")
    };
    let file = File::open(format!("/proc/self/fd/{number}")).map_err(failed)?;
    read_line(file).map_err(failed).and_then(bounded)
}

/// The first line, without its end.
fn read_line(from: impl Read) -> std::io::Result<Passphrase> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 2));
    from.take(u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(2)).read_to_end(&mut bytes)?;
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let text = std::str::from_utf8(line).map_err(|_| std::io::Error::other("the passphrase is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn bounded(text: Passphrase) -> Result<Passphrase, Failure> {
    if text.len() > LONGEST {
        return Err(Failure::usage(format!("a passphrase has at most {LONGEST} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{bounded, read_line};

    #[test]
    fn a_descriptor_gives_its_first_line() {
        assert_eq!(*read_line(&b"one two\nthree"[..]).unwrap(), "one two");
        assert_eq!(*read_line(&b"no end"[..]).unwrap(), "no end");
        assert!(read_line(&[0xff, b'\n'][..]).is_err());
        assert!(bounded(read_line(&[b'a'; 2000][..]).unwrap()).is_err());
    }
}
