//! Commands behind programs that bring them somewhere: into an environment, a container, a job, another terminal (the manuals of the
//! programs). What such a program is given runs as if it stood alone.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::special;
use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word};

/// A program that carries a command: `NAME[,NAME] [SUBCOMMAND[|SUBCOMMAND]…] : OPTIONS WITH A VALUE : HOW`.
///
/// How: a number is how many operands come before the command; `--` that it comes only behind `--`; `=OPTION` that the option's value is a
/// line; `lines` that each operand is one; `there` that it runs on another machine or in a container.
const CARRIERS: &str = "\
uv run : --with --with-editable --with-requirements --python -p --project --directory --env-file --group --extra --package --index-url --index : 0
poetry,pdm,rye,pipenv,pixi,hatch run : -e --environment -p --project --manifest-path -C --directory -s --site : 0
conda,mamba,micromamba run : -n --name -p --prefix --cwd : 0
mise,rtx exec|x : -C --cd --jobs -j -c=l --command=l : --
asdf,rbenv,pyenv,nodenv,goenv,jenv,carton,opam,stack,cabal,dune,fnm,volta,ddev,lando exec : --version --switch --package --project --using -s --service : 0
volta,nvm,n,rustup run : --node --npm --yarn : 1
direnv exec : : 1
nix develop|shell|run : --inputs-from --override-input -f --file : =-c =--command --
nix-shell : -p --packages -I --arg : =--run =--command
guix shell|environment|time-machine : -m --manifest -e : --
foreman,overmind,honcho run|exec : -e --env -f --procfile -d --root : 0
dotenv : -e --env -f --file -c -p -v : 0
dotenvx run : -f --env-file -fk : --
cross-env,cross-env-shell : : vars
onchange : -d --delay -f --filter -p --poll -e --exclude : --
chokidar : -d -p -i : =-c =--command
concurrently : -n --names -c --prefix-colors -p --prefix -m --max-processes -s --success : lines
mprocs : -c --config -s --server : lines
rush : -j -d -D -i -k -t -r : 0
viddy,hwatch : -n --interval -d : 0
watchmedo shell-command|auto-restart : -p --patterns -d --directory -i -R : =-c =--command --
cargo watch : -w --watch -i --ignore -d --delay -E : =-s =--shell --
cargo-watch : -w --watch -i --ignore -d --delay : =-s =--shell --
reflex : -r -g -R -G -d : --
devcontainer exec : --workspace-folder --config --container-id --id-label --remote-env : 0
tox exec : -e : --
devbox run : -c --config : 0
distrobox enter : -n --name : 1 --
toolbox run : -c --container -d -r : 0
singularity,apptainer exec|run|shell : --bind -B --pwd --home -H --env --env-file --overlay -o --scratch -S --workdir -W --network --mount --app --security --nv-ccli : 1 there
srun,salloc,mpirun,mpiexec,orterun,prun,aprun,jsrun,ibrun : -w -n -N -p -t -A -J -c -o -e -i -np --np --host --hostfile -hostfile -machinefile --map-by --bind-to -x --mca --oversubscribe= --partition --time --account --nodes --ntasks --nodelist --job-name --output --error --mem --cpus-per-task --gres --chdir -D --qos -q : 0
sbatch : -w -n -N -p -t -A -J -c -o -e -q --partition --time --account : =--wrap
qsub,bsub : -N -l -q -o -e -P -A -W -J -n -M -R -m -b -cwd -pe -v : 0
alacritty,kitty,foot,st,urxvt,rxvt,lxterminal,xfce4-terminal,terminator,tilix,guake : -t --title --class -T -x : 0
gnome-terminal,konsole,wezterm start| : --title --workdir --working-directory -t : --
gdb : : args
dvc run|exp : -n --name -d --deps -o --outs -p --params -m --metrics -w --wdir : 0
vagrant ssh : -p : =-c =--command there
limactl,multipass shell|exec : --workdir --working-directory : 1 there
heroku run : -a --app -r --remote --size -s : 0 there
fly,flyctl ssh : -a --app -r --region : =-C =--command 1 there
nomad alloc : -job -task -i -t : 2 there
salt : -L -G -E -C -N -t --timeout : 2 there
pdsh,clush,pssh,parallel-ssh,dsh,mpssh : -w -g -h --hosts -l -x -X -R -f -t -H -i -M --user : 0 there
fab : -H --hosts -f -c -i : --
bolt command : -t --targets -n --nodes -i -u : 1 there
";

/// Programs whose words are texts, for which a command is one like any other.
const TELLING: &str = "echo printf grep egrep fgrep rg ag sed awk gawk jq git gh glab hub svn hg man tldr which type cat tee logger notify-send \
    wall write mail less more apropos whatis diff test expr";

/// A line of the table: the subcommand that carries, the options with a value, and how.
struct Row {
    sub: &'static str,
    values: Vec<&'static str>,
    how: Vec<&'static str>,
}

/// The lines of the table by the programs that they name, each in the table's order.
static ROWS: LazyLock<HashMap<&'static str, Vec<Row>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<Row>> = HashMap::new();
    for line in CARRIERS.lines() {
        let mut parts = line.splitn(3, " : ");
        let (head, values, how) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (values, how) = if how.is_empty() { ("", values.trim_start_matches(": ")) } else { (values, how) };
        let (names, sub) = head.split_once(' ').unwrap_or((head, ""));
        for name in names.split(',') {
            let (values, how) = (values.split_whitespace().collect(), how.split_whitespace().collect());
            rows.entry(name).or_default().push(Row { sub, values, how });
        }
    }
    rows
});

/// The line of the table for a program with these words, and where its own words end.
fn carrier(base: &str, words: &[String]) -> Option<(&'static Row, usize)> {
    ROWS.get(base)?.iter().find_map(|row| {
        let is_sub = |word: &String| row.sub.split('|').any(|one| !one.is_empty() && one == word);
        match words.iter().take(6).position(is_sub) {
            _ if row.sub.is_empty() => Some((row, 0)),
            Some(at) => Some((row, at + 1)),
            None => row.sub.ends_with('|').then_some((row, 0)),
        }
    })
}

impl Machine<'_> {
    /// What a program carries, as if it stood alone.
    /// Whether it carries anything at all is the answer: its entry has then no command left to run.
    pub(super) fn carried(&mut self, base: &str, rest: &[Word], stdin: &Stream) -> bool {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let Some((row, at)) = carrier(base, &words) else {
            self.commands_among(base, rest, &words);
            return false;
        };
        self.carry(base, &words, rest, row, at, stdin);
        true
    }

    fn carry(&mut self, base: &str, words: &[String], rest: &[Word], row: &Row, at: usize, stdin: &Stream) {
        let Row { values, how, .. } = row;
        let there = how.contains(&"there");
        self.bound = bound(rest);
        let lines: Vec<&str> = how.iter().filter_map(|word| word.strip_prefix('=')).collect();
        let behind = how.contains(&"--");
        let mut skip = how.iter().find_map(|word| word.parse::<usize>().ok()).unwrap_or(0);
        let mut i = at;
        let mut found = None;
        while let Some(word) = words.get(i) {
            let (option, joined) =
                word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
            if lines.contains(&option) {
                match joined {
                    Some(line) => self.carried_line(&Word::text(line), there, stdin),
                    None => rest.get(i + 1).cloned().into_iter().for_each(|line| {
                        // `nix develop -c rm -rf x`: all that follows.
                        match rest.get(i + 2..) {
                            Some(more) if !more.is_empty() && matches!(option, "-c" | "--command") && base == "nix" => {
                                self.carried_words(rest.get(i + 1..).unwrap_or_default(), there, stdin);
                            }
                            _ => self.carried_line(&line, there, stdin),
                        }
                    }),
                }
                return;
            }
            if word == "--" {
                found = Some(i + 1 + skip);
                break;
            }
            if how.contains(&"args") && word == "--args" {
                found = Some(i + 1);
                break;
            }
            let plain = !(word.starts_with('-') || how.contains(&"vars") && word.contains('='));
            if how.contains(&"lines") && plain {
                if let Some(line) = rest.get(i).filter(|_| word.contains(' ')) {
                    self.carried_line(&line.clone(), there, stdin);
                }
            } else if plain && skip > 0 {
                skip -= 1;
            } else if plain
                && !(behind || how.contains(&"args") || how.contains(&"lines") || (lines.len() == how.len()))
            {
                found = Some(i);
                break;
            }
            i += 1 + usize::from(!plain && joined.is_none() && values.contains(&option));
        }
        let Some(command) = found.and_then(|from| rest.get(from..)).filter(|command| !command.is_empty()) else {
            return;
        };
        match command {
            [line] if line.prefix().contains(' ') => self.carried_line(&line.clone(), there, stdin),
            [line, ..] if line.prefix().contains(' ') && there => self.carried_line(&line.clone(), there, stdin),
            command => self.carried_words(command, there, stdin),
        }
        self.bound.clear();
    }

    fn carried_line(&mut self, line: &Word, there: bool, stdin: &Stream) {
        match line.known() {
            Some(text) if there => self.carried_there(&[Word::text(text)]),
            Some(text) => {
                self.script(&text, stdin);
            }
            None => {
                self.shell_text(line, stdin);
            }
        }
    }

    /// The words of a command; a name that nothing describes, and that is no path of this machine, is a task of the project's.
    fn carried_words(&mut self, command: &[Word], there: bool, stdin: &Stream) {
        let Some(name) = command.first().and_then(Word::constant) else { return };
        let base = name.rsplit('/').next().unwrap_or(name);
        let by_path = !there && ["/", "./", "../", "~/"].iter().any(|start| name.starts_with(start));
        if !(by_path || special::knows(base) || crate::catalogue::entry(base).is_some() || super::is_shell(base)) {
            return;
        }
        if there {
            self.carried_there(command);
        } else {
            self.start(command.to_vec(), stdin.clone());
        }
    }

    fn carried_there(&mut self, command: &[Word]) {
        let mounts = std::mem::take(&mut self.bound);
        self.elsewhere(command, &mounts);
        self.bound = mounts;
    }

    /// A command among the words of a program that runs code and says of none of them that it is one: only what is grave in it counts.
    fn commands_among(&mut self, base: &str, rest: &[Word], words: &[String]) {
        if super::tasks::has(TELLING, base) || special::knows(base) || crate::shell::is_deep() {
            return;
        }
        let flagged = |i: usize, letters: &str| {
            words.get(i + 1).is_some_and(|next| next.starts_with('-') && next.contains(|c| letters.contains(c)))
        };
        let begins = |i: usize| match words.get(i).map(|word| word.rsplit('/').next().unwrap_or(word)) {
            Some("rm") => flagged(i, "rR"),
            Some("sh" | "bash" | "dash" | "zsh") => flagged(i, "c"),
            Some("shred" | "wipefs") => true,
            _ => false,
        };
        let found = (0..words.len()).find(|i| begins(*i));
        let known: Option<Vec<String>> = found
            .and_then(|from| rest.get(from..))
            .and_then(|command| command.iter().at_most(256).map(|word| word.known()).collect());
        if let Some(command) = known {
            let mut inner = crate::shell::argv(&command, self.context);
            // A loop may be one that the program ends: `timeout 5 sh -c …`.
            inner.findings.retain(|finding| finding.kind != FindingKind::ForkBomb);
            self.absorb_grave(inner);
        }
        for line in words.iter().filter(|word| word.contains("rm -r") || word.contains("rm -fr")).at_most(64) {
            let inner = crate::shell::shell(line, self.context);
            let grave = inner.findings.iter().any(|finding| {
                matches!(
                    finding.kind,
                    FindingKind::DestroysHome | FindingKind::DestroysSystem | FindingKind::DestroysDevice
                )
            });
            if grave && runs_lines(base) {
                self.absorb_grave(inner);
            }
        }
    }
}

/// The folders of this machine that a container is given: `--bind SOURCE:TARGET[,…]` (Apptainer, "Bind Paths and Mounts").
fn bound(rest: &[Word]) -> Vec<(String, String)> {
    let after = rest.windows(2).filter_map(|pair| match pair {
        [option, value] if matches!(option.constant(), Some("--bind" | "-B" | "--volume" | "-v")) => {
            Some(value.shown())
        }
        _ => None,
    });
    let joined = rest.iter().filter_map(|word| word.shown().strip_prefix("--bind=").map(str::to_owned));
    let values: Vec<String> = after.chain(joined).at_most(256).collect();
    let parts = values.iter().flat_map(|value| value.split(','));
    parts
        .filter_map(|part| part.split_once(':'))
        .map(|(source, target)| (source.to_owned(), target.split(':').next().unwrap_or(target).to_owned()))
        .collect()
}

/// Programs among whose words lines of a shell stand.
fn runs_lines(base: &str) -> bool {
    const RUNNING: &str = "air aws gcloud az ansible-console invoke make just task npm yarn pnpm composer tmux screen zellij wezterm xterm flatpak \
        snap wsl ray dask kamal docker podman kubectl oc crictl nerdctl lxc incus virsh";
    RUNNING.split_whitespace().any(|name| name == base)
}
