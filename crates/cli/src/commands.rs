//! The commands, one file each. Each takes what was typed and returns how it ended.

mod approve;
mod audit;
mod check;
mod completions;
mod deny;
mod doctor;
mod eval;
mod extend;
mod flow;
mod halt;
mod init;
mod keys;
mod pending;
mod policy;
mod pursue;
mod resume;
mod run;
mod schema;
mod show;
mod status;
mod tools;
mod trust;

use std::path::PathBuf;

use countersign_plan::id::CaseId;
use countersign_wire::operator::Done;
use countersign_wire::propose::{CaseView, to_monitor};
use serde_json::{Map, Value};

use crate::args::{Command, Given, Signer};
use crate::document;
use crate::failure::{Exit, Failure};
use crate::key::SealedKey;
use crate::out::Out;
use crate::paths::{self, Paths};

/// Does what was asked.
pub(crate) fn perform(command: Command, out: &mut Out) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(&args, out),
        Command::Check(args) => check::check(&args, out),
        Command::Pending => pending::pending(out),
        Command::Show(args) => show::show(&args, out),
        Command::Approve(args) => approve::approve(&args, out),
        Command::Deny(args) => deny::deny(&args, out),
        Command::Halt(args) => halt::halt(&args, out),
        Command::Resume(args) => resume::resume(&args, out),
        Command::Keys(what) => keys::keys(what, out),
        Command::Trust(args) => trust::trust(&args, out),
        Command::Audit(what) => audit::audit(what, out),
        Command::Policy(what) => policy::policy(what, out),
        Command::Flow(args) => flow::flow(&args, out),
        Command::Eval(args) => eval::eval(&args, out),
        Command::Tools(what) => tools::tools(what, out),
        Command::Doctor => doctor::doctor(out),
        Command::Status => status::status(out),
        Command::Up => status::up(out),
        Command::Down => status::down(out),
        Command::Init => init::init(out),
        Command::Completions { shell } => completions::completions(shell, out),
        Command::Schema(args) => schema::schema(&args, out),
    }
}

/// A proposal from what was typed.
fn submission(
    bytes: Vec<u8>,
    goal: Option<&String>,
    given: &Given,
    check: bool,
) -> Result<to_monitor::Submit, Failure> {
    let cwd = paths::current_folder()?;
    let deployment = document::deployment(given.deployment.as_deref(), &cwd)?;
    Ok(to_monitor::Submit {
        document: bytes,
        goal: goal.cloned(),
        inputs: inputs(&given.inputs)?,
        cwd: text(cwd)?,
        deployment: deployment.map(text).transpose()?.unwrap_or_default(),
        agent: given.agent.to_string(),
        check,
        guarded: false,
    })
}

/// Paths cross the wire as text; one that is none would be judged as another.
fn text(path: PathBuf) -> Result<String, Failure> {
    path.into_os_string()
        .into_string()
        .map_err(|path| Failure::usage(format!("{}: this path is not UTF-8", path.display())).fix("rename it"))
}

/// `NAME=VALUE` to a JSON object; a value that is no JSON is text.
fn inputs(given: &[String]) -> Result<Vec<u8>, Failure> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let mut members = Map::new();
    for pair in given {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--input {pair}: no `=` in it")).fix("write --input NAME=VALUE"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        if members.insert(name.to_owned(), value).is_some() {
            return Err(Failure::usage(format!("--input {name}: given twice")));
        }
    }
    Ok(Value::Object(members).to_string().into_bytes())
}

/// The key that was named, else the one of the configuration folder.
fn key(signer: &Signer, paths: &Paths) -> Result<SealedKey, Failure> {
    let path = signer.key.clone().unwrap_or_else(|| paths.approver_key());
    Ok(SealedKey::read(&path)?)
}

/// The verdict of a case, typed.
fn verdict_of(view: &CaseView) -> Result<countersign_plan::verdict::Verdict, Failure> {
    Ok(serde_json::from_value(view.verdict.clone())?)
}

/// Where a case stands after what was done; a case that is not told of is not known to have moved.
fn stage_of<'a>(done: &'a Done, case: &CaseId) -> &'a str {
    done.cases.iter().find(|told| told.case == case.as_str()).map_or("unknown", |told| &told.stage)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::inputs;

    #[test]
    fn inputs_are_json_or_text_and_never_given_twice() {
        let bytes = inputs(&["n=3".to_owned(), "s=a=b".to_owned(), "l=[1]".to_owned()]).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), json!({"n": 3, "s": "a=b", "l": [1]}));
        assert!(inputs(&["n".to_owned()]).is_err());
        assert!(inputs(&["n=1".to_owned(), "n=2".to_owned()]).is_err());
        assert!(inputs(&[]).unwrap().is_empty());
    }
}
