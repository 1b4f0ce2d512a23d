//! What a shell keeps: variables, functions, aliases, positional parameters and the current folder.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast::FunctionBody;

use super::value::Word;

/// The most folders that are followed side by side.
const MAX_FOLDERS: usize = 4;

/// A shell variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    /// One value.
    Scalar(Word),
    /// Several, by index.
    Array(Vec<Word>),
    /// Removed.
    Unset,
    /// Set to something, or to nothing, depending on what ran.
    Unknown,
}

/// The state of a shell. Cloned for subshells.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    variables: Rc<BTreeMap<String, Variable>>,
    functions: Rc<BTreeMap<String, Rc<FunctionBody>>>,
    aliases: Rc<BTreeMap<String, String>>,
    /// `$0` and the parameters.
    pub(crate) parameters: Vec<Word>,
    /// Whether the parameters are those that are listed.
    pub(crate) parameters_known: bool,
    /// The folders that the shell may be in; none where that is unknown.
    folders: Rc<Vec<String>>,
    previous: Rc<Vec<String>>,
    /// Whether an error ends the shell.
    pub(crate) errexit: bool,
}

impl Scope {
    pub(crate) fn new(folder: String) -> Self {
        Self {
            variables: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            parameters: vec![Word::text("bash")],
            parameters_known: false,
            folders: Rc::new(vec![folder]),
            previous: Rc::default(),
            errexit: false,
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// The names of all variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    pub(crate) fn set(&mut self, name: &str, value: Variable) {
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Puts a variable back to what it was before.
    pub(crate) fn put_back(&mut self, name: &str, value: Option<Variable>) {
        match value {
            Some(value) => Rc::make_mut(&mut self.variables).insert(name.to_owned(), value),
            None => Rc::make_mut(&mut self.variables).remove(name),
        };
    }

    pub(crate) fn function(&self, name: &str) -> Option<Rc<FunctionBody>> {
        self.functions.get(name).cloned()
    }

    pub(crate) fn define(&mut self, name: &str, body: FunctionBody) {
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), Rc::new(body));
    }

    pub(crate) fn undefine(&mut self, name: &str) {
        Rc::make_mut(&mut self.functions).remove(name);
    }

    pub(crate) fn alias(&self, name: &str) -> Option<&str> {
        self.aliases.get(name).map(String::as_str)
    }

    pub(crate) fn set_alias(&mut self, name: &str, value: &str) {
        Rc::make_mut(&mut self.aliases).insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn unalias(&mut self, name: Option<&str>) {
        match name {
            Some(name) => {
                Rc::make_mut(&mut self.aliases).remove(name);
            }
            None => self.aliases = Rc::default(),
        }
    }

    /// The folders that the shell may be in, or `None` where nothing is known.
    pub(crate) fn folders(&self) -> Option<&[String]> {
        (!self.folders.is_empty()).then_some(self.folders.as_slice())
    }

    /// Where `cd -` leads.
    pub(crate) fn previous(&self) -> Option<&[String]> {
        (!self.previous.is_empty()).then_some(self.previous.as_slice())
    }

    /// Changes the folder; no folder means an unknown one.
    pub(crate) fn change_folder(&mut self, mut to: Vec<String>) {
        if to.len() > MAX_FOLDERS {
            to.clear();
        }
        self.previous = std::mem::replace(&mut self.folders, Rc::new(to));
    }

    /// Forgets what a file that is not seen may have changed.
    pub(crate) fn forget(&mut self) {
        for value in Rc::make_mut(&mut self.variables).values_mut() {
            *value = Variable::Unknown;
        }
    }

    /// This state, in the folders of `before`: what holds where a change of folder did not work.
    pub(crate) fn if_folder_change_failed(&self, before: &Self) -> Self {
        Self { folders: Rc::clone(&before.folders), previous: Rc::clone(&before.previous), ..self.clone() }
    }

    /// Adds other folders to those that the shell may be in; none means that nothing is known.
    pub(crate) fn join_folders(&mut self, others: &Rc<Vec<String>>) {
        if Rc::ptr_eq(&self.folders, others) || self.folders == *others {
            return;
        }
        let folders = Rc::make_mut(&mut self.folders);
        if folders.is_empty() || others.is_empty() {
            folders.clear();
            return;
        }
        for folder in others.iter() {
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        if folders.len() > MAX_FOLDERS {
            folders.clear();
        }
    }

    /// The same folders, to compare with later.
    pub(crate) fn here(&self) -> Rc<Vec<String>> {
        Rc::clone(&self.folders)
    }

    /// Whether variables and folders are those of `other`.
    pub(crate) fn same_values(&self, other: &Self) -> bool {
        self.variables == other.variables && self.folders == other.folders
    }

    /// The state where either this or `other` came about.
    pub(crate) fn join(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            self.join_variables(other);
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let functions = Rc::make_mut(&mut self.functions);
            for (name, body) in other.functions.iter() {
                functions.entry(name.clone()).or_insert_with(|| Rc::clone(body));
            }
        }
        if !Rc::ptr_eq(&self.aliases, &other.aliases) {
            let aliases = Rc::make_mut(&mut self.aliases);
            for (name, value) in other.aliases.iter() {
                aliases.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self.join_folders(&other.here());
        self.parameters_known &= other.parameters_known && self.parameters == other.parameters;
        self.errexit &= other.errexit;
    }

    fn join_variables(&mut self, other: &Self) {
        let mine = Rc::make_mut(&mut self.variables);
        for (name, value) in other.variables.iter() {
            if mine.get(name) != Some(value) {
                mine.insert(name.clone(), Variable::Unknown);
            }
        }
        for (name, value) in mine.iter_mut() {
            if !other.variables.contains_key(name) {
                *value = Variable::Unknown;
            }
        }
    }
}
