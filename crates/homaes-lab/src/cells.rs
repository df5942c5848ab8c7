/// A table with a head and rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// Names of the columns.
    pub head: Vec<String>,
    /// As wide as the head.
    pub rows: Vec<Vec<String>>,
}

impl Cells {
    /// A table.
    #[must_use]
    pub fn new(head: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            head: head.iter().map(|&name| name.to_owned()).collect(),
            rows,
        }
    }

    /// A table; `head` has the names of the columns, between bars.
    #[must_use]
    pub fn of(head: &str, rows: Vec<Vec<String>>) -> Self {
        Self::new(&head.split('|').collect::<Vec<_>>(), rows)
    }

    /// Whether most cells of a column are figures or dashes.
    pub(crate) fn is_of_figures(&self, column: usize) -> bool {
        let figure = |row: &Vec<String>| {
            let first = row[column].chars().next();
            first.is_some_and(|c| c.is_ascii_digit() || c == '–')
        };
        2 * self.rows.iter().filter(|row| figure(row)).count() > self.rows.len()
    }

    /// In Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = "|---".repeat(self.head.len()) + "|\n";
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.head) + &rule + &rows
    }
}

/// A cell that may be empty.
pub(crate) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}

/// Escapes a cell: only a cell in back quotes is markup.
pub(crate) fn plain(cell: &str) -> String {
    let quoted = cell.len() > 1
        && cell.starts_with('`')
        && cell.ends_with('`')
        && cell.matches('`').count() == 2;
    let mut out = String::new();
    for c in cell.chars() {
        match c {
            '|' => out += "\\|",
            '<' if !quoted => out += "&lt;",
            '[' | ']' if !quoted => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_no_markup() {
        let cells = ["a|b", "[x](y)", "<b>", "`a < b | c`", "`a` and [b]"];
        let row = cells.map(str::to_owned).to_vec();
        let page = Cells::of("||||", vec![row]).markdown();
        let last = page.lines().last().unwrap();
        assert_eq!(
            last,
            "| a\\|b | \\[x\\](y) | &lt;b> | `a < b \\| c` | `a` and \\[b\\] |"
        );
    }
}
