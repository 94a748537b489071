//! As much protection as loss and deadlines ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_policy::{
    Command, Commands, ErasureCode, Event, FeatureId, FeatureSet, Interests, MAX_REPAIR_SYMBOLS,
    MAX_SOURCE_SYMBOLS, MessageOrigin, ParameterInfo, Parameters, PathId, PathView, PolicyInfo, Protection,
    ProtectionFactory, ProtectionInit, ProtectionPolicy, ProtectionView, Time,
};

use super::advice::Advice;
use super::fixed::{repair_symbols, span_parameter};
use super::{RepairPath, code_parameter, read_code};

/// Packets of a path after which a receiver says how many of them were lost.
const SAMPLE: u64 = 200;

/// Paths of which loss is remembered.
const MAX_PATHS: usize = 64;

/// What can be set of [`AdaptiveProtection`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveProtectionParameters {
    /// Share of blocks of which something has to be sent again after all.
    pub residual: f64,
    /// Loss below which nothing is protected.
    pub least_loss: f64,
    /// The most repair symbols for each source symbol.
    pub most: f64,
    /// Source symbols of a block or window.
    pub block: u16,
    /// The code.
    pub code: ErasureCode,
    /// How long a block waits to be full.
    pub span: Duration,
    /// Whether data without a deadline is protected.
    pub always: bool,
    /// Whether the receiver reports loss, and the sender goes by that.
    pub advice: bool,
    /// The path of the repair symbols.
    pub path: RepairPath,
}

impl Default for AdaptiveProtectionParameters {
    fn default() -> Self {
        AdaptiveProtectionParameters {
            residual: 0.01,
            least_loss: 0.001,
            most: 0.5,
            block: 20,
            code: ErasureCode::ReedSolomon,
            span: Duration::from_millis(10),
            always: true,
            advice: false,
            path: RepairPath::Own,
        }
    }
}

impl AdaptiveProtectionParameters {
    pub(crate) fn read(parameters: &Parameters) -> Self {
        AdaptiveProtectionParameters {
            residual: parameters.number("residual"),
            least_loss: parameters.number("least-loss"),
            most: parameters.number("most"),
            block: parameters.integer("block") as u16,
            code: read_code(parameters),
            span: parameters.duration("span"),
            always: parameters.flag("always"),
            advice: parameters.flag("advice"),
            path: RepairPath::read(parameters),
        }
    }
}

/// As many repair symbols as the loss of a path asks for, and none for data that can be sent again before its deadline.
///
/// At a loss rate p, the least number r of repair symbols is taken with which more than r of k + r packets get lost in no more
/// than a given share of blocks (losses taken as independent). Loss is what the path has seen of late or, with `advice`, what
/// the peer's policy of the same name reports, whichever is more.
#[derive(Debug)]
pub struct AdaptiveProtection {
    parameters: AdaptiveProtectionParameters,
    /// What the peer reported of paths on which we send.
    advised: BTreeMap<PathId, u32>,
    /// Packets of paths on which we receive: arrived, missing.
    counts: BTreeMap<PathId, (u64, u64)>,
}

impl AdaptiveProtection {
    /// With these parameters.
    pub fn new(parameters: AdaptiveProtectionParameters) -> Self {
        AdaptiveProtection { parameters, advised: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// What a registry tells of it.
    pub fn info() -> PolicyInfo {
        let default = AdaptiveProtectionParameters::default();
        PolicyInfo::new("adaptive", "as many repair symbols as loss and deadlines ask for")
            .parameter(
                ParameterInfo::number("residual", 0.000_01..=0.5, default.residual)
                    .meaning("share of blocks of which something has to be sent again after all"),
            )
            .parameter(
                ParameterInfo::number("least-loss", 0.0..=0.5, default.least_loss)
                    .meaning("loss rate below which nothing is protected"),
            )
            .parameter(
                ParameterInfo::number("most", 0.01..=1.0, default.most)
                    .meaning("most repair symbols per source symbol"),
            )
            .parameter(
                ParameterInfo::integer("block", 1..=u64::from(MAX_SOURCE_SYMBOLS), default.block.into())
                    .unit("packets")
                    .meaning("source symbols of a block or window"),
            )
            .parameter(code_parameter())
            .parameter(span_parameter(default.span))
            .parameter(
                ParameterInfo::flag("always", default.always)
                    .meaning("protect data without a deadline as well"),
            )
            .parameter(ParameterInfo::flag("advice", default.advice).meaning(
                "the receiver reports its loss, if it has this policy too; costs an event per packet",
            ))
            .parameter(RepairPath::parameter())
    }

    /// Loss of the path, as a share.
    fn loss(&self, path: &PathView) -> f64 {
        let advised = self.advised.get(&path.id).copied().unwrap_or(0);
        f64::from(path.loss_ppm.max(advised)) / 1e6
    }

    /// Whether a retransmission would come too late, or nobody knows of a deadline and all is to be protected.
    fn is_worth_it(&self, now: Time, path: &PathView, deadline: Option<Time>) -> bool {
        let Some(deadline) = deadline else { return self.parameters.always };
        // There, noticed by what follows, back, and there again: two round trips and their variation.
        let resent = path.smoothed_rtt * 2 + path.rtt_variance * 4;
        now + resent > deadline
    }

    fn on_received(&mut self, path: PathId, gap: u64, commands: &mut Commands) {
        if self.counts.len() >= MAX_PATHS && !self.counts.contains_key(&path) {
            self.counts.pop_first();
        }
        let (arrived, missing) = self.counts.entry(path).or_default();
        (*arrived, *missing) = (*arrived + 1, missing.saturating_add(gap));
        if *arrived >= SAMPLE {
            let loss = *missing as f64 / (*arrived + *missing) as f64;
            (*arrived, *missing) = (0, 0);
            commands.push(Command::Send(Advice::of_loss(loss).to_message(path)));
        }
    }
}

/// The least number of repair symbols with which no more than a share of `residual` of blocks loses more packets than it has
/// repair symbols; at most `most`.
pub(super) fn needed(source_symbols: u16, loss: f64, residual: f64, most: u16) -> u16 {
    (1..most).find(|repair| exceeds(source_symbols + repair, *repair, loss) <= residual).unwrap_or(most)
}

/// The probability that of `packets` more than `bearable` get lost.
fn exceeds(packets: u16, bearable: u16, loss: f64) -> f64 {
    let loss = loss.clamp(0.0, 0.999);
    let mut term = (1.0 - loss).powi(i32::from(packets));
    let mut sum = term;
    for lost in 1..=bearable {
        term *= f64::from(packets - lost + 1) / f64::from(lost) * loss / (1.0 - loss);
        sum += term;
    }
    (1.0 - sum).max(0.0)
}

impl ProtectionPolicy for AdaptiveProtection {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn protect(&mut self, view: &ProtectionView<'_>) -> Option<Protection> {
        let own = view.own()?;
        let AdaptiveProtectionParameters { residual, least_loss, most, block, code, span, path, .. } =
            self.parameters;
        let loss = self.loss(own);
        if loss < least_loss || !self.is_worth_it(view.now, own, view.segment.deadline) {
            return None;
        }
        let most = repair_symbols(block, most).min(MAX_REPAIR_SYMBOLS);
        Some(
            Protection::new(code, block, needed(block, loss, residual, most), span)
                .with(|protection| protection.path = path.choose(view)),
        )
    }

    fn interests(&self) -> Interests {
        match self.parameters.advice {
            true => Interests::RECEIVED | Interests::MESSAGES,
            false => Interests::NONE,
        }
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        match event {
            Event::Received(packet) => self.on_received(packet.path, packet.gap, commands),
            Event::Message { origin: MessageOrigin::Peer, message, .. }
                if message.feature == FeatureId::PROTECTION_ADVICE =>
            {
                // A peer may send anything: what has no meaning is ignored.
                if let (Some(path), Ok(advice)) = (message.path, Advice::read(&message.payload)) {
                    if self.advised.len() >= MAX_PATHS && !self.advised.contains_key(&path) {
                        self.advised.pop_first();
                    }
                    self.advised.insert(path, advice.loss_ppm);
                }
            }
            _ => {}
        }
    }
}

/// Makes [`AdaptiveProtection`].
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveProtectionFactory(pub AdaptiveProtectionParameters);

impl ProtectionFactory for AdaptiveProtectionFactory {
    fn build(&self, _init: &ProtectionInit) -> Option<Box<dyn ProtectionPolicy>> {
        Some(Box::new(AdaptiveProtection::new(self.0)))
    }

    fn features(&self) -> FeatureSet {
        match self.0.advice {
            true => FeatureSet::NONE.with(FeatureId::PROTECTION_ADVICE),
            false => FeatureSet::NONE,
        }
    }
}
