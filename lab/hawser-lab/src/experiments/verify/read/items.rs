//! Items and figures of a list.

use std::collections::BTreeSet;

use toml::Value;

use super::super::error::unknown;
use super::super::figure::{Drawing, Figure, Lines as LineChart};
use super::super::list::{Data, Deviation, Item};
use super::super::metric::Policy;
use super::super::names::{Names, SYSTEM};
use super::super::{claim, metrics};
use super::runs::{Compare, policy_list};
use super::text::{FigureText, ItemText, ListText};
use super::{Known, Lines, Result, at};

/// What an item says that has no negative control.
pub(super) const NO_CONTROL: &str = "none";

type Said<T> = std::result::Result<T, String>;

/// All items.
pub(super) fn all(text: &ListText, names: &Names<'_>, lines: Lines<'_>) -> Result<Vec<Item>> {
    let mut ids = BTreeSet::new();
    let mut items = Vec::new();
    for item in &text.item {
        if !ids.insert(item.id.get_ref()) {
            at(&item.id, Err(format!("the item {} is there twice", item.id.get_ref())))?;
        }
        items.push(one(item, text, names, lines)?);
    }
    Ok(items)
}

fn one(item: &ItemText, text: &ListText, names: &Names<'_>, lines: Lines<'_>) -> Result<Item> {
    let id = item.id.get_ref().clone();
    if item.claims.is_empty() || item.statement.is_empty() || item.threshold.is_empty() {
        at(&item.id, Err("an item has a statement, a threshold and claims".to_owned()))?;
    }
    let mut claims = Vec::new();
    for stated in &item.claims {
        let line = lines.of(stated.span().start);
        claims.push(at(stated, claim::read(stated.get_ref(), line, names))?);
    }
    let tests = item.tests.iter().map(|test| at(test, test.get_ref().parse())).collect::<Result<_>>()?;
    let control = match item.control.as_ref().or(text.control.as_ref()) {
        Some(name) if item.data != Data::None && name.get_ref() != NO_CONTROL => {
            match at(name, names.policy(name.get_ref()))? {
                Policy::Named(policy) => Some(policy),
                Policy::System => at(name, Err("the system is no control of itself".to_owned()))?,
            }
        }
        _ => None,
    };
    let deviation =
        item.deviation.as_ref().map(|value| at(value, deviation(value.get_ref(), item.must, text)));
    Ok(Item {
        id,
        statement: item.statement.clone(),
        threshold: item.threshold.clone(),
        paper: item.paper.clone(),
        must: item.must,
        data: item.data,
        claims,
        tests,
        control,
        deviation: deviation.transpose()?,
    })
}

/// A cause, `@NAME` of one in `[causes]`, or `{ page, cause }`.
fn deviation(value: &Value, must: bool, text: &ListText) -> Said<Deviation> {
    if must {
        return Err("an item that must hold cannot deviate".to_owned());
    }
    let table = value.as_table();
    let field = |name: &str| table.and_then(|table| table.get(name)).and_then(Value::as_str);
    let cause =
        value.as_str().or(field("cause")).ok_or("expected a cause, or { page = \"..\", cause = \"..\" }")?;
    let page =
        field("page").or(text.page.as_deref()).ok_or("expected a `page`, here or at the top of the file")?;
    let cause = match cause.strip_prefix('@') {
        None => cause,
        Some(name) => {
            let known = text.causes.keys().map(String::as_str);
            text.causes.get(name).ok_or_else(|| unknown("cause", name, known))?
        }
    };
    Ok(Deviation { page: page.to_owned(), cause: cause.to_owned() })
}

/// All figures.
pub(super) fn figures(
    text: &ListText,
    names: &Names<'_>,
    compare: &Compare,
    known: Known,
) -> Result<Vec<Figure>> {
    let figure = |figure: &FigureText| {
        let drawing = at(&figure.name, drawing(figure, names, compare, known))?;
        Ok(Figure { name: figure.name.get_ref().clone(), title: figure.title.clone(), drawing })
    };
    text.figure.iter().map(figure).collect()
}

fn drawing(figure: &FigureText, names: &Names<'_>, compare: &Compare, known: Known) -> Said<Drawing> {
    if let Some(name) = &figure.draw {
        let plots = || known.plots.iter().copied().flatten();
        let found = plots().find(|plot| plot.name == name);
        let known = plots().map(|plot| plot.name);
        return found.map(|plot| Drawing::Plot(*plot)).ok_or_else(|| unknown("drawing", name, known));
    }
    let runs = match figure.runs.as_ref().ok_or("expected `runs`")? {
        Value::String(group) => names.group(group)?.clone(),
        value => {
            let array = value.as_array().ok_or("expected the name of a group, or an array of runs")?;
            let members = array.iter().filter_map(Value::as_str).map(str::to_owned);
            members.zip(0u32..).map(|(name, at)| (name, f64::from(at))).collect()
        }
    };
    for (name, _) in &runs {
        let all = names.runs.iter().map(|runs| runs.name.as_str());
        let found = names.runs.iter().find(|runs| runs.name == *name);
        metrics::check(found.ok_or_else(|| unknown("runs", name, all))?, &figure.metric)?;
    }
    let policies = match &figure.policies {
        None => vec![SYSTEM.to_owned()],
        Some(value) => policy_list(value, compare)?,
    };
    let policies = policies.iter().map(|alias| names.policy(alias)).collect::<Said<Vec<Policy>>>()?;
    let metric = figure.metric.clone();
    Ok(match &figure.lines {
        None => Drawing::Bars { metric, runs: runs.into_iter().map(|it| it.0).collect(), policies },
        Some(lines) => Drawing::Lines(LineChart {
            metric,
            points: runs,
            policies,
            x: lines.x.clone(),
            y: lines.y.clone(),
            logarithmic: lines.logarithmic,
            unit: lines.unit,
        }),
    })
}
