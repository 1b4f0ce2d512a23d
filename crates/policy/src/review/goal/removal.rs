//! What a goal wants to be rid of: these things and no others, this kind of files, for a while or for good.

use super::bans::{self, Act};
use super::vocabulary::{DESTROYING, PLACING, REMOVAL, TIDYING};
use super::words::{self, Word, has};
use super::{Wishes, is_file_name};
use crate::paths::fold;

impl Wishes {
    /// Whether it speaks of such a thing other than as where something is: "empty the database", not "the rows in the database".
    pub(in crate::review) fn means_all_of(&self, stems: &'static str) -> bool {
        let placed = |at: usize| {
            self.before(at).find(|word| !has("the our this that", word)).is_some_and(|word| has(PLACING, word))
        };
        self.read.words.iter().any(|word| !word.negated && !word.within && word.is(stems) && !placed(word.at))
    }

    /// Whether it wants only what lies in a folder to go, and the path lies elsewhere: "only what lies in logs/", "nothing outside of web/css".
    pub(in crate::review) fn only_within_another(&self, path: &str) -> bool {
        const MARKS: &[char] = &['.', ',', ';', ':', '!', '"', '\''];
        let words: Vec<&str> = self.read.text.split_whitespace().map(|word| word.trim_matches(MARKS)).collect();
        let placed = |word: &&&str| !has("in under below inside within outside of", word);
        let folder =
            |from: usize| words.iter().skip(from).take(6).skip_while(placed).find(|word| word.contains('/')).copied();
        let said = words.windows(2).enumerate().filter(|(_, pair)| match pair {
            ["only" | "just", next] => has("what the things files those in under below inside", next),
            ["nothing", next] => has("outside beyond", next),
            _ => false,
        });
        let folders: Vec<&str> = said.filter_map(|(i, _)| folder(i + 1)).collect();
        let inside = |folder: &&str| {
            let folder = folder.trim_start_matches("./").trim_end_matches('/');
            path.contains(&format!("/{folder}/")) || path.ends_with(&format!("/{folder}"))
        };
        !folders.is_empty() && !folders.iter().any(inside)
    }

    /// Whether it asks for the removal of things that it names, and of none that the path is, is below or holds.
    pub(in crate::review) fn remove_others(&self, path: &str) -> bool {
        let words = &self.read.words;
        // "All __pycache__ folders": a name that nothing else has, wherever such a folder lies.
        let last = path.rsplit('/').next().unwrap_or(path);
        if path.contains('*') && last.starts_with("__") && self.name(last) {
            return false;
        }
        // "When it lists fine delete X": what hangs on something is an order all the same, where there is no other.
        let plain = words.iter().any(|word| word.orders() && word.is(DESTROYING));
        let ordered =
            |word: &Word| if plain { word.orders() } else { !word.negated && !word.within && word.subordinate };
        let orders = words.iter().enumerate().filter(|(_, word)| word.is(DESTROYING) && ordered(word));
        let named = |(i, order): (usize, &Word)| {
            // What a turn of speech removes may stand before it.
            let begins = || words.iter().position(|word| word.sentence == order.sentence).unwrap_or(i);
            let passive = i > 0 && words.get(i - 1).is_some_and(|word| has("be been being get gets got", &word.text));
            let from = if order.means.is_some() || passive { begins() } else { i };
            // "X can be removed as soon as Y is safe": what comes after is another thing.
            let to = if passive { i + 1 } else { words.len() };
            let rest = words
                .get(from..to)
                .unwrap_or(&[])
                .windows(2)
                .take_while(|pair| pair.last().is_some_and(|w| w.sentence == order.sentence));
            // "It lies in X, get rid of that": what is meant was said before, wherever it stands.
            let back = words.iter().skip(i + 1).take(3).any(|word| has("that it them those these", &word.text));
            let said_before = |word: &Word| back && word.at < order.at;
            // What is listed in a file, or goes from one, is another thing than the file.
            // "The leftovers in build/": a folder is what is in it.
            let folder = |word: &Word| {
                let mut before = self.before(word.token.start);
                word.token(&self.read.text).ends_with('/')
                    && before.next().is_some_and(|placed| has("in of under", placed))
                    && before.next().is_some_and(|held| {
                        has("leftovers contents content output outputs rubbish junk caches artifacts lies lie everything all anything", held)
                    })
            };
            let rid = |of: &Word| of.text == "of" && self.before(of.at).next() == Some("rid");
            let objects = rest.filter_map(|pair| match pair {
                [before, word]
                    if (!has(PLACING, &before.text) || said_before(word) || folder(word) || rid(before))
                        && !self.spares(word)
                        && before.token != word.token =>
                {
                    Some(word)
                }
                _ => None,
            });
            // "X may go": what the sentence begins with.
            let leading = words.get(from).filter(|word| from != i && word.sentence == order.sentence);
            let tokens = leading.into_iter().chain(objects).map(|word| word.token(&self.read.text).to_owned());
            // "…, but leave X alone" names no object.
            // "The caches (.cache, dist)"
            let own = fold(base(path.trim_end_matches(['*', '/'])));
            let object = |token: &String| token.contains(['/', '*']) || is_file_name(token) || *token == own;
            let found: Vec<String> = tokens.filter(|token| object(token) && !self.keeps(token)).collect();
            // "There are .orig files all over src/. Remove them"
            let them = words.get(i + 1).is_some_and(|word| has("them those these", &word.text))
                && !words.iter().any(|w| w.sentence == order.sentence && w.text.starts_with("folder"));
            let before = words.iter().filter(|w| them && found.is_empty() && w.sentence + 1 == order.sentence);
            let said = before.map(|w| w.token(&self.read.text)).filter(|t| is_file_name(t) && !t.contains('/'));
            let said: Vec<String> = said.map(str::to_owned).collect();
            if found.is_empty() { said } else { found }
        };
        let named: Vec<Vec<String>> = orders.map(named).collect();
        let path = fold(path);
        // "The .terraform folders and crash logs" for `crash*.log`.
        let parts: Vec<&str> =
            base(&path).split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 2).collect();
        let said = words.windows(2).any(|pair| {
            matches!((pair, parts.as_slice()), ([one, other], [of, kind]) if !one.negated && !self.spares(one) && one.text == *of && other.text.strip_suffix('s').unwrap_or(&other.text) == *kind)
        });
        if base(&path).contains('*') && said {
            return false;
        }
        let meant = |token: &String| {
            let token = token.trim_start_matches("./").trim_start_matches('~').trim_end_matches('/');
            token.split('*').all(|part| path.contains(part))
        };
        !named.is_empty() && named.iter().all(|tokens| !tokens.is_empty() && !tokens.iter().any(meant))
    }

    /// Whether it speaks of what is to go, by the place where it lies, by its name, or by the kind of its name where the goal says no
    /// place. `inside` is the path in its workspace.
    pub(in crate::review) fn means_path(&self, path: &str, inside: &str) -> bool {
        let (path, inside) = (fold(path), fold(inside));
        let (path, inside) = (path.trim_end_matches(['*', '/']), inside.trim_end_matches(['*', '/']));
        let is_place = |token: &&str| (token.contains('/') || is_file_name(token)) && !token.contains("://");
        let places = self.tokens().filter(|token| is_place(token) && !self.keeps(token));
        let places = places.map(|place| place.trim_start_matches("./").trim_start_matches("~/"));
        // "The .g.dart files", "*.tif"; `.gitignore` is a name.
        let dotted = |place: &str| !place.contains('/') && place.trim_start_matches('*').starts_with('.');
        let is_kind = |place: &&str| dotted(place) && *place != base(path);
        let (kinds, places): (Vec<&str>, Vec<&str>) = places.partition(is_kind);
        let holds = |place: &&str| {
            let place = place.trim_matches('/');
            let whole = || path.ends_with(&format!("/{place}")) || path.contains(&format!("/{place}/"));
            let fits = || place.contains('*') && place.split('*').all(|part| path.contains(part));
            whole() || fits() || base(place) == base(path)
        };
        // Words of a place say nothing of what lies beside it, and the kind of files nothing of where they lie.
        let says = |part: &str| {
            let stem: String = part.chars().take(6).collect();
            let stem = if stem.len() > 3 { stem.trim_end_matches('s') } else { &stem };
            self.read.words.iter().any(|w| {
                let own = w.text.starts_with(stem) || (w.text.len() > 4 && part.contains(w.text.as_str()));
                !w.negated && (!w.within || places.is_empty()) && own
            })
        };
        let literal = inside.find('*').map_or(inside, |at| inside.get(..at).unwrap_or(""));
        let folder = if literal.len() < inside.len() {
            literal.rsplit_once('/').map_or("", |(folder, _)| folder)
        } else {
            inside
        };
        let mut parts = folder.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 2);
        let ending = base(path).rsplit_once('.').map(|(_, ending)| ending);
        let ends = || kinds.iter().any(|kind| path.ends_with(kind.trim_start_matches('*')));
        // "The autosaves and thumbnails" for `*.autosave` and `*.thumb.png`.
        let named = || base(path).split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 2).any(says);
        let kind = || {
            let said = ends() || ending.is_some_and(|ending| self.say_word(ending)) || named();
            said && (folder.is_empty() || !self.says_where())
        };
        inside.is_empty()
            || places.iter().any(holds)
            || parts.any(says)
            || (places.is_empty() && (kind() || folder.is_empty()))
    }

    /// The only file that it names in a folder, where it has no pattern and speaks of no others.
    pub(in crate::review) fn names_one_in(&self, folder: &str) -> Option<&str> {
        let folder = fold(folder);
        let within = |token: &&str| {
            let place = token.trim_start_matches("./").rsplit_once('/').map(|(place, _)| place);
            is_file_name(token)
                && !token.contains("://")
                && place.is_some_and(|place| folder.ends_with(&format!("/{place}")))
        };
        let wide = self.tokens().any(|token| token.contains('*') || has("all every each both files any", token));
        let mut named = self.tokens().filter(within).filter(|token| !self.keeps(token));
        let one = named.next()?;
        (!wide && named.all(|other| other == one)).then_some(one)
    }

    /// Whether it speaks of files by their names, and this is none of them, nor anything else of which it speaks.
    pub(in crate::review) fn writes_elsewhere(&self, path: &str, inside: &str) -> bool {
        let named = || self.tokens().filter(|token| is_file_name(token) && !token.contains("://"));
        let folder = |path: &str| path.strip_suffix(base(path)).unwrap_or("").to_owned();
        let text = [".md", ".txt"].iter().any(|end| inside.ends_with(end));
        // A list beside the one that is named: "notes/west.md", and a line in notes/log.md; `tracks.tgz.sha256` of `tracks.tgz`.
        let of = |token: &str| text || fold(base(inside)).starts_with(&format!("{}.", base(token)));
        let beside = || named().any(|token| folder(token) == folder(inside) && of(token));
        // `mkdir -p opac/draft`, where opac/draft/hours.toml is to be written.
        let above = || named().any(|token| token.trim_start_matches("./").starts_with(&format!("{}/", fold(inside))));
        if named().next().is_none() || beside() || above() || self.means_path(path, inside) {
            return false;
        }
        // "Into reports/sum.md"
        if named().any(|token| self.wants_into(base(token))) {
            return true;
        }
        // Whoever says where nothing is to go leaves room for a note, and for what is made of a file that is named: `gw-2-full.img` of
        // `gw-2.img`, `level2.svg` of `level2.dot`.
        let stem = |path: &str| {
            base(path).rsplit_once('.').map(|(stem, _)| fold(stem).into_owned()).filter(|stem| stem.len() > 2)
        };
        let made_of = |token: &str| {
            stem(token).is_some_and(|of| {
                (folder(token) == folder(inside) && fold(base(inside)).starts_with(&of)) || stem(inside) == Some(of)
            })
        };
        // A file that is called by a number is not told by its name.
        let spelled = self.read.text.contains(base(&fold(inside))) || !base(inside).contains(char::is_alphabetic);
        // "Do the points in that list": which files those are about is for whoever reads them to see.
        let left = self.delegates() || self.read.words.iter().any(|w| w.means.is_some() && has("do doing", &w.text));
        !(left || spelled || text && inside.starts_with("notes/") || named().any(made_of))
    }

    /// Whether it says by a word where something lies: "below exports", and not "in the workspace".
    pub(in crate::review) fn says_where(&self) -> bool {
        const ANYWHERE: &str = "it there them that this which project repo repository workspace tree directory folder folders directories here \
            source code all any each every order case time place full future past sight year month week";
        let words = &self.read.words;
        words.iter().enumerate().any(|(i, word)| {
            let mut rest =
                words.iter().skip(i + 1).skip_while(|next| has("the our my your a an whole current", &next.text));
            let next = rest.next().filter(|next| next.clause == word.clause);
            has("in under below inside within", &word.text)
                && next.is_some_and(|next| {
                    !has(ANYWHERE, &next.text) && !next.text.starts_with(|c: char| c.is_ascii_digit())
                })
        })
    }

    /// Whether it wants something only for a while, and its order is for that: "for the time being", "until Friday".
    pub(in crate::review) fn speak_of_a_while(&self) -> bool {
        let words = &self.read.words;
        // "Cancel A-1, but leave A-3 for now": that is for a while which is left.
        let left = |a: &Word| {
            let mut before = words::of_clause(words, a.clause).iter().take_while(|word| word.at < a.at);
            before.any(|word| has("leave leaves keep keeps stay stays", &word.text))
        };
        let pair = |one: &str, other: &'static str| {
            let is = |a: &Word, b: &Word| a.text == one && !a.negated && has(other, &b.text) && !left(a);
            words.windows(2).any(|pair| matches!(pair, [a, b] if is(a, b)))
        };
        self.speak_of("temporar paus suspend")
            || pair("time", "being")
            || pair("for", "now")
            || pair("a", "while")
            || words.windows(2).any(|pair| {
                let [until, when] = pair else { return false };
                // "I'm in meetings until 3" says where somebody is, and nothing of what is to be done.
                let mut said = words.iter().filter(|word| word.sentence == until.sentence);
                let mine = said.next().is_some_and(|word| has("i we", &word.text))
                    && said.next().is_some_and(|word| has("m am re are ll", &word.text))
                    && !said.any(Word::orders_anything);
                has("until till", &until.text)
                    && !until.negated
                    && !mine
                    && (when.text.starts_with(|c: char| c.is_ascii_digit())
                        || has(
                            "monday tuesday wednesday thursday friday saturday sunday tomorrow further next the",
                            &when.text,
                        ))
            })
    }

    /// Whether it has a record taken away, and only says something else of this one: "mark PT-410 as deceased and take AP-8120 out of the
    /// diary".
    pub(in crate::review) fn remove_other_records(&self, name: &str, said: &str) -> bool {
        let (name, said) = (fold(name), fold(said));
        let words = &self.read.words;
        let removed: Vec<usize> =
            words.iter().filter(|word| word.orders() && word.is(REMOVAL)).map(|word| word.clause).collect();
        let named = words.iter().filter(|word| bans::is_name(word.token(&self.read.text)));
        let (there, elsewhere): (Vec<&Word>, Vec<&Word>) = named.partition(|word| removed.contains(&word.clause));
        let is_it = |word: &&Word| word.token(&self.read.text) == name;
        // "I compared it with 0313/b.tar. Delete the 0312 one": what is meant has that in its name.
        let picked = words.windows(3).filter(|three| three.first().is_some_and(|w| removed.contains(&w.clause)));
        let mut numbers = picked.into_iter().filter_map(|three| match three {
            [the, which, one] if the.text == "the" && has("one ones", &one.text) => Some(&which.text),
            _ => None,
        });
        let number = numbers.find(|which| which.chars().any(|c| c.is_ascii_digit()));
        if number.is_some_and(|number| !said.contains(number.as_str())) {
            return true;
        }
        let said_before = words.iter().any(|w| removed.contains(&w.clause) && has("it them both these those", &w.text));
        // "Void F-771, F-772 and F-775"
        let kind = |token: &str| token.split('-').next().map(str::to_owned);
        let listed = |word: &Word| {
            let start = word.token.start;
            let before =
                words.iter().rev().filter(|w| w.at < start && w.text != "and").map(|w| w.token(&self.read.text));
            before.into_iter().next().is_some_and(|before| bans::is_name(before) && kind(before) == kind(&name))
        };
        // "F-772 is still in use" is no part of the list.
        let said_of = |word: &Word| {
            let after = words.iter().find(|w| w.at > word.at && w.token(&self.read.text) != name);
            after.is_some_and(|w| w.sentence == word.sentence && has("is are was were has stays remains", &w.text))
        };
        let apart = |word: &&&Word| is_it(word) && (!listed(word) || said_of(word));
        !there.is_empty() && !there.iter().any(is_it) && elsewhere.iter().any(|word| apart(&word)) && !said_before
    }

    /// Whether it says right behind a word that this stays: "the finished PDFs in there are still wanted".
    fn stays(&self, i: usize) -> bool {
        let words = &self.read.words;
        let sentence = words.get(i).map(|word| word.sentence);
        let rest = || words.iter().skip(i + 1).take(6).filter(|next| Some(next.sentence) == sentence);
        let stays = rest().take(2).any(|next| has("stay stays remain remains", &next.text));
        let denied = || rest().any(|next| has("no not longer never", &next.text));
        let pair = |(a, b): (&Word, &Word)| has("still are is", &a.text) && has("wanted needed kept", &b.text);
        stays || (rest().zip(rest().skip(1)).any(pair) && !denied())
    }

    /// Whether a word stands in a part of the goal that has something left: "but leave everything called *.audit.log".
    fn spares(&self, word: &Word) -> bool {
        let before: Vec<&Word> = self.read.words.iter().filter(|w| w.clause == word.clause && w.at < word.at).collect();
        let leads = |w: &&Word| has("but and please only just always to do", &w.text);
        let mut after = before.iter().skip_while(|w| leads(w));
        let verb = after.next();
        // "Leave me a short list in X"
        let given = after.next().is_some_and(|w| has("me us him her them", &w.text));
        before.len() < 8
            && !given
            && verb.is_some_and(|w| has("leave keep spare skip except retain preserve", &w.text) && !w.negated)
    }

    /// The first file or pattern that is to be left ("but leave the .keep file") and that a line which removes many does not leave out.
    pub(in crate::review) fn spared_and_taken(&self, folder: &str, pattern: &str, line: &str) -> Option<String> {
        let spared = self.read.words.iter().filter(|word| self.spares(word));
        let spared = spared.map(|word| word.token(&self.read.text).trim_matches(['\'', '"']));
        // "Everything except audit.log", "plans.csv has to stay"
        let banned = |ban: &&bans::Ban| matches!(ban.act, Act::Remove | Act::Change) && !ban.conditional && !ban.others;
        let banned = self.bans.iter().filter(banned).flat_map(|ban| &ban.things).map(String::as_str);
        let mut tokens = spared.chain(banned).map(str::to_owned);
        let line: String = fold(line).chars().map(|c| if "\"',\\".contains(c) { ' ' } else { c }).collect();
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        tokens.find(|token| {
            let file = token.len() > 2 && (token.starts_with('.') || token.contains('*') || is_file_name(token));
            let (place, base) = token.rsplit_once('/').unwrap_or(("", token));
            let elsewhere = !place.is_empty()
                && !format!("{}/", place.trim_start_matches("./")).starts_with(&format!("{}/", fold(folder)));
            // "*.core" takes no notes.md.
            let ending = fold(pattern.rsplit('*').next().filter(|_| pattern.contains('*')).unwrap_or("")).into_owned();
            let elsewhere =
                elsewhere || (!base.contains('*') && !ending.contains(['?', ']', '}']) && !base.ends_with(&ending));
            // Of a pattern what is written out.
            let base = base.split('*').find(|part| !part.is_empty()).unwrap_or(base);
            let left = |(at, _): (usize, &str)| {
                let before = line.get(..at).unwrap_or("").trim_end_matches([' ', '=', '[', '/', '*', '.']);
                let option = before.rsplit(' ').next().unwrap_or("");
                let negated = before
                    .strip_suffix(option)
                    .is_some_and(|rest| matches!(rest.trim_end().rsplit(' ').next(), Some("!" | "-not" | "\\!")));
                option.starts_with("--exclude") || (matches!(option, "-name" | "-iname" | "-path") && negated)
            };
            file && !elsewhere && !line.match_indices(base).any(left)
        })
    }

    /// Whether it has one kind of files removed ("the CSV files", "*.tmp"), and a pattern takes others as well.
    pub(in crate::review) fn removes_other_kinds(&self, pattern: &str, line: &str) -> bool {
        const KINDS: &str = "csv xml json txt pdf jpg jpeg png gif tif tiff bak zip tgz mp4 mp3 wav mov mxf docx xlsx odt parquet yaml yml \
            html pyc jar swp";
        let words = &self.read.words;
        let tidies = |sentence: usize| words.iter().any(|w| w.sentence == sentence && w.orders() && w.is(TIDYING));
        // "There are lots of *.bak files. Remove those"
        let those = |sentence: usize| words.iter().any(|w| w.sentence == sentence && has("those them these", &w.text));
        let removes = |sentence: usize| tidies(sentence) || (tidies(sentence + 1) && those(sentence + 1));
        let kind = |word: &Word| {
            let singular = word.text.strip_suffix('s').filter(|one| has(KINDS, one));
            singular.map(str::to_owned).or_else(|| has(KINDS, &word.text).then(|| word.text.clone()))
        };
        let mut kinds = words
            .iter()
            .enumerate()
            // "The csv files stay"
            .filter(|(i, _)| !self.stays(*i))
            .map(|(_, word)| word)
            .filter(|word| removes(word.sentence) && !word.negated && !self.spares(word))
            .filter_map(|word| {
                let token = word.token(&self.read.text);
                // A word for a kind, or a pattern; no file that is named.
                // "The .part files"
                let ending =
                    token.strip_prefix('.').filter(|end| *end == word.text && end.len() <= 5).map(str::to_owned);
                // "The .vite cache" is a folder.
                let next = words.iter().find(|w| w.at > word.at).map_or("", |w| w.text.as_str());
                let folder = || line.contains(&format!("/{token}")) || line.contains(&format!(" {token}"));
                let ending = ending.filter(|_| !has("cache folder directory dir", next) && !folder());
                ending.or_else(|| (token == word.text || token.starts_with("*.")).then(|| kind(word)).flatten())
            })
            .peekable();
        let last = pattern.rsplit('/').next().unwrap_or(pattern);
        let ends = last.rsplit_once('.').map(|(_, end)| end.to_lowercase());
        kinds.peek().is_some()
            && !(last.starts_with(['_', '.']) && self.name(last))
            && !kinds.any(|kind| {
                // `find FOLDER -name '*.jpg' -delete`: the line says which.
                let alone =
                    line.matches("-name").count() + line.matches("-iname").count() == 1 && !line.contains(" -o");
                let picked = || last == "**" && line.contains(&format!("*.{kind}")) && alone;
                picked()
                    || ends.as_deref().is_some_and(|end| end.starts_with(kind.as_str()) || end.contains(kind.as_str()))
            })
    }

    /// Whether it names a folder below this one, and not this one.
    pub(in crate::review) fn removes_below(&self, folder: &str) -> bool {
        let folder = fold(folder);
        let tokens: Vec<&str> = self.tokens().map(|path| path.trim_start_matches("./").trim_end_matches('/')).collect();
        // What is to stay says nothing of what is to go.
        let below = |path: &&str| {
            path.strip_prefix(folder.as_ref()).is_some_and(|rest| rest.starts_with('/')) && !self.keeps(path)
        };
        // "Throw away the scans in scans/inbox": there the word is none for the folder.
        let called = |i: usize| tokens.get(i + 1).is_some_and(|next| has("folder directory dir tree", next));
        let plain = |i: usize| {
            let before = i.checked_sub(1).and_then(|i| tokens.get(i));
            before.is_some_and(|before| has("the our my all any old these", before))
        };
        let named = |(i, path): (usize, &&str)| **path == *folder && (path.contains('/') || called(i) || !plain(i));
        !folder.is_empty() && tokens.iter().any(below) && !tokens.iter().enumerate().any(named)
    }
}

/// What stands behind the last slash.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
