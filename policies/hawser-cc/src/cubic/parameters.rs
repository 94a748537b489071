use hawser_policy::{ParameterInfo, Parameters, PolicyInfo};

use super::Cubic;

/// What can be set of [`Cubic`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicParameters {
    /// What remains of the window after congestion (RFC 9438 section 4.6).
    pub beta: f64,
    /// Aggressiveness, in datagrams per second cubed (RFC 9438 section 5.1).
    pub c: f64,
    /// Whether a flow whose plateau sinks makes room for others (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// Whether a rising round-trip time ends the first slow start (RFC 9406).
    pub hystart: bool,
}

impl Default for CubicParameters {
    fn default() -> Self {
        CubicParameters { beta: 0.7, c: 0.4, fast_convergence: true, hystart: true }
    }
}

impl CubicParameters {
    /// Those of a spec such as `cubic,beta=0.8`.
    pub(crate) fn read(parameters: &Parameters) -> Self {
        CubicParameters {
            beta: parameters.number("beta"),
            c: parameters.number("c"),
            fast_convergence: parameters.flag("fast_convergence"),
            hystart: parameters.flag("hystart"),
        }
    }
}

impl Cubic {
    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let info = PolicyInfo::new(Cubic::NAME, "grows by a cubic of time, whatever the round-trip time");
        describe(info.source("RFC 9438"))
    }
}

/// Declares the parameters.
pub(crate) fn describe(info: PolicyInfo) -> PolicyInfo {
    let default = CubicParameters::default();
    info.parameter(
        ParameterInfo::number("beta", 0.1..=0.95, default.beta)
            .meaning("what remains of the window after congestion")
            .source("RFC 9438 section 4.6"),
    )
    .parameter(
        ParameterInfo::number("c", 0.01..=10.0, default.c)
            .unit("datagrams/s^3")
            .meaning("how steeply the window grows away from the plateau")
            .source("RFC 9438 section 5.1"),
    )
    .parameter(
        ParameterInfo::flag("fast_convergence", default.fast_convergence)
            .meaning("make room for others when the plateau sinks")
            .source("RFC 9438 section 4.7"),
    )
    .parameter(crate::slow_start::hystart(default.hystart))
}
