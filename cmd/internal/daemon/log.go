// Package daemon has the common parts of the two daemons, the one on the box and the relay: the log, the listeners, the
// pages for monitoring, and the webhook's policy and certificate, made of the same sections of a configuration. So an
// operator who knows one knows the other.
package daemon

import (
	"bytes"
	"io"
	"log/slog"
	"os"

	"github.com/coreos/go-systemd/v22/journal"

	"ticketrail/printer/layout"
)

// clean removes control characters from a value of a log line: ids and device names come from the
// network, and a terminal that shows the log would act on them. The JSON handler does not escape DEL
// and the C1 control characters.
func clean(at slog.Attr) slog.Attr {
	switch at.Value.Kind() {
	case slog.KindString:
		at.Value = slog.StringValue(layout.Clean(at.Value.String()))

	// Errors quote ids, addresses and answers of printers.
	case slog.KindAny:
		if err, ok := at.Value.Any().(error); ok {
			at.Value = slog.StringValue(layout.Clean(err.Error()))
		}
	}

	return at
}

// NewLogger writes text or JSON lines to w; a nil w discards them. The journal gets the priority of each
// line, and no time, because it adds one itself.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}

	// Not JOURNAL_STREAM alone: a terminal that systemd started hands it on to every program in it.
	toJournal := false
	if w == os.Stderr {
		toJournal, _ = journal.StderrIsJournalStream()
	}

	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		if toJournal && at.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return clean(at)
	}}
	if toJournal {
		w = journalWriter{w}
	}

	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// A journalWriter begins each line with its priority, as journald reads it from the output of a service
// (sd-daemon(3)). Without it every line would have the priority info, and `journalctl -p warning` would be
// empty. The handlers of slog make one call of Write for each line, which begins with its level.
type journalWriter struct{ io.Writer }

func (w journalWriter) Write(line []byte) (int, error) {
	level, priority := bytes.TrimLeft(line, `{"level=:`), "<6>"
	for name, p := range map[string]string{"ERROR": "<3>", "WARN": "<4>", "DEBUG": "<7>"} {
		if bytes.HasPrefix(level, []byte(name)) {
			priority = p
		}
	}
	_, err := w.Writer.Write(append([]byte(priority), line...))
	return len(line), err
}
