//! As much of a shell as commands of the documentation use: quotes, comments, assignments, redirections, lists and pipes.

/// The commands of a program in a text, each as its words; also those in the quotes and behind the `--` of another one.
pub(super) fn commands(text: &str, program: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        simple_commands(line).into_iter().for_each(|words| take(words, program, &mut found));
    }
    found
}

/// Takes what a simple command runs of a program.
fn take(words: Vec<String>, program: &str, found: &mut Vec<Vec<String>>) {
    let starts = words.iter().position(|word| !is_before_command(word)).unwrap_or(words.len());
    let words = &words[starts..];
    // `hawser = { path = ... }` is a line of a Cargo.toml.
    if words.first().is_none_or(|word| word != program) || words.get(1).is_some_and(|word| word == "=") {
        return;
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    // `emu run FILE --server 'hawser serve' -- hawser get`: what another one is given to run.
    let quoted = words[1..end].iter().filter(|word| word.starts_with(&format!("{program} ")));
    quoted.for_each(|word| found.extend(commands(word, program)));
    take(words.iter().skip(end + 1).cloned().collect(), program, found);
    found.push(words.to_vec());
}

/// Prompts, assignments, and programs that run another one.
fn is_before_command(word: &str) -> bool {
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_name(name));
    is_assignment || word.ends_with('$') || ["sudo", "time", "exec", "#", "eval"].contains(&word)
}

/// The simple commands of a line, without redirections.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut characters = line.chars().peekable();
    let (mut word, mut skips_next) = (None::<String>, false);
    let end_word = |word: &mut Option<String>, skips_next: &mut bool, commands: &mut Vec<Vec<String>>| {
        let Some(word) = word.take() else { return };
        if !std::mem::take(skips_next) {
            commands.last_mut().expect("there is one from the start").push(word);
        }
    };
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => {
                let quoted: String = characters.by_ref().take_while(|it| *it != character).collect();
                word.get_or_insert_default().push_str(&quoted);
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            // A prompt of root at the beginning of a line, else a comment.
            '#' if word.is_none() && commands.iter().all(Vec::is_empty) && line.contains("# hawser") => {}
            '#' if word.is_none() => break,
            '<' | '>' => {
                // The number of a descriptor belongs to the redirection.
                word.take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
                end_word(&mut word, &mut skips_next, &mut commands);
                while characters.next_if(|it| ['>', '&'].contains(it)).is_some() {}
                skips_next = true;
            }
            '|' | '&' | ';' => {
                end_word(&mut word, &mut skips_next, &mut commands);
                commands.push(Vec::new());
            }
            ' ' | '\t' => end_word(&mut word, &mut skips_next, &mut commands),
            other => word.get_or_insert_default().push(other),
        }
    }
    end_word(&mut word, &mut skips_next, &mut commands);
    commands.retain(|words| !words.is_empty());
    commands
}
