package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"ticketrail/printer/layout"
)

// showJSON writes v for programs. Nothing in it can steer a terminal: the encoder escapes
// the control characters below space, and here go DEL and C1, which JSON allows bare.
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
	return put(w, safe.String())
}

// put writes text that is safe already.
func put(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// say writes one line.
func say(w io.Writer, format string, args ...any) error {
	return put(w, clean(fmt.Sprintf(format, args...))+"\n")
}

// clean is text on one line of a terminal.
func clean(s string) string {
	return layout.Clean(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(s))
}

// A table lines up its columns once all rows are known. It goes by how wide letters are on a
// terminal, which text/tabwriter does not: Chinese names take two places a letter.
type table struct {
	w    io.Writer
	rows [][]string
}

func newTable(w io.Writer, heads ...string) *table {
	t := &table{w: w}
	t.row(heads...)
	return t
}

func (t *table) row(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = clean(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) end() error {
	var wide []int
	for _, row := range t.rows {
		wide = append(wide, make([]int, max(0, len(row)-len(wide)))...)
		for i, c := range row {
			wide[i] = max(wide[i], layout.Width(c))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(c + strings.Repeat(" ", wide[i]-layout.Width(c)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return put(t.w, b.String())
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// span is a duration as people say it.
func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// terminal says that a person reads along.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// raw writes bytes as they were received, but to a terminal only what cannot steer it.
func raw(w io.Writer, b []byte) error {
	if !terminal(w) {
		_, err := w.Write(b)
		return err
	}
	return sayLines(w, b)
}

// sayLines writes a received body with nothing in it that can steer a terminal.
func sayLines(w io.Writer, b []byte) error {
	for line := range strings.Lines(string(b)) {
		if err := say(w, "%s", strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

// embed is a received body as a value in our JSON: itself if it is JSON, else a string.
func embed(b []byte) any {
	if json.Valid(b) {
		return json.RawMessage(b)
	}
	return string(b)
}

// parseID reads a job's or a reject's number.
func parseID(s string) (uint64, error) {
	id, err := strconv.ParseUint(s, 10, 64)
	if err != nil || id == 0 {
		return 0, usage("%q is not an id: ids are whole numbers, as the lists show them", s)
	}
	return id, nil
}

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
