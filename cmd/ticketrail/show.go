package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"ticketrail/printer/layout"
)

// Everything that a command prints passes through here. Names, notes and ids come from the network,
// and a terminal acts on control characters: it could be made to hide lines or to type for the
// operator. So all text is cleaned, except a body that goes to a file or a pipe.

// showJSON writes v as JSON that is safe to show on a terminal. The encoder escapes only the
// control characters below space; JSON allows DEL and C1 unescaped, but a terminal acts on them.
// HTML is not escaped: "<" in a note would be unreadable as \u003c.
func showJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	var safe strings.Builder
	safe.Grow(b.Len())
	for _, r := range b.String() {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&safe, `\u%04x`, r)
		} else {
			safe.WriteRune(r)
		}
	}
	return write(w, safe.String())
}

// write writes text that has no control characters to remove. An error is usually a closed pipe or
// a full disk, and the exit code tells the script.
func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// printLine writes one line without control characters. The format is ours; what it is filled with
// is not.
func printLine(w io.Writer, format string, args ...any) error {
	return write(w, fold(singleLine(fmt.Sprintf(format, args...)), columnsOf(w), 2)+"\n")
}

// columnsOf is how wide the terminal is that w writes to; 0 if it is none. A program that reads the
// output gets every line in one piece.
func columnsOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// fold breaks a line at blanks so that it is at most so many columns wide, and indents what follows. A
// terminal would break it within a word. A word that is wider stays whole, so that a path can be copied.
func fold(s string, columns, indent int) string {
	if columns <= 0 || layout.Width(s) <= columns {
		return s
	}
	var lines []string
	line := ""
	for i, word := range strings.Split(s, " ") {
		switch {
		case i == 0:
			line = word
		case layout.Width(line)+1+layout.Width(word) > columns && strings.TrimSpace(line) != "":
			lines = append(lines, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent) + word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// singleLine makes text safe for one line of a terminal: a value must not start a line of its own.
// Line breaks become spaces and are not dropped: two words must not become one.
func singleLine(s string) string {
	return layout.Clean(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(s))
}

// A table aligns its columns once all rows are known. It uses the width of characters on a
// terminal, which text/tabwriter does not: Chinese characters take two columns. A header row is a
// row like the others, so it counts for the widths.
type table struct {
	w       io.Writer
	columns int // of the terminal, for the last cell of a row, which is folded; 0: it is not
	rows    [][]string
}

func newTable(w io.Writer, heads ...string) *table {
	t := &table{w: w, columns: columnsOf(w)}
	t.row(heads...)
	return t
}

func (t *table) row(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = singleLine(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) end() error {
	var wide []int
	for _, row := range t.rows {
		// Rows may have different lengths, as in "jobs show".
		wide = append(wide, make([]int, max(0, len(row)-len(wide)))...)
		for i, c := range row {
			wide[i] = max(wide[i], layout.Width(c))
		}
	}
	t.narrow(wide)
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		at := 0 // where the last cell begins
		for i, c := range row {
			if i == len(row)-1 {
				at = layout.Width(line.String())
			}
			if i < len(row)-1 {
				c = cut(c, wide[i])
			}
			line.WriteString(c + strings.Repeat(" ", max(0, wide[i]-layout.Width(c))+2))
		}
		// A terminal would wrap trailing blanks into an empty line.
		text := strings.TrimRight(line.String(), " ")
		if last := row[len(row)-1]; t.columns > 0 && layout.Width(text) > t.columns {
			if !roomFor(last, t.columns-at) {
				b.WriteString(strings.TrimRight(strings.TrimSuffix(text, last), " ") + "\n")
				text, at = "    "+last, 4
			}
			text = fold(text, t.columns, at)
		}
		b.WriteString(text + "\n")
	}
	return write(t.w, b.String())
}

// narrow makes the widest columns narrower until all but the last, which is folded, fit on the terminal: a
// line that the terminal wraps cannot be read as a table. What is cut is whole in --json and in a pipe.
func (t *table) narrow(wide []int) {
	const least = 8
	for t.columns > 0 && len(wide) > 1 {
		used, widest := 0, 0
		for i, n := range wide[:len(wide)-1] {
			if used += n + 2; n > wide[widest] {
				widest = i
			}
		}
		if used-2 <= t.columns || wide[widest] <= least {
			return
		}
		wide[widest]--
	}
}

// cut is s in at most so many columns, with a sign that something is missing.
func cut(s string, columns int) string {
	if layout.Width(s) <= columns {
		return s
	}
	for layout.Width(s) >= columns {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s + "…"
}

// roomFor reports whether a text can be folded into so many columns. A word must fit, and a sentence in less
// than 20 columns cannot be read.
func roomFor(text string, columns int) bool {
	for word := range strings.SplitSeq(text, " ") {
		if layout.Width(word) > columns {
			return false
		}
	}
	return columns >= 20
}

// formatTime is t on the clock of the kitchen, without the date if it is today.
func (c *cli) formatTime(t time.Time) string {
	if t = t.In(c.location()); t.Format(time.DateOnly) == time.Now().In(c.location()).Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// timeHead is the head of a column with times; it says in which zone they are.
func (c *cli) timeHead(name string) string {
	return name + " " + time.Now().In(c.location()).Format("MST")
}

func (c *cli) location() *time.Location { return cmp.Or(c.zone, time.Local) }

// isTerminal reports whether w is a terminal, that is, whether a person reads the output. A test
// that writes to a buffer gets the form for programs.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// writeBody writes a request body byte by byte as received, but to a terminal without control
// characters. A pipe gets every byte: `jobs show --body | inspect -` must see what the service
// sent, and a provider's support asks for exactly that.
func writeBody(w io.Writer, b []byte) error {
	if !isTerminal(w) {
		_, err := w.Write(b)
		return err
	}
	return printBody(w, b)
}

// printBody writes a received body without control characters.
func printBody(w io.Writer, b []byte) error {
	for line := range strings.Lines(string(b)) {
		if err := printLine(w, "%s", strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

// jsonOrString is a received body as a value in our JSON: itself if it is JSON, else a string. A
// refused body may be anything, and a string keeps our own JSON valid.
func jsonOrString(b []byte) any {
	if json.Valid(b) {
		return json.RawMessage(b)
	}
	return string(b)
}

// parseID reads the id of a job or of a refused request. 0 is never an id, so a script with an
// empty variable is told at once.
func parseID(s string) (uint64, error) {
	id, err := strconv.ParseUint(s, 10, 64)
	if err != nil || id == 0 {
		return 0, usagef("%q is not an id: use a number from the ID column of the list", s)
	}
	return id, nil
}

// parseIDs reads all or none.
func parseIDs(args []string) ([]uint64, error) {
	var ids []uint64
	for _, a := range args {
		id, err := parseID(a)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// line is one line of output, folded for the terminal.
func (c *cli) line(s string) string { return fold(singleLine(s), columnsOf(c.out), 2) + "\n" }

// foldedLines folds what another package writes, a line at a time, as its findings come in.
type foldedLines struct{ *cli }

func (f foldedLines) Write(line []byte) (int, error) {
	return len(line), write(f.out, f.line(strings.TrimSuffix(string(line), "\n")))
}
