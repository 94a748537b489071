use super::*;
use crate::Mlp;

/// A weighted sum of the outputs, as a loss.
fn loss(network: &mut TrainedMlp, input: &[f32], slopes: &[f32]) -> f64 {
    let outputs = network.forward(input).iter().zip(slopes);
    outputs.map(|(output, slope)| f64::from(*output) * f64::from(*slope)).sum()
}

/// Every derivative, against the difference of two losses.
#[test]
fn gradients_are_finite_differences() {
    for seed in 0..5 {
        let mut random = Random::new(seed);
        let mut network = TrainedMlp::new(&[5, 17, 9, 3], &mut random);
        // Not where a ReLU bends.
        network.parameters_mut().iter_mut().for_each(|parameter| *parameter += 0.05);
        let mut values = |count: usize| (0..count).map(|_| random.normal() as f32).collect::<Vec<_>>();
        let (input, slopes) = (values(5), values(3));
        let mut gradient = vec![0.0; network.parameters().len()];
        network.forward(&input);
        network.backward(&slopes, &mut gradient);
        let step = 1e-2f32;
        let mut bent = 0;
        for (at, slope) in gradient.iter().enumerate() {
            let mut moved = |by: f32| {
                let before = network.parameters()[at];
                network.parameters_mut()[at] = before + by;
                let value = loss(&mut network, &input, &slopes);
                network.parameters_mut()[at] = before;
                value
            };
            let [above, here, below] = [step, 0.0, -step].map(&mut moved);
            // Piecewise linear in each parameter: both sides agree, unless a ReLU bends between them.
            if (above - 2.0 * here + below).abs() > 1e-4 {
                bent += 1;
                continue;
            }
            let expected = (above - below) / (2.0 * f64::from(step));
            assert!((f64::from(*slope) - expected).abs() < 2e-3, "{seed}, {at}: {slope}, {expected}");
        }
        assert!(bent * 10 < gradient.len(), "{bent} of {}", gradient.len());
    }
}

/// 2 relu(3 x + 1) at x = 1: derivatives by hand, added to what is there.
#[test]
fn a_gradient_by_hand() {
    let mut network = TrainedMlp::new(&[1, 1, 1], &mut Random::new(0));
    network.parameters_mut().copy_from_slice(&[3.0, 1.0, 2.0, 0.0]);
    assert_eq!(network.forward(&[1.0]), [8.0]);
    let mut gradient = [0.0, 0.0, 0.0, 100.0];
    network.backward(&[1.0], &mut gradient);
    assert_eq!(gradient, [2.0, 2.0, 4.0, 101.0]);
    assert_eq!(network.forward(&[-1.0]), [0.0]);
    let mut gradient = [0.0; 4];
    network.backward(&[1.0], &mut gradient);
    assert_eq!(gradient, [0.0, 0.0, 0.0, 1.0], "nothing behind a closed ReLU");
}

#[test]
fn inference_gives_the_same_bits() {
    let mut random = Random::new(3);
    let mut network = TrainedMlp::new(&[6, 64, 20, 4], &mut random);
    let mut read = Mlp::read(&network.shapes(), &network.write()).unwrap();
    for _ in 0..100 {
        let input: Vec<f32> = (0..6).map(|_| random.normal() as f32).collect();
        let mut out = [0.0; 4];
        read.forward(&input, &mut out);
        assert_eq!(network.forward(&input), out);
    }
}

#[test]
fn the_same_seed_gives_the_same_weights() {
    let network = |seed| TrainedMlp::new(&[40, 64, 2], &mut Random::new(seed));
    assert_eq!(network(1), network(1));
    assert_ne!(network(1), network(2));
    let bound = (6f32 / 40.0).sqrt();
    assert!(network(1).parameters()[..40 * 64].iter().all(|weight| weight.abs() <= bound));
}

#[test]
fn a_product_has_all_its_terms() {
    for count in [0, 1, 7, 8, 9, 64, 67] {
        let ones: Vec<f32> = (1..=count).map(|at| at as f32).collect();
        assert_eq!(product(&ones, &vec![2.0; ones.len()]), (count * (count + 1)) as f32);
    }
}
