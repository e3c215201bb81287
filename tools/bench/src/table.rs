//! The measured figures next to their budgets.

use std::fmt::Write as _;

/// A limit that a figure is to keep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    AtMost(f64),
    AtLeast(f64),
}

impl Budget {
    /// Returns whether a figure misses the limit by no more than `tolerance`, a part of the limit.
    fn is_met(self, figure: f64, tolerance: f64) -> bool {
        match self {
            Self::AtMost(limit) => figure <= limit * (1.0 + tolerance),
            Self::AtLeast(limit) => figure >= limit * (1.0 - tolerance),
        }
    }

    fn as_text(self, unit: &str) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {limit}{unit}"),
            Self::AtLeast(limit) => format!("≥ {limit}{unit}"),
        }
    }
}

/// One measured path.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The measured path and the path it is compared with.
    pub(crate) path: String,
    /// The figure; `None` when it could not be measured here.
    pub(crate) figure: Option<f64>,
    /// The unit of the figure.
    pub(crate) unit: &'static str,
    /// The limit, if there is one.
    pub(crate) budget: Option<Budget>,
    /// Absolute figures, for orientation, or the reason nothing was measured.
    pub(crate) detail: String,
}

impl Row {
    /// Returns whether the budget is met within `tolerance`; a figure that could not be measured here misses nothing.
    pub(crate) fn is_met_within(&self, tolerance: f64) -> bool {
        match (self.budget, self.figure) {
            (Some(budget), Some(figure)) => budget.is_met(figure, tolerance),
            _ => true,
        }
    }

    fn verdict(&self) -> &'static str {
        match (self.budget, self.figure) {
            (_, None) => "skipped",
            (None, Some(_)) => "–",
            (Some(budget), Some(figure)) if budget.is_met(figure, 0.0) => "met",
            (Some(_), Some(_)) => "MISSED",
        }
    }

    fn cells(&self) -> [String; 5] {
        [
            self.path.clone(),
            self.figure.map_or("–".to_owned(), |figure| format!("{figure:.2}{}", self.unit)),
            self.budget.map_or("–".to_owned(), |budget| budget.as_text(self.unit)),
            self.verdict().to_owned(),
            self.detail.clone(),
        ]
    }
}

/// Rows in the order they were measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

const HEAD: [&str; 5] = ["path", "measured", "budget", "verdict", "detail"];

impl Table {
    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Returns the row of that path.
    pub(crate) fn find(&self, path: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.path == path)
    }

    /// Returns the table for a terminal.
    pub(crate) fn as_text(&self) -> String {
        let cells: Vec<[String; 5]> = self.rows.iter().map(Row::cells).collect();
        let width = |column: usize| {
            let longest =
                cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
            longest.unwrap_or(0).max(HEAD.get(column).map_or(0, |head| head.len()))
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let mut text = String::new();
        for row in std::iter::once(HEAD.map(str::to_owned)).chain(cells) {
            let padded: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            let _ = writeln!(text, "{}", padded.join("  ").trim_end());
        }
        text
    }

    /// Returns the table for a page.
    pub(crate) fn as_markdown(&self) -> String {
        let mut text = format!("| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len()));
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", row.cells().join(" | "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reports_whether_its_budget_is_met() {
        let row =
            |figure, budget| Row { path: "a".into(), figure, unit: "×", budget, detail: String::new() };
        assert_eq!(row(Some(0.2), Some(Budget::AtMost(0.2))).verdict(), "met");
        assert_eq!(row(Some(0.21), Some(Budget::AtMost(0.2))).verdict(), "MISSED");
        assert_eq!(row(Some(0.9), Some(Budget::AtLeast(1.0))).verdict(), "MISSED");
        assert_eq!(row(None, Some(Budget::AtLeast(1.0))).verdict(), "skipped");
        assert!(row(Some(0.9), Some(Budget::AtLeast(1.0))).is_met_within(0.1));
        assert!(!row(Some(0.89), Some(Budget::AtLeast(1.0))).is_met_within(0.1));
        assert!(!row(Some(0.23), Some(Budget::AtMost(0.2))).is_met_within(0.1));
        let mut table = Table::default();
        table.push(row(Some(1.0), None));
        assert_eq!(table.as_text(), "path  measured  budget  verdict  detail\na     1.00×     –       –\n");
    }
}
