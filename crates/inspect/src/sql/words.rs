//! What the words of statements say before or beside a parser: how deep they nest, options that it does not read, settings of a session,
//! rows that are multiplied.

/// How many `IF`, `CASE`, `WHILE`, `LOOP` and `BEGIN` are open at one place, less those that an `END` closes.
pub(super) fn blocks(text: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let mut words =
        text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '(')).filter(|w| !w.is_empty()).peekable();
    while let Some(word) = words.next() {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let guards =
            words.peek().is_some_and(|next| next.eq_ignore_ascii_case("exists") || next.eq_ignore_ascii_case("not"));
        if is("end") || is("commit") || is("rollback") {
            open = open.saturating_sub(1);
            // `END IF`
            words.next_if(|next| ["if", "case", "loop", "while"].iter().any(|name| next.eq_ignore_ascii_case(name)));
        } else if (is("if") && !guards) || is("case") || is("while") || is("loop") || is("begin") {
            open += 1;
            most = most.max(open);
        }
    }
    most
}

/// A text without `PARTITION_BY (…)` among the options of a COPY: it says only which files the folder gets (DuckDB, "Partitioned writes").
pub(super) fn without_partitions(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.find("partition_by (").filter(|at| lower.get(..*at).is_some_and(|s| s.contains("copy ")))
    else {
        return text.to_owned();
    };
    let Some(end) = text.get(at..).and_then(|rest| rest.find(')')).map(|end| at + end + 1) else {
        return text.to_owned();
    };
    let before = text.get(..at).unwrap_or("").trim_end().trim_end_matches(',');
    let after = text.get(end..).unwrap_or("").trim_start();
    let after = if before.ends_with('(') { after.trim_start_matches(',') } else { after };
    format!("{before}{after}")
}

/// Whether every row of a table is put beside every row of itself again and again, or beside a row for each of very many numbers.
pub(super) fn multiplies(query: &str) -> bool {
    let joined: Vec<&str> =
        query.split("cross join ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    let first = query.split(" from ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let same = |name: &str| joined.iter().filter(|other| **other == name).count() + usize::from(first == Some(name));
    let numbers = query.split("generate_series(").skip(1).any(|rest| {
        let bounds = rest.split(')').next().unwrap_or("").split(',').nth(1).unwrap_or("");
        bounds.trim().parse::<f64>().is_ok_and(|most| most >= 1e6)
    });
    joined.iter().any(|name| same(name) > 2) || (numbers && joined.len() > 1)
}

/// Whether a setting holds only for the session and only says how it reads, waits, plans or shows (PostgreSQL, "Client Connection Defaults",
/// "Query Planning").
pub(super) fn is_tuning(statement: &str) -> bool {
    const TUNES: &str = "default_transaction_read_only transaction_read_only statement_timeout lock_timeout idle_in_transaction_session_timeout \
        search_path work_mem maintenance_work_mem temp_buffers timezone datestyle intervalstyle client_encoding client_min_messages jit \
        extra_float_digits bytea_output max_parallel_workers_per_gather max_parallel_workers max_parallel_maintenance_workers random_page_cost \
        seq_page_cost effective_cache_size effective_io_concurrency hash_mem_multiplier default_statistics_target vacuum_cost_delay \
        vacuum_cost_limit join_collapse_limit from_collapse_limit plan_cache_mode geqo application_name names threads worker_threads memory_limit \
        max_memory preserve_insertion_order progress_bar_time default_order default_null_order max_temp_directory_size \
        max_expression_depth explain_output errors_as_json calendar";
    let mut words = statement.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty());
    let set = words.next().is_some_and(|word| word.eq_ignore_ascii_case("set"));
    let mut name = words.next().unwrap_or("").to_ascii_lowercase();
    if matches!(name.as_str(), "local" | "session") {
        name = words.next().unwrap_or("").to_ascii_lowercase();
    }
    set && (TUNES.split_whitespace().any(|known| known == name) || name.starts_with("enable_"))
}
