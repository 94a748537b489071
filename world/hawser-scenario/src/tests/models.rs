//! Every form of rate, jitter, loss, queue and damage.

use hawser_link::{
    CoDel, DirectionConfig, Discipline, FqCoDel, Impairments, QueueLimit, RandomSteps, Red, Series,
    StepMarking, StepThreshold, TokenBucket,
};

use super::*;

/// A link with these fields, in both directions.
fn link(fields: &str) -> Result<DirectionConfig, ScenarioError> {
    let rate = if fields.starts_with("rate =") { "" } else { "rate = \"8 Mbit/s\"\n" };
    let text = format!("version = 1\n[link.a]\n{fields}\n{rate}");
    parse(&text).map(|scenario| scenario.links[0].up.clone())
}

#[test]
fn rates() {
    let rate = |text: &str| link(&format!("rate = {text}")).unwrap().rate;
    assert_eq!(
        rate(
            r#"{ model = "sinusoid", mean = "20 Mbit/s", amplitude = "5 Mbit/s", period = "10 s", phase = 0.25 }"#
        ),
        RateModel::sinusoid(20_000_000, 5_000_000, 10 * SECOND, 0.25)
    );
    let RateModel::Random(RandomSteps::Markov(chain)) =
        rate(r#"{ model = "markov", levels = [["8 Mbit/s", "10 s"], ["1 Mbit/s", "2 s"]] }"#)
    else {
        panic!("a chain")
    };
    assert_eq!((chain.levels()[1].value, chain.levels()[1].mean_stay), (1_000_000, 2 * SECOND));
    let same = rate(
        r#"{ model = "markov", levels = ["8 Mbit/s", "1 Mbit/s"], stay = "10 s", moves = [[0, 1], [0.5, 0.5]] }"#,
    );
    assert_eq!(same.peak(), Some(8_000_000));
    assert_eq!(
        rate(r#"{ model = "redraw", range = ["10 Mbit/s", "30 Mbit/s"], every = "5 s" }"#),
        RateModel::Random(RandomSteps::Redraw { base: 20_000_000, spread: 0.5, interval: 5 * SECOND })
    );
    assert_eq!(
        rate(r#"{ model = "redraw", mean = "10 Mbit/s", spread = 0.1, every = "5 s" }"#),
        RateModel::Random(RandomSteps::Redraw { base: 10_000_000, spread: 0.1, interval: 5 * SECOND })
    );
    assert_eq!(
        rate(
            r#"{ model = "autoregressive", mean = "10 Mbit/s", deviation = "2 Mbit/s", correlation = 0.9, every = "1 s" }"#
        ),
        RateModel::Random(RandomSteps::Autoregressive {
            mean: 10_000_000,
            deviation: 2_000_000,
            correlation: 0.9,
            interval: SECOND
        })
    );
    let bucket = TokenBucket { rate: 10_000_000, burst: 50_000, peak_rate: Some(20_000_000) };
    assert_eq!(
        rate(r#"{ model = "token-bucket", rate = "10 Mbit/s", burst = "50 kB", peak = "20 Mbit/s" }"#),
        RateModel::TokenBucket(bucket)
    );
}

#[test]
fn jitter_and_order() {
    let delay = |text: &str| link(&format!("jitter = {text}")).unwrap().delay;
    let gaussian = delay(r#"{ model = "gaussian", mean = "2 ms", deviation = "1 ms", reordering = true }"#);
    assert_eq!(gaussian.jitter, Jitter::Gaussian { mean: 2 * MILLISECOND, deviation: MILLISECOND });
    assert!(gaussian.reordering);
    assert_eq!(delay("\"none\"").jitter, Jitter::None);
    let exponential = delay(r#"{ model = "exponential", mean = "2 ms" }"#);
    assert_eq!(exponential.jitter, Jitter::Exponential { mean: 2 * MILLISECOND });
    assert!(!exponential.reordering);
    let uniform = delay(r#"{ model = "uniform", maximum = "2 ms" }"#);
    assert_eq!(uniform.jitter, Jitter::Uniform { maximum: 2 * MILLISECOND });
    let redraw = delay(r#"{ model = "redraw", mean = "4 ms", spread = 1.0, every = "100 ms" }"#);
    let steps = RandomSteps::Redraw { base: 4 * MILLISECOND, spread: 1.0, interval: 100 * MILLISECOND };
    assert_eq!(redraw.jitter, Jitter::Steps(steps));
}

#[test]
fn losses_and_damage() {
    let loss = |text: &str| link(&format!("loss = {text}")).unwrap().loss;
    // As much as two states can lose with single losses and with runs of 1.5 packets.
    for (share, burst) in [(0.5, 1.0), (0.6, 1.5)] {
        let model = loss(&format!("{{ model = \"gilbert-elliott\", loss = {share}, mean_burst = {burst} }}"));
        assert!((model.mean().unwrap() - share).abs() < 1e-9, "{model:?}");
    }
    let series = Series::new(vec![(0, 0.01), (SECOND, 0.5)], Some(2 * SECOND)).unwrap();
    assert_eq!(
        loss(r#"{ steps = [["0 s", "1 %"], ["1 s", 0.5]], repeat = "2 s" }"#),
        LossModel::Series(series)
    );
    let series = Series::new(vec![(0, 0.2), (SECOND, 1.0)], None).unwrap();
    assert_eq!(loss(r#"{ series = "loss.txt" }"#), LossModel::Series(series));
    let events = LossModel::Events { mean_interval: 10 * SECOND, packets: 5 };
    assert_eq!(loss(r#"{ model = "bursts", every = "10 s", packets = 5 }"#), events);
    let damaged =
        link("duplicate = 0.001\ncorrupt = 1e-5\nreorder = { probability = \"1 %\", delay = \"10 ms\" }")
            .unwrap();
    let expected = Impairments {
        duplication: 0.001,
        corruption: 1e-5,
        reordering: 0.01,
        reordering_delay: 10 * MILLISECOND,
    };
    assert_eq!(damaged.impairments, expected);
}

#[test]
fn queues() {
    let queue = |text: &str| link(&format!("queue = {text}")).unwrap().queue;
    assert_eq!(queue("\"50 packets\""), QueueConfig::packets(50));
    assert_eq!(queue("{ limit = \"20 ms\" }"), QueueConfig::bytes(20_000));
    assert_eq!(queue("{ limit = \"20 ms\", follow_rate = true }").limit, QueueLimit::Time(20 * MILLISECOND));
    let codel = CoDel { target: 4 * MILLISECOND, interval: 80 * MILLISECOND, ecn: true };
    assert_eq!(
        queue(
            r#"{ discipline = "codel", limit = "300 kB", target = "4 ms", interval = "80 ms", ecn = true }"#
        ),
        QueueConfig::bytes(300_000).with(Discipline::CoDel(codel))
    );
    let fair = FqCoDel { flows: 64, ..FqCoDel::default() };
    assert_eq!(
        queue(r#"{ discipline = "fq-codel", limit = "10240 packets", flows = 64 }"#),
        QueueConfig::packets(10_240).with(Discipline::FqCoDel(fair))
    );
    let red = queue(r#"{ discipline = "red", minimum = "30 kB", maximum = "90 ms", probability = "2 %" }"#);
    assert_eq!(red.limit, QueueLimit::Bytes(100_000));
    assert_eq!(red.discipline, Discipline::Red(Red { probability: 0.02, ..Red::new(30_000, 90_000) }));
    for (text, threshold) in [
        ("\"1 ms\"", StepThreshold::Sojourn(MILLISECOND)),
        ("\"20 packets\"", StepThreshold::Packets(20)),
        ("\"30 kB\"", StepThreshold::Bytes(30_000)),
    ] {
        let found = queue(&format!("{{ discipline = \"step-marking\", threshold = {text} }}"));
        assert_eq!(found.discipline, Discipline::StepMarking(StepMarking { threshold }));
    }
}

/// A run would compute changes indefinitely and never come to its next event.
#[test]
fn what_comes_back_every_nanosecond_is_refused() {
    for (field, form) in [
        (
            "rate.every",
            "rate = { model = \"autoregressive\", mean = \"9 Mbit/s\", deviation = \"1 Mbit/s\", correlation = 0.9, every = SHORT }",
        ),
        ("rate.every", "rate = { model = \"redraw\", mean = \"9 Mbit/s\", spread = 0.1, every = SHORT }"),
        ("rate.stay", "rate = { model = \"markov\", levels = [\"9 Mbit/s\", \"1 Mbit/s\"], stay = SHORT }"),
        (
            "rate.levels[0][1]",
            "rate = { model = \"markov\", levels = [[\"9 Mbit/s\", SHORT], [\"1 Mbit/s\", \"1 s\"]] }",
        ),
        (
            "rate.period",
            "rate = { model = \"sinusoid\", mean = \"9 Mbit/s\", amplitude = \"1 Mbit/s\", period = SHORT }",
        ),
        ("rate.repeat", "rate = { steps = [[\"0 s\", \"9 Mbit/s\"]], repeat = SHORT }"),
        ("delay.repeat", "delay = { steps = [[\"0 s\", \"9 ms\"]], repeat = SHORT }"),
        ("outage.every", "outage = { every = SHORT, duration = \"1 ns\" }"),
        ("loss.every", "loss = { model = \"bursts\", every = SHORT, packets = 5 }"),
        ("loss.repeat", "loss = { steps = [[\"0 s\", 0.1]], repeat = SHORT }"),
        (
            "jitter.interval",
            "jitter = { model = \"walk\", maximum = \"9 ms\", step = \"1 ms\", interval = SHORT }",
        ),
        ("jitter.every", "jitter = { model = \"redraw\", mean = \"9 ms\", spread = 0.1, every = SHORT }"),
    ] {
        for short in ["0 s", "2 ns", "999 ns"] {
            let message = link(&form.replace("SHORT", &format!("{short:?}"))).expect_err(form).to_string();
            let expected = format!("link.a.{field}: expected at least \"1 us\", found {short:?}");
            assert!(message.ends_with(&expected), "{form} gives {message:?}");
        }
        link(&form.replace("SHORT", "\"1 us\"")).unwrap();
    }
}

#[test]
fn mistakes_in_models() {
    for (fields, part) in [
        (
            "rate = { model = \"sine\" }",
            ":3: link.a.rate.model: unknown value \"sine\"; allowed: \"sinusoid\"",
        ),
        ("rate = { model = \"sinusoid\" }", ":3: link.a.rate: the field `mean` is missing"),
        ("rate = { model = \"markov\", levels = [\"1 Mbit/s\"] }", "levels[0]: expected [value, mean stay]"),
        ("rate = { model = \"markov\", levels = [[\"1 Mbit/s\", \"1 s\"]] }", "at least two levels, found 1"),
        (
            "rate = { model = \"markov\", levels = [\"1 Mbit/s\", \"2 Mbit/s\"], stay = \"1 s\", moves = [[1, 1], [0, 1]] }",
            "row 1 of the transition matrix sums to 2",
        ),
        (
            "rate = { model = \"markov\", levels = [\"0 bit/s\", \"0 bit/s\"], stay = \"1 s\" }",
            "never above zero",
        ),
        ("rate = { model = \"redraw\", every = \"1 s\" }", "either `range"),
        (
            "rate = { model = \"redraw\", range = [\"2 Mbit/s\", \"1 Mbit/s\"], every = \"1 s\" }",
            "rate.range: expected [low, high]",
        ),
        (
            "rate = { model = \"token-bucket\", rate = \"2 Mbit/s\", burst = \"9 kB\", peak = \"1 Mbit/s\" }",
            "rate.peak: the peak rate must not be below",
        ),
        (
            "jitter = { model = \"gaussian\", deviation = \"0 ms\" }",
            "jitter.deviation: expected a duration above",
        ),
        (
            "jitter = { model = \"autoregressive\", mean = \"1 ms\", deviation = \"1 ms\", correlation = 1, every = \"1 s\" }",
            "jitter.correlation: expected a number from 0 to 0.999999",
        ),
        ("loss = { series = \"rate.txt\" }", "loss.series: the series has a probability of 10"),
        ("loss = { probability = 0.1 }", "loss: expected a `model`, `steps"),
        (
            "loss = { model = \"bursts\", every = \"1 s\", packets = 0 }",
            "loss.packets: expected a whole number from 1",
        ),
        (
            "loss = { model = \"gilbert-elliott\", loss = \"60 %\", mean_burst = 1 }",
            ":3: link.a.loss.mean_burst: expected at least 1.5, found 1: at a loss of 0.6",
        ),
        (
            "loss = { model = \"gilbert-elliott\", loss = 0.7, mean_burst = 2 }",
            "expected at least 2.334, found 2",
        ),
        (
            "loss = { model = \"gilbert-elliott\", loss = 1, mean_burst = 9 }",
            "link.a.loss.loss: a loss of 100 %",
        ),
        (
            "jitter = { model = \"gamma\", mean = \"1 ms\", deviation = \"1 h\" }",
            "jitter.deviation: expected at most 1000 times `mean`",
        ),
        (
            "queue = \"999999999999999999 GB\"",
            "or a duration such as \"100 ms\" at the highest rate, found \"999999999999999999 GB\"",
        ),
        ("queue = \"100 years\"", "found \"100 years\""),
        ("queue = \"400000 h\"", "expected at most 1000000000000 bytes, found 1440000000000000"),
        ("queue = \"2000000000 packets\"", "expected at most 1000000000 packets"),
        ("mtu = 9001", "link.a.mtu: expected a whole number from 576 to 9000, found 9001"),
        ("queue = \"0 packets\"", ":3: link.a.queue: a queue of 0 packets"),
        ("queue = { limit = \"10 B\" }", "queue.limit: a queue of 10 bytes"),
        ("queue = { limit = \"10 kB\", follow_rate = true }", "queue.limit: only a limit in time"),
        ("queue = { discipline = \"pie\" }", "\"drop-tail\", \"codel\""),
        (
            "queue = { discipline = \"red\", minimum = \"30 kB\", maximum = \"30 kB\" }",
            "`maximum` must be above",
        ),
        ("queue = { discipline = \"codel\", threshold = \"1 ms\" }", "queue.threshold: unknown field"),
        ("corrupt = 2", "corrupt: expected a probability"),
        ("reorder = { probability = 0.1 }", "reorder: the field `delay` is missing"),
    ] {
        let message = link(fields).expect_err(fields).to_string();
        assert!(message.contains(part), "{fields:?} gives {message:?}");
    }
}

#[test]
fn misspelled_keys_of_inline_tables_are_named() {
    let wrong = |text: &str| link(text).unwrap_err().to_string();
    for (text, field, meant) in [
        ("outage = { every = \"60 s\", durtion = \"1 s\" }", "outage.durtion", "duration"),
        ("outage = { evry = \"60 s\", duration = \"1 s\" }", "outage.evry", "every"),
        ("rate = { model = \"sinusoid\", maen = \"9 Mbit/s\" }", "rate.maen", "mean"),
        ("rate = { stpes = [[\"0 s\", \"9 Mbit/s\"]] }", "rate.stpes", "steps"),
        ("loss = { mdel = \"bursts\" }", "loss.mdel", "model"),
        ("loss = { model = \"gilbert-elliott\", loss = 0.1, mean_brst = 3 }", "loss.mean_brst", "mean_burst"),
        ("queue = { limt = \"9 kB\" }", "queue.limt", "limit"),
    ] {
        let words = wrong(text);
        assert!(
            words.contains(&format!("{field}: unknown field; did you mean `{meant}`?")),
            "{text}: {words}"
        );
    }
    let words = wrong("outage = { every = \"60 s\", length = \"1 s\" }");
    assert!(
        words.ends_with(
            "the field `duration` is missing; write `duration = \"300 ms\"`; found: `every`, `length`"
        ),
        "{words}"
    );
}
