//! Gradient descent of which only values are seen.

/// Bandit gradient descent over 0 to 1 (Flaxman, Kalai and McMahan, SODA 2005): the ablation of [`IntervalFtrl`], without
/// accumulated gradients and without a barrier.
///
/// It plays `x + U` with `U = +-radius`, estimates the gradient by `Y U / radius^2` and moves against it by the step size,
/// within `radius` of either end.
///
/// [`IntervalFtrl`]: crate::IntervalFtrl
///
/// ```
/// let mut descent = hawser_learn::GradientDescent::new(0.1, 0.1);
/// let played = descent.play(true);
/// assert_eq!(played, 0.6);
/// descent.update(played, 0.25);
/// assert!((descent.center() - 0.25).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientDescent {
    step: f64,
    radius: f64,
    center: f64,
}

impl GradientDescent {
    /// Starts in the middle. The radius lies above 0 and below one half.
    ///
    /// # Panics
    /// If it does not.
    pub fn new(step: f64, radius: f64) -> Self {
        assert!(radius > 0.0 && radius < 0.5, "a radius between 0 and 0.5, not {radius}");
        Self { step, radius, center: 0.5 }
    }

    /// Where it stands.
    pub fn center(&self) -> f64 {
        self.center
    }

    /// The point to play, above the centre or below.
    pub fn play(&self, above: bool) -> f64 {
        if above { self.center + self.radius } else { self.center - self.radius }
    }

    /// Takes in the loss of a point that was played while it stood where it stands.
    pub fn update(&mut self, played: f64, loss: f64) {
        self.update_from(self.center, played, loss);
    }

    /// Takes in the loss of a point that was played around `center`.
    pub fn update_from(&mut self, center: f64, played: f64, loss: f64) {
        let gradient = loss * (played - center) / (self.radius * self.radius);
        self.center = (self.center - self.step * gradient).clamp(self.radius, 1.0 - self.radius);
    }

    /// Back to the middle.
    pub fn reset(&mut self) {
        self.center = 0.5;
    }
}

#[cfg(test)]
mod tests {
    use super::GradientDescent;

    #[test]
    fn it_finds_the_minimum_of_a_parabola() {
        let mut descent = GradientDescent::new(0.05, 0.1);
        let mut near = 0;
        for round in 0..400 {
            let played = descent.play((round / 2) % 2 == 1);
            descent.update(played, (played - 0.3).powi(2));
            near += usize::from(round >= 200 && (descent.center() - 0.3).abs() < 0.05);
        }
        assert!(near >= 190, "{near} of 200");
    }

    #[test]
    fn it_stays_a_radius_away_from_the_ends() {
        let mut descent = GradientDescent::new(10.0, 0.1);
        let played = descent.play(true);
        descent.update(played, 1.0);
        assert_eq!((descent.center(), descent.play(false)), (0.1, 0.0));
        descent.reset();
        assert_eq!(descent.center(), 0.5);
    }
}
