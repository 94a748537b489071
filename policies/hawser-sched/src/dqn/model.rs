//! The trained network as a file.

#[cfg(feature = "learned")]
use std::sync::{Arc, OnceLock};

use hawser_learn::{Mlp, MlpError, TrainedMlp};

use super::state::{PATHS, STATE};

const MAGIC: &str = "hawser-dqn-model";
const VERSION: &str = "1";
/// What is read at most, in bytes: networks of 512 and 512 neurons are smaller.
const MAX_BYTES: usize = 2 << 20;

/// A trained network, 40 numbers wide at its input and two at its output.
#[derive(Clone, Debug, PartialEq)]
pub struct DqnModel {
    network: Mlp,
}

/// A file that has no such network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DqnModelError {
    /// It is something else.
    NotAModel,
    /// It is of another version of the format.
    Version(String),
    /// Its first line says no check value, or no widths.
    Header,
    /// It is larger than 2 MiB.
    TooLarge,
    /// The weights are not those that the first line was written for: truncated, or changed.
    Damaged,
    /// The weights are incomplete, or one of them is not finite.
    Weights(MlpError),
    /// A network for something else.
    Shape {
        /// Numbers that it takes.
        inputs: usize,
        /// Numbers that it gives.
        outputs: usize,
    },
}

impl std::fmt::Display for DqnModelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAModel => write!(f, "no model of dqn: expected it to begin with \"{MAGIC} {VERSION}\""),
            Self::Version(found) => {
                write!(f, "a model of version {found}; this program reads version {VERSION}")
            }
            Self::Header => write!(
                f,
                "the first line of the model: expected a check value of 16 hexadecimal digits, and the widths of all layers"
            ),
            Self::TooLarge => write!(f, "the model is larger than {MAX_BYTES} bytes"),
            Self::Damaged => {
                write!(f, "the weights of the model do not give its check value: truncated, or changed")
            }
            Self::Weights(error) => write!(f, "the weights of the model: {error}"),
            Self::Shape { inputs, outputs } => write!(
                f,
                "a network of {inputs} inputs and {outputs} outputs; that of dqn has {STATE} and {PATHS}"
            ),
        }
    }
}

impl std::error::Error for DqnModelError {}

impl DqnModel {
    /// The model that comes with this crate, as a file. `hawser lab prelearn --dqn` makes it and its manifest.
    #[cfg(feature = "learned")]
    pub const SHIPPED: &'static [u8] = include_bytes!("../../models/dqn.model");

    /// What it was trained with, how that went, and what it earns on links that it had not seen (JSON).
    #[cfg(feature = "learned")]
    pub const SHIPPED_MANIFEST: &'static str = include_str!("../../models/dqn.json");

    /// The model that comes with this crate, read once.
    ///
    /// # Panics
    /// Never: a test reads it.
    #[cfg(feature = "learned")]
    pub fn shipped() -> Arc<DqnModel> {
        static MODEL: OnceLock<Arc<DqnModel>> = OnceLock::new();
        MODEL.get_or_init(|| Arc::new(DqnModel::read(DqnModel::SHIPPED).expect("it is whole"))).clone()
    }

    /// The file of a network: a line `hawser-dqn-model 1 CHECK WIDTHS`, and the weights as [`Mlp::read`] takes them. The check value
    /// is the 64-bit FNV-1a hash of the weights, hexadecimal.
    pub fn write(network: &TrainedMlp) -> Vec<u8> {
        let weights = network.write();
        let widths: String = network.shapes().iter().map(|width| format!(" {width}")).collect();
        let mut file = format!("{MAGIC} {VERSION} {:016x}{widths}\n", check_value(&weights)).into_bytes();
        file.extend(weights);
        file
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(file: &[u8]) -> Result<DqnModel, DqnModelError> {
        if file.len() > MAX_BYTES {
            return Err(DqnModelError::TooLarge);
        }
        let rest = file.strip_prefix(MAGIC.as_bytes()).ok_or(DqnModelError::NotAModel)?;
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(DqnModelError::Header)?;
        let (header, weights) = (&rest[..end], &rest[end + 1..]);
        let header = std::str::from_utf8(header).map_err(|_| DqnModelError::Header)?;
        let mut words = header.split_ascii_whitespace();
        let version = words.next().unwrap_or_default();
        if version != VERSION {
            return Err(DqnModelError::Version(version.chars().take(20).collect()));
        }
        let check = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let widths: Option<Vec<usize>> = words.map(|word| word.parse().ok()).collect();
        let (Some(check), Some(widths)) = (check, widths) else { return Err(DqnModelError::Header) };
        if check_value(weights) != check {
            return Err(DqnModelError::Damaged);
        }
        let network = Mlp::read(&widths, weights).map_err(DqnModelError::Weights)?;
        let (inputs, outputs) = (network.inputs(), network.outputs());
        if (inputs, outputs) != (STATE, PATHS) {
            return Err(DqnModelError::Shape { inputs, outputs });
        }
        Ok(DqnModel { network })
    }

    /// The network, to be asked.
    pub(super) fn network(&self) -> Mlp {
        self.network.clone()
    }
}

/// FNV-1a, 64 bits: finds what was truncated or changed by mistake.
fn check_value(bytes: &[u8]) -> u64 {
    let first = 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(first, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use hawser_learn::Random;

    use super::*;

    fn file(shapes: &[usize]) -> Vec<u8> {
        DqnModel::write(&TrainedMlp::new(shapes, &mut Random::new(1)))
    }

    #[test]
    fn the_shipped_model_is_whole() {
        let network = DqnModel::shipped().network();
        assert_eq!((network.inputs(), network.outputs()), (40, 2));
    }

    #[test]
    fn what_is_written_is_read() {
        let mut trained = TrainedMlp::new(&[STATE, 8, PATHS], &mut Random::new(1));
        let mut network = DqnModel::read(&DqnModel::write(&trained)).expect("it is whole").network();
        let (state, mut values) = ([0.5; STATE], [0.0; PATHS]);
        network.forward(&state, &mut values);
        assert_eq!(trained.forward(&state), values);
    }

    /// Those of the author of the hash.
    #[test]
    fn check_values_are_fnv_1a() {
        assert_eq!(check_value(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(check_value(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn what_is_broken_is_refused_with_its_reason() {
        let whole = file(&[STATE, 8, PATHS]);
        let refused = |file: &[u8]| DqnModel::read(file).expect_err("it is broken");
        let replaced = |from: &str, to: &str| {
            let end = whole.iter().position(|byte| *byte == b'\n').expect("it has a line");
            let line = String::from_utf8(whole[..end].to_vec()).expect("it is text");
            assert!(line.contains(from));
            [line.replacen(from, to, 1).as_bytes(), &whole[end..]].concat()
        };
        assert_eq!(refused(b"{}"), DqnModelError::NotAModel);
        assert_eq!(refused(b""), DqnModelError::NotAModel);
        assert_eq!(refused(&whole[..20]), DqnModelError::Header);
        assert_eq!(refused(&replaced("model 1 ", "model 9 ")), DqnModelError::Version("9".to_owned()));
        assert_eq!(refused(&replaced(" 40 8 2", " 40 eight 2")), DqnModelError::Header);
        assert_eq!(refused(&whole[..whole.len() - 1]), DqnModelError::Damaged);
        let mut changed = whole.clone();
        *changed.last_mut().expect("it has weights") ^= 1;
        assert_eq!(refused(&changed), DqnModelError::Damaged);
        assert!(matches!(refused(&replaced(" 40 8 2", " 40 9 2")), DqnModelError::Weights(_)));
        let others = [(file(&[STATE, 8, 3]), (STATE, 3)), (file(&[30, 8, PATHS]), (30, PATHS))];
        for (file, (inputs, outputs)) in others {
            assert_eq!(refused(&file), DqnModelError::Shape { inputs, outputs });
        }
        assert_eq!(refused(&vec![0; MAX_BYTES + 1]), DqnModelError::TooLarge);
        assert!(refused(&changed).to_string().contains("check value"));
    }
}
