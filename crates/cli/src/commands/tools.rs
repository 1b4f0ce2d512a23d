//! `tools`: what exists, and what it does to the world. Read from the manifests themselves; no monitor is asked, but for what
//! an MCP server offers.

mod pin;

use std::path::PathBuf;

use countersign_plan::document::Bounds;
use countersign_plan::id::ToolName;
use countersign_plan::tool::{Driver, Manifest, ManifestError, Part, Reversibility, Tool};
use serde_json::{Value, json};

use crate::args::Tools;
use crate::commands::run;
use crate::document;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::render::line::{Line, Tone};

pub(super) fn tools(what: Tools, out: &Out) -> Result<Exit, Failure> {
    match what {
        Tools::List { manifests } => list(&load(&manifests)?, out),
        Tools::Show { name, manifests } => show(&load(&manifests)?, &name, out),
        Tools::Pin { server } => pin::pin(&server, out),
    }
}

fn load(files: &[PathBuf]) -> Result<Manifest, Failure> {
    let mut manifest = run::builtin()?;
    for path in files {
        let bytes = document::read(path, Bounds::CONFIG.bytes)?;
        let named = |error: ManifestError| Failure::usage(format!("{}: {error}", path.display()));
        manifest.load(&bytes).map_err(named)?;
    }
    Ok(manifest)
}

const fn reversibility(word: Reversibility) -> &'static str {
    match word {
        Reversibility::Pure => "pure",
        Reversibility::Snapshot => "snapshot",
        Reversibility::Compensable => "compensable",
        Reversibility::Irreversible => "irreversible",
    }
}

fn list(manifest: &Manifest, out: &Out) -> Result<Exit, Failure> {
    let all: Vec<Value> = manifest.iter().map(summary).collect();
    out.value(&json!({"digest": manifest.digest(), "tools": all}))?;
    let mut lines: Vec<Line> = manifest
        .iter()
        .map(|tool| {
            let tool = tool.definition();
            Line::at(0)
                .tone(Tone::Bold, format!("{:<20} ", tool.name))
                .plain(format!("{:<8} {:<13} ", tool.effect, reversibility(tool.reversibility)))
                .plain(&tool.description)
        })
        .collect();
    lines.push(Line::at(0).tone(Tone::Dim, format!("the whole surface: {}", manifest.digest())));
    out.lines(&lines)?;
    Ok(Exit::Done)
}

fn summary(tool: &Tool) -> Value {
    let definition = tool.definition();
    json!({
        "name": definition.name, "effect": definition.effect, "reversibility": definition.reversibility,
        "description": definition.description, "digest": tool.digest(),
    })
}

fn show(manifest: &Manifest, name: &str, out: &Out) -> Result<Exit, Failure> {
    let unknown = || Failure::usage(format!("no tool `{name}` exists here")).fix("`countersign tools list` lists them");
    let name: ToolName = name.parse().map_err(|_| unknown())?;
    let tool = manifest.get(&name).ok_or_else(unknown)?;
    let definition = tool.definition();
    let value = serde_json::to_value(definition)?;
    out.value(&json!({"digest": tool.digest(), "definition": value}))?;
    let driver = match &definition.driver {
        Driver::None => "none: it exists for evaluation only".to_owned(),
        Driver::Builtin(name) => format!("built in ({name})"),
        Driver::Command(command) => format!("program {}", words(&command.argv)),
        Driver::Http(_) => "HTTP, by the broker".to_owned(),
        Driver::Mcp(mcp) => format!("tool {} of the MCP server {}", mcp.tool, mcp.server),
    };
    let pretty = serde_json::to_string_pretty(&value)?;
    let mut lines = vec![
        Line::at(0).tone(Tone::Bold, definition.name.as_str()).plain(format!("  {}", definition.description)),
        Line::field(1, "effect", definition.effect.as_str()),
        Line::field(1, "taken back", reversibility(definition.reversibility)),
        Line::field(1, "target", definition.target.kind.as_str()),
        Line::field(1, "by", driver),
        Line::field(1, "digest", tool.digest().to_string()),
    ];
    lines.extend(pretty.lines().map(|line| Line::of(1, line)));
    out.lines(&lines)?;
    Ok(Exit::Done)
}

/// A template as people read it.
fn words(argv: &[Part]) -> String {
    let word = |part: &Part| match part {
        Part::Literal(text) => text.clone(),
        Part::Argument(argument) => format!("<{}>", argument.arg),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}
