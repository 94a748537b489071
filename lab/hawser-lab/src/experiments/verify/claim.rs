//! Reads claims: `ratio(up-20.goodput_bps, late.up-20.goodput_bps) >= 1.15`.
//!
//! ```text
//!   claim     = sum ( ">" | "<" | ">=" | "<=" ) sum | sum ( "in" | "inside" ) sum "to" sum | sum "within" sum "%" "of" sum
//!   sum       = product { ( "+" | "-" ) product }
//!   product   = operand { ( "*" | "/" ) operand }
//!   operand   = NUMBER | "-" operand | "(" sum [ comparison sum ] ")" | FUNCTION "(" sum { "," sum } ")" | reference
//!   reference = [ POLICY "." ] RUNS "." METRIC
//! ```

use super::expression::{Estimator, Expression, Operator};
use super::metric::Metric;
use super::names::{self, Names};
use super::tokens::{Token, tokens};
use super::value::{Bound, Claim, Value};

/// Parentheses in one another.
const DEEPEST: usize = 32;
/// Terms of a claim with its groups written out.
const MOST_TERMS: usize = 10_000;

/// Functions that are written with the name of a group.
const OVER: [&str; 7] =
    ["max_over", "min_over", "mean_over", "median_over", "best_over", "max_over_steps", "min_over_steps"];
/// All others.
const FUNCTIONS: [&str; 10] =
    ["mean", "median", "largest", "smallest", "sum", "ratio", "difference", "max", "min", "number"];
/// Comparisons.
const COMPARISONS: [(&str, Operator); 4] =
    [("<", Operator::Less), ("<=", Operator::AtMost), (">", Operator::Greater), (">=", Operator::AtLeast)];

/// Reads a claim. `line` is where the file states it.
///
/// # Errors
/// Says what is wrong, and what is allowed there.
pub(super) fn read(text: &str, line: usize, names: &Names<'_>) -> Result<Claim, String> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0, names, bound: Vec::new(), depth: 0, terms: 0 };
    let expression = reader.sum()?;
    let value_text = reader.text_so_far(text);
    let bound = reader.bound()?;
    if let Some(token) = reader.tokens.get(reader.at) {
        return Err(format!("nothing may follow the bound, found {}", token.found()));
    }
    check(&expression, false)?;
    Ok(Claim { value: value(expression, value_text), bound, line })
}

/// Values with estimators of their own, whose intervals are known.
fn value(expression: Expression, text: &str) -> Value {
    use Expression::{Binary, Estimate, Metric as One};
    match expression {
        Estimate(estimator, inner) => match (estimator, *inner) {
            (Estimator::Mean, One(metric)) => Value::Mean(metric),
            (Estimator::Median, One(metric)) => Value::Median(metric),
            (Estimator::Largest, One(metric)) => Value::Largest(metric),
            (Estimator::Smallest, One(metric)) => Value::Smallest(metric),
            (Estimator::Sum, One(metric)) => Value::Sum(metric),
            (estimator, inner) => computed(text, Estimate(estimator, Box::new(inner))),
        },
        Binary(operator, first, second) if text.starts_with("ratio(") || text.starts_with("difference(") => {
            match (operator, means(&first), means(&second)) {
                (Operator::Divide, Some(one), Some(other)) => Value::Ratio(one, other),
                (Operator::Subtract, Some(one), Some(other)) => Value::Difference(one, other),
                _ => computed(text, Binary(operator, first, second)),
            }
        }
        other => computed(text, other),
    }
}

fn computed(text: &str, expression: Expression) -> Value {
    Value::Computed { text: text.to_owned(), expression }
}

/// The metric whose mean an expression is.
fn means(expression: &Expression) -> Option<Metric> {
    match expression {
        Expression::Estimate(Estimator::Mean, inner) => match &**inner {
            Expression::Metric(metric) => Some(metric.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A metric has a value for each seed: it has to stand in an estimate, and estimates do not stand in one another.
fn check(expression: &Expression, inside: bool) -> Result<(), String> {
    let all = |list: &[Expression]| list.iter().try_for_each(|each| check(each, inside));
    match expression {
        Expression::Number(_) => Ok(()),
        Expression::Metric(metric) if !inside => Err(format!(
            "{} has a value for each seed: expected mean(..), largest(..), smallest(..) or sum(..) of it",
            metric.name
        )),
        Expression::Metric(_) => Ok(()),
        Expression::Estimate(..) if inside => {
            Err("an estimate over all seeds cannot stand in another one".to_owned())
        }
        Expression::Estimate(_, inner) if inner.metrics().is_empty() => {
            Err("an estimate needs a metric".to_owned())
        }
        Expression::Estimate(_, inner) => check(inner, true),
        Expression::Binary(_, first, second) => check(first, inside).and_then(|()| check(second, inside)),
        Expression::Largest(list)
        | Expression::Smallest(list)
        | Expression::Mean(list)
        | Expression::Median(list) => all(list),
        Expression::Best(list) => list.iter().try_for_each(|(_, each)| check(each, inside)),
    }
}

struct Reader<'a, 'n> {
    tokens: Vec<Token<'a>>,
    at: usize,
    names: &'n Names<'n>,
    /// Groups that stand for one of their members here.
    bound: Vec<names::Bound>,
    depth: usize,
    terms: usize,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).map(|token| token.text)
    }

    fn next(&mut self, expected: &str) -> Result<&'a str, String> {
        let text = self.peek().ok_or_else(|| format!("expected {expected}, found the end"))?;
        self.at += 1;
        Ok(text)
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.peek() == Some(text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.takes(text) {
            return Ok(());
        }
        let found = self.tokens.get(self.at).map_or_else(|| "the end".to_owned(), Token::found);
        Err(format!("expected \"{text}\", found {found}"))
    }

    fn text_so_far<'t>(&self, text: &'t str) -> &'t str {
        text[..self.tokens.get(self.at).map_or(text.len(), |token| token.start)].trim()
    }

    fn bound(&mut self) -> Result<Bound, String> {
        let allowed = "\">\", \"<\", \">=\", \"<=\", \"in LOW to HIGH\", \"inside LOW to HIGH\" or \"within PERCENT % of NUMBER\"";
        Ok(match self.next(allowed)? {
            ">" => Bound::Above(self.constant()?),
            "<" => Bound::Below(self.constant()?),
            ">=" => Bound::AtLeast(self.constant()?),
            "<=" => Bound::AtMost(self.constant()?),
            word @ ("in" | "inside") => {
                let low = self.constant()?;
                self.expect("to")?;
                let high = self.constant()?;
                if word == "in" { Bound::Within(low, high) } else { Bound::Inside(low, high) }
            }
            "within" => {
                let percent = self.constant()?;
                self.expect("%")?;
                self.expect("of")?;
                let middle = self.constant()?;
                let margin = middle * percent / 100.0;
                Bound::Within(middle - margin, middle + margin)
            }
            other => return Err(format!("expected {allowed}, found \"{other}\"")),
        })
    }

    fn constant(&mut self) -> Result<f64, String> {
        let found = self.sum()?;
        found.constant().ok_or_else(|| "a bound is made of numbers".to_owned())
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some("+") => Operator::Add,
                Some("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.operand()?;
        loop {
            let operator = match self.peek() {
                Some("*") => Operator::Multiply,
                Some("/") => Operator::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expression::Binary(operator, Box::new(left), Box::new(self.operand()?));
        }
    }

    fn operand(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        self.terms += 1;
        if self.depth > DEEPEST {
            return Err(format!("expected at most {DEEPEST} parentheses in one another"));
        }
        if self.terms > MOST_TERMS {
            return Err(format!("expected at most {MOST_TERMS} terms, with groups written out"));
        }
        let found = self.one_operand();
        self.depth -= 1;
        found
    }

    fn one_operand(&mut self) -> Result<Expression, String> {
        let text = self.next("a number, a function, or RUNS.METRIC")?;
        if text == "(" {
            let found = self.comparison()?;
            self.expect(")")?;
            return Ok(found);
        }
        if text == "-" {
            let zero = Box::new(Expression::Number(0.0));
            return Ok(match self.operand()? {
                Expression::Number(number) => Expression::Number(-number),
                other => Expression::Binary(Operator::Subtract, zero, Box::new(other)),
            });
        }
        if let Ok(number) = text.parse::<f64>() {
            return Ok(Expression::Number(number));
        }
        if self.takes("(") {
            let found = self.function(text)?;
            self.expect(")")?;
            return Ok(found);
        }
        self.names.metric(text, &self.bound).map(Expression::Metric)
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.sum()?;
        let found = COMPARISONS.iter().find(|(text, _)| Some(*text) == self.peek());
        let Some((_, operator)) = found else { return Ok(left) };
        self.at += 1;
        Ok(Expression::Binary(*operator, Box::new(left), Box::new(self.sum()?)))
    }

    fn function(&mut self, name: &str) -> Result<Expression, String> {
        if OVER.contains(&name) {
            return self.over(name);
        }
        if name == "number" {
            let group = self.next("the name of a group")?;
            let found = self.bound.iter().rev().find(|(bound, ..)| bound == group);
            let found =
                found.ok_or_else(|| format!("number({group}) stands for a member in {}", OVER.join(", ")))?;
            return Ok(Expression::Number(found.2));
        }
        let mut arguments = vec![self.sum()?];
        while self.takes(",") {
            arguments.push(self.sum()?);
        }
        let wrong = |count: &str| format!("{name}(..) takes {count}, found {}", arguments.len());
        let estimator = match name {
            "mean" => Estimator::Mean,
            "median" => Estimator::Median,
            "largest" => Estimator::Largest,
            "smallest" => Estimator::Smallest,
            "sum" => Estimator::Sum,
            "max" => return Ok(Expression::Largest(arguments)),
            "min" => return Ok(Expression::Smallest(arguments)),
            "ratio" | "difference" => {
                let [first, second] = <[Expression; 2]>::try_from(arguments)
                    .map_err(|found| format!("{name}(..) takes two metrics, found {}", found.len()))?;
                let mean = |it| Box::new(Expression::Estimate(Estimator::Mean, Box::new(it)));
                let operator = if name == "ratio" { Operator::Divide } else { Operator::Subtract };
                return Ok(Expression::Binary(operator, mean(first), mean(second)));
            }
            _ => {
                let known: Vec<&str> = FUNCTIONS.iter().chain(&OVER).copied().collect();
                return Err(format!("no function \"{name}\"; known are {}", known.join(", ")));
            }
        };
        let message = wrong("one argument");
        let [inner] = <[Expression; 1]>::try_from(arguments).map_err(|_| message)?;
        Ok(Expression::Estimate(estimator, Box::new(inner)))
    }

    /// `max_over(GROUP, body)`: the body is read once for each member, which the name of the group stands for in it.
    fn over(&mut self, name: &str) -> Result<Expression, String> {
        let group = self.next("the name of a group")?;
        let members = self.names.group(group)?;
        self.expect(",")?;
        let body = self.at;
        let mut all = Vec::new();
        let is_step = name.ends_with("_steps");
        for (index, (member, number)) in members.iter().enumerate().skip(usize::from(is_step)) {
            self.at = body;
            let known = self.bound.len();
            self.bound.push((group.to_owned(), member.clone(), *number));
            if is_step {
                let (before, number) = members[index - 1].clone();
                self.bound.push(("before".to_owned(), before, number));
            }
            let found = self.sum();
            self.bound.truncate(known);
            all.push((*number, found?));
        }
        if all.is_empty() {
            return Err(format!("the group {group} has too few members"));
        }
        let bodies = |all: Vec<(f64, Expression)>| all.into_iter().map(|(_, body)| body).collect();
        Ok(match name {
            "best_over" => Expression::Best(all),
            "mean_over" => Expression::Mean(bodies(all)),
            "median_over" => Expression::Median(bodies(all)),
            "max_over" | "max_over_steps" => Expression::Largest(bodies(all)),
            _ => Expression::Smallest(bodies(all)),
        })
    }
}
