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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ticketrail/printer/layout"
)

// Everything that a command prints passes through here. Names, notes and ids come from the network,
// and a terminal acts on control characters: it could be made to hide lines or to type for the
// operator. So all text is cleaned, except a body that goes to a file or a pipe.

// jsonFlag gives every listing the same flag: scripts use JSON, because the tables may change.
func (c *cli) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// show shows v: with --json as JSON, else with text.
func (c *cli) show(v any, text func() error) error {
	if c.asJSON {
		return showJSON(c.out, v)
	}
	return text()
}

// showJSON writes v as JSON that is safe to show on a terminal. The encoder escapes only the
// control characters below space; JSON allows DEL and C1 unescaped, but a terminal acts on them.
// HTML is not escaped: "<" in a note would be unreadable as \u003c.
func showJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}

	var safe strings.Builder
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

// printLine writes one line without control characters. The format is ours; its arguments are not.
func printLine(w io.Writer, format string, args ...any) error {
	return write(w, layout.Clean(fmt.Sprintf(format, args...))+"\n")
}

// A page is several lines of output.
type page struct{ strings.Builder }

// add adds a line without control characters.
func (p *page) add(format string, args ...any) {
	p.WriteString(layout.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// A table aligns its columns once all rows are known.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer, heads ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(heads) > 0 {
		t.row(heads...)
	}
	return t
}

// row adds a row. An error comes again at the end.
func (t table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = layout.Clean(cell)
	}
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// given adds a row about a value, if there is one.
func (t table) given(name, value string) {
	if value != "" {
		t.row(name, value)
	}
}

func (t table) end() error {
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
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
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// coloured reports whether output may have colours: a person reads it, and has not asked for none
// (https://no-color.org).
func coloured(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// writeBody writes a request body byte by byte as received, but to a terminal without control characters. A pipe gets
// every byte: `jobs show --body | inspect -` must see the body as the service sent it, and a provider's support asks
// for exactly these bytes.
func writeBody(w io.Writer, b []byte) error {
	if !isTerminal(w) {
		return write(w, string(b))
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

// parseIDs reads the ids of jobs or of refused requests, all or none. 0 is never an id, so a script
// with an empty variable is told at once.
func parseIDs(args []string) (ids []uint64, err error) {
	for _, a := range args {
		id, err := strconv.ParseUint(a, 10, 64)
		if err != nil || id == 0 {
			return nil, usagef("%q is not an id: use a number from the ID column of the list", a)
		}
		ids = append(ids, id)
	}

	return ids, nil
}
