//! What pages are made of: SVG, charts with axes, tables, the frame of a page. No network, no script; light and dark.

pub(crate) mod chart;
pub(crate) mod distribution;
pub(crate) mod html;
pub(crate) mod svg;
