//! A set of tools: the built-in ones, and those of a deployment.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Arguments, Definition, Driver, Effect, Handed, Part, Reversibility, Tool};
use crate::canonical;
use crate::digest::Digest;
use crate::document::{self, Bounds, DocumentError};
use crate::id::ToolName;
use crate::pointer::Pointer;

/// The built-in tools' manifest, part of the contract (FORMATS §3).
const BUILTIN: &str = include_str!("builtin.yaml");

/// The tools that exist for a case.
#[derive(Debug, Default)]
pub struct Manifest {
    tools: BTreeMap<ToolName, std::sync::Arc<Tool>>,
    /// Of these tools, once somebody has asked for it.
    digest: OnceLock<Digest>,
}

/// Why a manifest was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not a document of this format.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A tool that is defined twice, or that hides a built-in one.
    #[error("/tools/{index}: a tool named `{name}` exists already; rename this one")]
    Taken {
        /// Place in the document.
        index: usize,
        /// The name.
        name: ToolName,
    },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    tools: Vec<Value>,
}

impl Manifest {
    /// The built-in tools.
    ///
    /// # Errors
    /// Never, as a test shows; the error keeps a broken build from allowing anything.
    pub fn builtin() -> Result<Self, ManifestError> {
        let mut manifest = Self::default();
        manifest.load(BUILTIN.as_bytes())?;
        Ok(manifest)
    }

    /// Adds the tools of a `countersign.tools/v1` document.
    ///
    /// # Errors
    /// The first tool that is malformed or taken; nothing is added then.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), ManifestError> {
        let value = document::from_bytes(bytes, Bounds::CONFIG)?;
        let file: File = document::of_schema(&value, "countersign.tools/v1")?;
        self.extend(file.tools)
    }

    /// Adds tools by their definitions.
    ///
    /// # Errors
    /// As [`Manifest::load`].
    pub fn extend(&mut self, definitions: Vec<Value>) -> Result<(), ManifestError> {
        let mut added = Vec::new();
        for (index, value) in definitions.into_iter().enumerate() {
            let tool = check(value).map_err(|e| e.below(&format!("/tools/{index}")))?;
            let name = tool.definition.name.clone();
            if self.tools.contains_key(&name) || added.iter().any(|t: &Tool| t.definition.name == name) {
                return Err(ManifestError::Taken { index, name });
            }
            added.push(tool);
        }
        self.digest = OnceLock::new();
        self.tools.extend(added.into_iter().map(|tool| (tool.definition.name.clone(), std::sync::Arc::new(tool))));
        Ok(())
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &ToolName) -> Option<&Tool> {
        self.tools.get(name).map(std::convert::AsRef::as_ref)
    }

    /// All tools by name.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values().map(std::convert::AsRef::as_ref)
    }

    /// A digest of the whole surface.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let of =
            |(name, tool): (&ToolName, &std::sync::Arc<Tool>)| (name.to_string(), Value::from(tool.digest.to_string()));
        let all = || canonical::digest(&Value::Object(self.tools.iter().map(of).collect()));
        *self.digest.get_or_init(all)
    }
}

fn check(value: Value) -> Result<Tool, DocumentError> {
    let digest = canonical::digest(&value);
    let definition: Definition = document::typed(value)?;
    if definition.args.get("type") != Some(&Value::from("object")) {
        return Err(DocumentError::at("/args/type", "the arguments of a tool are an object"));
    }
    let pointers = [
        ("controls", &definition.controls),
        ("selects", &definition.selects),
        ("carries", &definition.carries),
        ("accepts_secret", &definition.accepts_secret),
    ];
    for (field, list) in pointers {
        for (i, at) in list.iter().enumerate() {
            known(&definition.args, at).map_err(|e| e.below(&format!("/{field}/{i}")))?;
        }
    }
    if let Some(at) = &definition.target.arg {
        known(&definition.args, at).map_err(|e| e.below("/target/arg"))?;
    }
    // A read may leave a trace (a message marked as read); what changes something cannot have nothing to take back.
    let pure = definition.reversibility == Reversibility::Pure;
    if pure && !definition.effect.is_harmless() && definition.effect != Effect::Send {
        let what = format!("an effect `{}` cannot be `pure`", definition.effect);
        return Err(DocumentError::at("/reversibility", what));
    }
    if definition.exposes && definition.effect != Effect::Admin {
        return Err(DocumentError::at("/exposes", "a tool that sees raw secrets has the effect `admin`"));
    }
    driver(&definition)?;
    handed(&definition)?;
    let arguments = Arguments::compile(&definition.args).map_err(|e| DocumentError::at("/args", e))?;
    Ok(Tool { definition, digest, arguments })
}

/// Whether the schema knows the argument at `at`: the first segment must be a declared property.
fn known(args: &Value, at: &Pointer) -> Result<(), DocumentError> {
    let first = at.segments().first().ok_or_else(|| DocumentError::at("", "a pointer into the arguments is needed"))?;
    let declared = args.get("properties").and_then(|p| p.get(first)).is_some();
    if declared || first == "*" {
        Ok(())
    } else {
        Err(DocumentError::at("", format!("the arguments have no property `{}`", crate::text::escape(first))))
    }
}

/// What a program is handed has a place that exists; the value of a secret is handed to none that does not say so, and in no
/// other way.
fn handed(definition: &Definition) -> Result<(), DocumentError> {
    let all = definition.driver.handed();
    for (place, handed) in &all {
        let at = format!("/driver{place}");
        let name = place.rsplit('/').next().unwrap_or_default();
        if !place.ends_with("/stdin") && !is_variable(name) {
            return Err(DocumentError::at(at, "a name of an environment variable is needed"));
        }
        match handed {
            Handed::Literal(_) => {}
            Handed::Argument(argument) => known(&definition.args, &argument.arg).map_err(|e| e.below(&at))?,
            Handed::Secret(_) if definition.exposes => {}
            Handed::Secret(_) => {
                let what = "a program that is handed a secret sees it: say `exposes: true`";
                return Err(DocumentError::at(at, what));
            }
        }
    }
    if let Driver::Command(command) = &definition.driver
        && let Some(twice) = command.env.keys().find(|name| command.files.contains_key(*name))
    {
        let place = format!("/driver/command/files/{}", Pointer::escape(twice));
        return Err(DocumentError::at(place, "the variable has a value already"));
    }
    if !definition.exposes {
        return Ok(());
    }
    if matches!(definition.driver, Driver::Builtin(_) | Driver::Http(_)) {
        return Err(DocumentError::at("/exposes", "only a program can be handed the value of a secret"));
    }
    let nothing = matches!(definition.driver, Driver::None);
    for (i, place) in definition.accepts_secret.iter().enumerate().filter(|_| !nothing) {
        let takes = |handed: &Handed| matches!(handed, Handed::Argument(argument) if argument.arg == *place);
        if !all.iter().any(|(_, handed)| takes(handed)) {
            let what = "a program takes a secret by `env`, `stdin` or `files`, not in its command line or a message";
            return Err(DocumentError::at(format!("/accepts_secret/{i}"), what));
        }
    }
    Ok(())
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// What a driver names has to exist, and what decides where it goes has to be a literal.
fn driver(definition: &Definition) -> Result<(), DocumentError> {
    let argument = |place: String, part: &Part| match part {
        Part::Literal(_) => Ok(()),
        Part::Argument(argument) => known(&definition.args, &argument.arg).map_err(|e| e.below(&place)),
    };
    match &definition.driver {
        Driver::Command(command) => {
            if !matches!(command.argv.first(), Some(Part::Literal(program)) if !program.is_empty() && !program.contains('{'))
            {
                return Err(DocumentError::at("/driver/command/argv/0", "the program is a literal"));
            }
            for (i, part) in command.argv.iter().enumerate() {
                argument(format!("/driver/command/argv/{i}"), part)?;
            }
        }
        Driver::Http(http) => {
            let wrong = |place: &str, what: String| DocumentError::at(format!("/driver/http/{place}"), what);
            if http.method.is_empty() || !http.method.bytes().all(|b| b.is_ascii_uppercase()) {
                return Err(wrong("method", "a method is written in capital letters".to_owned()));
            }
            let rest = http.url.strip_prefix("https://").or_else(|| http.url.strip_prefix("http://"));
            let host = rest.map_or("", |rest| rest.split('/').next().unwrap_or_default());
            if host.is_empty() || host.contains(['{', '}', '@', '?', '#']) {
                return Err(wrong("url", "an http or https URL whose host is a literal is needed".to_owned()));
            }
            for segment in http.url.split('/') {
                let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { continue };
                if definition.args.get("properties").and_then(|p| p.get(name)).is_none() {
                    return Err(wrong(
                        "url",
                        format!("the arguments have no property `{}`", crate::text::escape(name)),
                    ));
                }
            }
            for (field, parts) in [("query", &http.query), ("headers", &http.headers), ("form", &http.form)] {
                for (name, part) in parts {
                    argument(format!("/driver/http/{field}/{name}"), part)?;
                }
            }
            if let Some(at) = http.json.as_ref().filter(|at| !at.segments().is_empty()) {
                known(&definition.args, at).map_err(|e| e.below("/driver/http/json"))?;
            }
            if http.json.is_some() && !http.form.is_empty() {
                return Err(wrong("json", "a body is a form or a JSON document, not both".to_owned()));
            }
        }
        Driver::None | Driver::Builtin(_) | Driver::Mcp(_) => {}
    }
    Ok(())
}
