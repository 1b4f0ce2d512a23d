//! The few things that the kernel and the loader read of a program's file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB, FileHeader32, FileHeader64, PT_LOAD};
use object::read::elf::{Dyn as _, FileHeader, ProgramHeader as _};
use object::read::{ReadCache, StringTable};

/// The most bytes of a script's first line, as the kernel reads (`BINPRM_BUF_SIZE`).
const FIRST_LINE: u64 = 256;

/// A file that can be executed.
pub(super) enum Kind {
    /// Machine code.
    Elf(Image),
    /// A script, with its interpreter and the rest of the first line.
    Script { interpreter: PathBuf, argument: String },
}

/// Of an ELF file, what decides about its libraries.
#[derive(Debug, Clone, Default)]
pub(super) struct Image {
    pub(super) path: PathBuf,
    /// Class and machine: a library must have the same.
    pub(super) machine: (bool, u16),
    /// `PT_INTERP`: the loader. A static program has none.
    pub(super) interpreter: Option<PathBuf>,
    /// `DT_NEEDED`, in order.
    pub(super) needed: Vec<OsString>,
    /// `DT_RPATH`, absolute folders.
    pub(super) rpath: Vec<PathBuf>,
    /// `DT_RUNPATH`, absolute folders.
    pub(super) runpath: Vec<PathBuf>,
}

impl Image {
    /// Reads a file's headers.
    ///
    /// # Errors
    /// In words for people.
    pub(super) fn read(path: &Path) -> Result<Kind, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut file = File::open(path).map_err(|error| failed(&error))?;
        let mut start = Vec::new();
        file.by_ref().take(FIRST_LINE).read_to_end(&mut start).map_err(|error| failed(&error))?;
        if start.starts_with(b"#!") {
            return script(&start).ok_or_else(|| failed(&"its first line names no interpreter"));
        }
        let read = match start.get(..5) {
            Some(b"\x7fELF\x02") => elf::<FileHeader64<Endianness>>(path, file),
            Some(b"\x7fELF\x01") => elf::<FileHeader32<Endianness>>(path, file),
            _ => return Err(failed(&"neither a program nor a script")),
        };
        read.map(Kind::Elf).map_err(|error| failed(&error))
    }
}

/// The first line of a script: blanks, the interpreter, blanks, one argument.
fn script(start: &[u8]) -> Option<Kind> {
    let line = start.get(2..)?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim();
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    interpreter
        .starts_with('/')
        .then(|| Kind::Script { interpreter: interpreter.into(), argument: argument.trim().to_owned() })
}

fn elf<Header: FileHeader<Endian = Endianness>>(path: &Path, file: File) -> object::read::Result<Image> {
    let cache = ReadCache::new(file);
    let header = Header::parse(&cache)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, &cache)?;
    let mut image =
        Image { path: path.to_owned(), machine: (header.is_class_64(), header.e_machine(endian)), ..Image::default() };
    for segment in segments {
        if let Some(loader) = segment.interpreter(endian, &cache)? {
            image.interpreter = Some(PathBuf::from(OsStr::from_bytes(loader)));
        }
        let Some(dynamic) = segment.dynamic(endian, &cache)? else { continue };
        let value = |tag: i64| dynamic.iter().find(|entry| entry.tag(endian) == tag).map(|entry| entry.val(endian));
        let (Some(address), Some(size)) = (value(DT_STRTAB), value(DT_STRSZ)) else { continue };
        // An address of the loaded program; where it lies in the file, the segment that holds it says.
        let offset = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD).find_map(|segment| {
            let within = address.checked_sub(segment.p_vaddr(endian).into())?;
            (within < segment.p_filesz(endian).into()).then(|| segment.p_offset(endian).into().checked_add(within))?
        });
        let Some(offset) = offset else { continue };
        let strings = StringTable::new(&cache, offset, offset.saturating_add(size));
        for entry in dynamic {
            match entry.tag(endian) {
                DT_NEEDED => image.needed.push(OsString::from_vec(entry.string(endian, strings)?.to_vec())),
                DT_RPATH => image.rpath = folders(path, entry.string(endian, strings)?),
                DT_RUNPATH => image.runpath = folders(path, entry.string(endian, strings)?),
                _ => {}
            }
        }
    }
    Ok(image)
}

/// The folders of a `DT_RPATH` or `DT_RUNPATH`: colons between, `$ORIGIN` the file's own folder. Other variables and relative folders are left out.
fn folders(path: &Path, text: &[u8]) -> Vec<PathBuf> {
    let origin = path.parent().and_then(Path::to_str).unwrap_or_default();
    let folders = String::from_utf8_lossy(text).replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin);
    folders.split(':').filter(|folder| folder.starts_with('/') && !folder.contains('$')).map(PathBuf::from).collect()
}
