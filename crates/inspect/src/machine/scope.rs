//! What a shell keeps: variables, functions, aliases, positional parameters and the current folder.

use std::collections::BTreeMap;
use std::rc::Rc;

use brush_parser::ast::FunctionBody;

use super::value::{Part, Word};
use crate::bounded::has_room;

/// The most folders that are followed side by side.
const MAX_FOLDERS: usize = 4;

/// The most functions.
const MAX_FUNCTIONS: usize = 512;

/// The most bodies of one function that are followed side by side.
const MAX_BODIES: usize = 8;

/// The most origins that a value has which is one of several.
const MAX_ORIGINS: usize = 4;

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

impl Variable {
    /// An array of which nothing is known.
    pub(crate) fn any_array(name: &str) -> Self {
        Self::Array(vec![Word::holes(name)])
    }

    /// Either this or `other`, as the value of `name`. What it may hold has its origins still.
    fn or(&self, other: &Self, name: &str) -> Self {
        let words = |value: &Self| match value {
            Self::Scalar(word) => std::slice::from_ref(word).to_vec(),
            Self::Array(words) => words.clone(),
            Self::Unset | Self::Unknown => Vec::new(),
        };
        if let (Self::Array(_), _) | (_, Self::Array(_)) = (self, other) {
            return Self::any_array(name);
        }
        let mut either = Word::hole(name);
        for word in words(self).iter().chain(&words(other)) {
            for part in word.parts() {
                let own = matches!(part, Part::Hole { name: hole, .. } if hole == name);
                let room = either.parts().len() <= MAX_ORIGINS;
                if matches!(part, Part::Hole { .. }) && !own && room && !either.parts().contains(part) {
                    either.push(part.clone());
                }
            }
        }
        if either.parts().len() > 1 { Self::Scalar(either) } else { Self::Unknown }
    }
}

/// What a name stands for as a function.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    /// The bodies that it may have.
    pub(crate) bodies: Vec<Rc<FunctionBody>>,
    /// Whether it is one in any case, and not only where some branch ran.
    pub(crate) always: bool,
}

impl Function {
    fn same(&self, other: &Self) -> bool {
        self.always == other.always
            && self.bodies.len() == other.bodies.len()
            && self.bodies.iter().zip(&other.bodies).all(|(a, b)| Rc::ptr_eq(a, b))
    }
}

/// What a variable was before a function made it its own: its value and its attributes.
type Kept = (Option<Variable>, Option<String>);

/// The folders that a shell may be in, and that it may go back to.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    folders: Rc<Vec<String>>,
    previous: Rc<Vec<String>>,
}

/// The state of a shell. Cloned for subshells.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    variables: Rc<BTreeMap<String, Variable>>,
    /// The letters of `declare` that a name has: `x` exported, `r` only to be read, `l`, `u`, `c` and `i` what becomes of a value. Of a
    /// function it is the name with `()`.
    attributes: Rc<BTreeMap<String, String>>,
    functions: Rc<BTreeMap<String, Function>>,
    aliases: Rc<BTreeMap<String, String>>,
    /// The variables of the function under way, with what they are outside of it.
    locals: Rc<BTreeMap<String, Kept>>,
    /// `$0` and the parameters.
    pub(crate) parameters: Rc<Vec<Word>>,
    /// Whether the parameters are those that are listed.
    pub(crate) parameters_known: bool,
    /// The folders that the shell may be in; none where that is unknown.
    folders: Rc<Vec<String>>,
    previous: Rc<Vec<String>>,
    /// Whether an error ends the shell.
    pub(crate) errexit: bool,
    /// Whether each variable that is set is exported.
    pub(crate) allexport: bool,
    /// Whether the last member of a pipeline runs in the shell itself.
    pub(crate) lastpipe: bool,
    /// Whether a pattern that nothing matches is no word.
    pub(crate) nullglob: bool,
    /// Whether nothing goes on from here: what comes next is read, and its state is none of those that come about.
    pub(crate) left: bool,
}

impl Scope {
    pub(crate) fn new(folder: String) -> Self {
        Self {
            variables: Rc::default(),
            attributes: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            locals: Rc::default(),
            parameters: Rc::new(vec![Word::text("bash")]),
            parameters_known: false,
            folders: Rc::new(vec![folder]),
            previous: Rc::default(),
            errexit: false,
            allexport: false,
            lastpipe: false,
            nullglob: false,
            left: false,
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// The names of all variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Sets a variable, as far as its attributes let it be.
    pub(crate) fn set(&mut self, name: &str, value: Variable) {
        let value = match self.attributes.get(name) {
            Some(letters) => self.as_declared(name, letters, value),
            None => value,
        };
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        if self.allexport {
            self.mark(name, 'x', true);
        }
    }

    /// What becomes of a value (Bash reference manual 4.2, "declare"): who may only be read stays, letters and sums are changed.
    fn as_declared(&self, name: &str, letters: &str, value: Variable) -> Variable {
        let same = |text: &str| {
            letters.chars().all(|letter| match letter {
                'l' => text.to_lowercase() == text,
                'u' => text.to_uppercase() == text,
                'c' => false,
                'i' => text.parse::<i64>().is_ok_and(|n| n.to_string() == text),
                _ => true,
            })
        };
        let stays = letters.contains('r') && self.variable(name).is_some_and(|before| *before != value);
        let kept = match &value {
            Variable::Scalar(word) => match word.constant() {
                Some(text) => same(text),
                None => !letters.contains(['l', 'u', 'c']),
            },
            Variable::Array(words) => words.iter().all(|word| word.constant().is_some_and(same)),
            Variable::Unset | Variable::Unknown => true,
        };
        match (stays || !kept, &value) {
            (false, _) => value,
            (true, Variable::Array(_)) => Variable::any_array(name),
            (true, _) => Variable::Unknown,
        }
    }

    /// Gives a name an attribute or takes it away.
    pub(crate) fn mark(&mut self, name: &str, letter: char, on: bool) {
        let has = self.attributes.get(name).is_some_and(|letters| letters.contains(letter));
        if has == on {
            return;
        }
        let letters = Rc::make_mut(&mut self.attributes).entry(name.to_owned()).or_default();
        if on { letters.push(letter) } else { letters.retain(|own| own != letter) }
    }

    /// Whether what a variable is given is an expression that is computed.
    pub(crate) fn is_sum(&self, name: &str) -> bool {
        self.attributes.get(name).is_some_and(|letters| letters.contains('i'))
    }

    pub(crate) fn is_exported(&self, name: &str) -> bool {
        self.attributes.get(name).is_some_and(|letters| letters.contains('x'))
    }

    /// Takes what is exported away from the programs that are started.
    pub(crate) fn export_nothing(&mut self) {
        for letters in Rc::make_mut(&mut self.attributes).values_mut() {
            letters.retain(|letter| letter != 'x');
        }
    }

    /// The state of a shell that is started as a program (POSIX XCU 2.12): what is exported, what the environment had before, and what was
    /// taken out of it.
    pub(crate) fn child(&self, of_environment: impl Fn(&str) -> bool) -> Self {
        let mut child = Self { aliases: Rc::default(), locals: Rc::default(), ..self.clone() };
        (child.errexit, child.allexport, child.lastpipe, child.left) = (false, false, false, false);
        let passed = |name: &str, value: &Variable| {
            matches!(value, Variable::Unset)
                || (self.is_exported(name) || of_environment(name)) && !matches!(value, Variable::Array(_))
        };
        if !self.variables.iter().all(|(name, value)| passed(name, value)) {
            Rc::make_mut(&mut child.variables).retain(|name, value| passed(name, value));
        }
        let exported = |name: &String| self.is_exported(&format!("{name}()"));
        if !self.functions.keys().all(exported) {
            Rc::make_mut(&mut child.functions).retain(|name, _| exported(name));
        }
        if self.attributes.values().any(|letters| letters != "x") {
            let attributes = Rc::make_mut(&mut child.attributes);
            attributes.values_mut().for_each(|letters| letters.retain(|letter| letter == 'x'));
        }
        child
    }

    /// Puts a variable back to what it was before.
    pub(crate) fn put_back(&mut self, name: &str, value: Option<Variable>) {
        match value {
            Some(value) => Rc::make_mut(&mut self.variables).insert(name.to_owned(), value),
            None => Rc::make_mut(&mut self.variables).remove(name),
        };
    }

    /// Makes a variable one of the function under way. One that had a value outside has none, or that one (Bash reference manual 4.2,
    /// "local"; dash(1)).
    pub(crate) fn localise(&mut self, name: &str) {
        if self.locals.contains_key(name) {
            return;
        }
        let attributes =
            if self.attributes.contains_key(name) { Rc::make_mut(&mut self.attributes).remove(name) } else { None };
        let outside = self.variable(name).cloned();
        if matches!(outside, Some(Variable::Scalar(_) | Variable::Array(_))) {
            self.put_back(name, Some(Variable::Unknown));
        }
        Rc::make_mut(&mut self.locals).insert(name.to_owned(), (outside, attributes));
    }

    /// Enters a function: it has no variables of its own yet. Those of the caller, to go back to.
    pub(crate) fn enter(&mut self) -> Rc<BTreeMap<String, Kept>> {
        std::mem::take(&mut self.locals)
    }

    /// Leaves a function: what was its own is again what it was before.
    pub(crate) fn leave(&mut self, outer: Rc<BTreeMap<String, Kept>>) {
        for (name, (value, attributes)) in std::mem::replace(&mut self.locals, outer).iter() {
            self.put_back(name, value.clone());
            if let Some(letters) = attributes {
                Rc::make_mut(&mut self.attributes).insert(name.clone(), letters.clone());
            } else if self.attributes.contains_key(name) {
                Rc::make_mut(&mut self.attributes).remove(name);
            }
        }
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }

    pub(crate) fn define(&mut self, name: &str, body: FunctionBody) {
        if !self.functions.contains_key(name) && !has_room(self.functions.len(), MAX_FUNCTIONS) {
            return;
        }
        let function = Function { bodies: vec![Rc::new(body)], always: true };
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), function);
        if self.allexport {
            self.mark(&format!("{name}()"), 'x', true);
        }
    }

    /// Removes a function; where `perhaps`, only as one of two ways.
    pub(crate) fn undefine(&mut self, name: &str, perhaps: bool) {
        if !self.functions.contains_key(name) {
            return;
        }
        let functions = Rc::make_mut(&mut self.functions);
        match functions.get_mut(name).filter(|_| perhaps) {
            Some(function) => function.always = false,
            None => drop(functions.remove(name)),
        }
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
        to.sort_unstable();
        to.dedup();
        if to.len() > MAX_FOLDERS {
            to.clear();
        }
        self.previous = std::mem::replace(&mut self.folders, Rc::new(to));
    }

    /// Forgets what a file that is not seen may have changed.
    pub(crate) fn forget(&mut self) {
        self.errexit = false;
        for value in Rc::make_mut(&mut self.variables).values_mut() {
            *value = Variable::Unknown;
        }
    }

    /// Where the shell is now, to compare with later: a copy of all of it would be one more to keep up.
    pub(crate) fn here(&self) -> Whereabouts {
        Whereabouts { folders: Rc::clone(&self.folders), previous: Rc::clone(&self.previous) }
    }

    /// This state, in the folders of `before`: what holds where a change of folder did not work.
    pub(crate) fn if_folder_change_failed(&self, before: &Whereabouts) -> Self {
        Self { folders: Rc::clone(&before.folders), previous: Rc::clone(&before.previous), ..self.clone() }
    }

    /// Adds other folders to those that the shell may be in; none means that nothing is known.
    pub(crate) fn join_folders(&mut self, others: &Whereabouts) {
        join_places(&mut self.folders, &others.folders);
        // Who was nowhere else cannot go back there.
        if self.previous.is_empty() {
            self.previous = Rc::clone(&others.previous);
        } else if !others.previous.is_empty() {
            join_places(&mut self.previous, &others.previous);
        }
    }

    /// Whether everything that a command can change is as in `other`.
    pub(crate) fn same_values(&self, other: &Self) -> bool {
        let same_functions = || {
            self.functions.len() == other.functions.len()
                && self.functions.iter().zip(other.functions.iter()).all(|(a, b)| a.0 == b.0 && a.1.same(b.1))
        };
        (Rc::ptr_eq(&self.variables, &other.variables) || self.variables == other.variables)
            && self.folders == other.folders
            && self.parameters_known == other.parameters_known
            && self.parameters == other.parameters
            && (Rc::ptr_eq(&self.aliases, &other.aliases) || self.aliases == other.aliases)
            && (Rc::ptr_eq(&self.attributes, &other.attributes) || self.attributes == other.attributes)
            && (Rc::ptr_eq(&self.functions, &other.functions) || same_functions())
            && self.errexit == other.errexit
    }

    /// The state where either this or `other` came about.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.is_decided(other) {
            return;
        }
        self.join_values(other);
        if !self.parameters_known || !other.parameters_known || self.parameters != other.parameters {
            self.parameters_known = false;
            Rc::make_mut(&mut self.parameters).truncate(1);
        }
    }

    /// The same for all but the positional parameters, which stay those of this state.
    pub(crate) fn join_but_parameters(&mut self, other: &Self) {
        if !self.is_decided(other) {
            self.join_values(other);
        }
    }

    /// Whether only one of two ways goes on; then that is the state.
    fn is_decided(&mut self, other: &Self) -> bool {
        if self.left && !other.left {
            *self = other.clone();
            return true;
        }
        other.left
    }

    fn join_values(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            self.join_variables(other);
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            self.join_functions(other);
        }
        if !Rc::ptr_eq(&self.aliases, &other.aliases) {
            let aliases = Rc::make_mut(&mut self.aliases);
            for (name, value) in other.aliases.iter() {
                aliases.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        if !Rc::ptr_eq(&self.attributes, &other.attributes) {
            self.join_attributes(other);
        }
        if !Rc::ptr_eq(&self.locals, &other.locals) {
            self.join_locals(other);
        }
        self.join_folders(&other.here());
        self.errexit &= other.errexit;
        self.allexport &= other.allexport;
        self.lastpipe |= other.lastpipe;
        self.nullglob |= other.nullglob;
    }

    /// What is missing here is taken from `other`.
    pub(crate) fn fill(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let mine = Rc::make_mut(&mut self.functions);
            for (name, function) in other.functions.iter() {
                mine.entry(name.clone()).or_insert_with(|| function.clone());
            }
        }
        if Rc::ptr_eq(&self.variables, &other.variables) || other.names().all(|name| self.variable(name).is_some()) {
            return;
        }
        let mine = Rc::make_mut(&mut self.variables);
        for (name, value) in other.variables.iter() {
            mine.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    fn join_variables(&mut self, other: &Self) {
        let mine = Rc::make_mut(&mut self.variables);
        for (name, value) in other.variables.iter() {
            match mine.get_mut(name) {
                Some(own) if own == value => {}
                Some(own) => *own = own.or(value, name),
                None => drop(mine.insert(name.clone(), value.or(&Variable::Unknown, name))),
            }
        }
        for (name, value) in mine.iter_mut() {
            if !other.variables.contains_key(name) {
                *value = value.or(&Variable::Unknown, name);
            }
        }
    }

    fn join_functions(&mut self, other: &Self) {
        let mine = Rc::make_mut(&mut self.functions);
        for (name, theirs) in other.functions.iter() {
            let Some(own) = mine.get_mut(name) else {
                mine.insert(name.clone(), Function { always: false, ..theirs.clone() });
                continue;
            };
            own.always &= theirs.always;
            for body in &theirs.bodies {
                let known = own.bodies.iter().any(|own| Rc::ptr_eq(own, body));
                if !known && has_room(own.bodies.len(), MAX_BODIES) {
                    own.bodies.push(Rc::clone(body));
                }
            }
        }
        for (name, own) in mine.iter_mut() {
            own.always &= other.functions.contains_key(name);
        }
    }

    /// A name is exported where it is in both; what else becomes of its values may become of them.
    fn join_attributes(&mut self, other: &Self) {
        let mine = Rc::make_mut(&mut self.attributes);
        for (name, letters) in mine.iter_mut() {
            let both = other.is_exported(name);
            letters.retain(|letter| letter != 'x' || both);
        }
        for (name, theirs) in other.attributes.iter() {
            let letters = mine.entry(name.clone()).or_default();
            let more: Vec<char> =
                theirs.chars().filter(|letter| *letter != 'x' && !letters.contains(*letter)).collect();
            letters.extend(more);
        }
    }

    /// What only one of two ways made a variable of the function's is outside what either leaves.
    fn join_locals(&mut self, other: &Self) {
        let mine = Rc::make_mut(&mut self.locals);
        for (name, theirs) in other.locals.iter() {
            if mine.get(name) != Some(theirs) {
                mine.insert(name.clone(), (Some(Variable::Unknown), None));
            }
        }
        for (name, kept) in mine.iter_mut() {
            if !other.locals.contains_key(name) {
                *kept = (Some(Variable::Unknown), None);
            }
        }
    }
}

fn join_places(places: &mut Rc<Vec<String>>, others: &Rc<Vec<String>>) {
    if Rc::ptr_eq(places, others) || places == others {
        return;
    }
    let places = Rc::make_mut(places);
    if places.is_empty() || others.is_empty() {
        places.clear();
        return;
    }
    for place in others.iter() {
        if !places.contains(place) {
            places.push(place.clone());
        }
    }
    if places.len() > MAX_FOLDERS {
        places.clear();
    }
}
