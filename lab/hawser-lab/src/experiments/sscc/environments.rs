//! Random environments of two paths, to train models in and to judge them in (F. Yang 2022, section 5.3.6).

use std::path::Path;

use hawser_learn::Random;
use serde::{Deserialize, Serialize};

use crate::data::sweep::{Inputs, digest};

/// Of this many environments in a row the last one is a scene.
const SCENE_EVERY: u64 = 5;
/// Scenes of training have seeds from here on; experiments count theirs from 1.
const FIRST_SCENE_SEED: u64 = 1_000_000;
/// Seeds of [`Environments::JUDGE`]; collections have smaller ones.
pub(super) const JUDGE_SEED: u64 = 1 << 32;

/// A family of environments, each with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Environments {
    /// Everything random follows from it.
    pub(super) seed: u64,
    /// Whether one in five is a scene with links that change: a car between two carriers, or two 5G links.
    pub(super) scenes: bool,
}

/// An environment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Environment {
    /// The scenario file.
    pub(super) file: &'static str,
    /// Fields of the scenario set otherwise.
    pub(super) set: Vec<String>,
    /// Rate and round-trip time of each path, Mbit/s and ms; none where they change.
    pub(super) links: Option<[(f64, f64); 2]>,
}

impl Environments {
    /// Those in which models are judged. Nothing is trained in them.
    pub(super) const JUDGE: Environments = Environments { seed: JUDGE_SEED, scenes: false };

    /// The environment of this number.
    pub(super) fn get(self, number: u64) -> Environment {
        let mut random = Random::new(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
        if self.scenes && number % SCENE_EVERY == SCENE_EVERY - 1 {
            scene(number / SCENE_EVERY, self.seed, &mut random)
        } else {
            drawn(self.seed.wrapping_add(number), &mut random)
        }
    }

    /// A hash of the first environments: of the scenario files that they are made of, and of the fields set otherwise.
    pub(super) fn digest(self, environments: u64, scenarios: &Path) -> Result<String, String> {
        let inputs = Inputs::default();
        let base = scenarios.join("list");
        let mut identity = String::new();
        for number in 0..environments {
            let environment = self.get(number);
            let file = scenarios.join(environment.file);
            inputs.load(&base, &file, &environment.set).map_err(|error| error.to_string())?;
            identity += &format!("{} {}\n", environment.file, environment.set.join(" "));
        }
        for input in inputs.digests(&base) {
            identity += &format!("{} {}\n", input.file, input.sha256);
        }
        Ok(digest(identity.as_bytes()))
    }
}

/// Stage 1 of the thesis. Uniform: 5 to 100 Mbit/s, 20 to 400 ms, losses up to 2 %; logarithmically: queues of 0.1 to 50 MB,
/// background of 0.1 to 50 MB.
fn drawn(seed: u64, random: &mut Random) -> Environment {
    let mut set = vec![format!("seed={seed}")];
    let mut links = [(0.0, 0.0); 2];
    for (path, link) in links.iter_mut().enumerate() {
        let mut uniform = |low: f64, high: f64| low + (high - low) * random.fraction();
        let rate = uniform(5_000.0, 100_000.0).round();
        let one_way = uniform(10.0, 200.0);
        let loss = uniform(0.0, 0.02);
        let queue = (uniform(0.1_f64.ln(), 50_f64.ln()).exp() * 1e3).round();
        set.push(format!("link.p{path}.rate={rate} kbit/s"));
        set.push(format!("link.p{path}.delay={one_way:.2} ms"));
        set.push(format!("link.p{path}.loss={loss:.5}"));
        set.push(format!("link.p{path}.queue={queue} kB"));
        set.push(background(path, random));
        *link = (rate / 1e3, 2.0 * one_way);
    }
    Environment { file: "sscc-training.toml", set, links: Some(links) }
}

/// In place of the traces of stage 2, which are not public: cellular links that change, by turns in a car and at rest.
fn scene(number: u64, seed: u64, random: &mut Random) -> Environment {
    let file =
        if number.is_multiple_of(2) { "sscc-training-mobile.toml" } else { "sscc-training-five-g.toml" };
    let seed = seed.wrapping_mul(FIRST_SCENE_SEED).wrapping_add(number).max(FIRST_SCENE_SEED);
    let mut set = vec![format!("seed={seed}")];
    set.extend((0..2).map(|path| background(path, random)));
    Environment { file, set, links: None }
}

fn background(path: usize, random: &mut Random) -> String {
    let (low, high) = (0.1_f64.ln(), 50_f64.ln());
    let size = ((low + (high - low) * random.fraction()).exp() * 1e3).round();
    format!("flow.background{path}.size={size} kB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_trained_in_and_what_judges_are_disjoint() {
        let training = Environments { seed: 1, scenes: true };
        let sets: Vec<_> = (0..100).map(|number| training.get(number).set).collect();
        assert!((0..100).all(|number| !sets.contains(&Environments::JUDGE.get(number).set)));
        // Scenes of experiments count from 1.
        let scene = training.get(4);
        assert_eq!((scene.file, scene.set[0].as_str()), ("sscc-training-mobile.toml", "seed=1000000"));
        assert_eq!(scene, training.get(4));
    }
}
