//! Whatever stands in a file, reading it ends with a scenario or with an error.

use proptest::prelude::*;

use super::*;

/// What is put in the place of a word of a correct scenario.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "3.5",
    "nan",
    "inf",
    "1e300",
    "18446744073709551615",
    "9223372036854775807",
    "0xff",
    "true",
    "1979-05-27",
    "\"\"",
    "\"0 s\"",
    "\"1 ns\"",
    "\"99 h\"",
    "\"9e9 s\"",
    "\"1 bit/s\"",
    "\"1000000 Gbit/s\"",
    "\"100 %\"",
    "\"1 B\"",
    "\"9999 GB\"",
    "\"wifi0\"",
    "\"core\"",
    "\"car\"",
    "\"step\"",
    "\"linear\"",
    "[]",
    "[[]]",
    "{}",
    "{ model = \"walk\" }",
    "{ steps = [] }",
    "{ steps = [[\"0 s\", \"5 ms\"]], repeat = \"1 ns\" }",
    "[\"core\"]",
    "{ grid = \"net\", row = 0 }",
    "{ series = \"rate.txt\" }",
    "{ trace = \"good.trace\" }",
    "[{ from = \"0 s\" }]",
    "name = 5",
    "[link.wifi0]",
    "[grid]",
    "[[flow]]",
    "size = 3",
    "rate = \"1 bit/s\"",
    "=",
];

const KEYS: &[&str] = &[
    "seed",
    "link",
    "link.wifi0",
    "link.*.rate",
    "link.wifi0.up.delay",
    "link.leo0.via.steps.0.1",
    "segment.core.queue",
    "grid.net.size",
    "flow.main.size",
    "transport",
    "limits.events",
    "a.b.c.d",
];

/// All forms in one file.
fn everything() -> String {
    let forms = r#"
        [[flow]]
        name = "main"
        kind = "bulk"
        size = "10 MB"
        [[flow]]
        name = "noise"
        kind = "poisson"
        rate = "5 Mbit/s"
        over = ["core"]
        on_off = { on = "10 s", off = "5 s" }
        [transport]
        max_ack_delay = "5 ms"
        least_timeout = "200 ms"
        setup_rounds = 3
        [grid]
        name = "net"
        size = 3
        rate = "1 Mbit/s"
        [link.other]
        rate = { steps = [["0 s", "40 Mbit/s"], ["10 s", "0 bit/s"]], interpolate = "linear", repeat = "20 s" }
        jitter = { model = "walk", maximum = "10 ms", step = "1 ms" }
        loss = { model = "gilbert-elliott", loss = 0.01, mean_burst = 8 }
        outage = { every = "15 s", duration = "300 ms", offset = "12 s" }
        via = { grid = "net", from = [0, 0], to = [1, 2] }
        up = { rate = { series = "rate.txt" } }
    "#;
    format!("{}{forms}", super::topology::NETWORK)
}

#[test]
fn the_undamaged_scenario_is_accepted() {
    parse(&everything()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_damaged_scenario_is_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(WORDS)), 1..5),
        key in prop::sample::select(KEYS),
        value in prop::sample::select(WORDS),
        with_override in any::<bool>(),
    ) {
        // First whole values, then anything.
        let (values, tokens_edited) = edits.split_at(edits.len() / 2 + 1);
        let text = everything();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (place, word) in values {
            let line = place.get_mut(&mut lines);
            if let Some((key, _)) = line.split_once(" = ") {
                *line = format!("{key} = {word}");
            }
        }
        let text = lines.join("\n");
        let mut tokens: Vec<&str> = text.split_inclusive([' ', '\n', '[', ']', '=', ',', '.']).collect();
        for (place, word) in tokens_edited {
            let index = place.index(tokens.len());
            tokens[index] = word;
        }
        let damaged = tokens.concat();
        let overrides = if with_override { vec![format!("{key}={value}")] } else { Vec::new() };
        let result = Scenario::read(ReadOptions {
            text: &damaged,
            file: "a.toml",
            overrides: &overrides,
            files: &mut read_file,
            registry: None,
        });
        if let Ok(scenario) = result {
            // What was accepted can be used.
            for link in &scenario.links {
                for direction in Direction::BOTH {
                    let _ = link.direction(direction).mean_rate(60 * SECOND);
                    prop_assert!(link.direction(direction).queue.most_bytes(1500, None) > 0);
                }
                prop_assert!(link.between.iter().all(|&host| host < scenario.hosts.len()));
                prop_assert!(link.via.alternatives.iter().flatten().all(|&index| index < scenario.segments.len()));
            }
            prop_assert!(scenario.traffic().iter().all(|flow| !flow.links.is_empty() && flow.count > 0));
        }
    }

    #[test]
    fn any_text_is_refused_or_read(text in "[ -~\n]{0,200}") {
        let _ = Scenario::parse(&text, "a.toml", &mut read_file);
        let _ = Plan::parse(&text, "a.toml");
    }
}
