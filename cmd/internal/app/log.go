package app

import (
	"io"
	"log/slog"
	"os"

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

// newLogger writes text or JSON lines to w; a nil w discards them. The journal adds a time itself, so
// under systemd the time is left out.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		// systemd sets JOURNAL_STREAM for the services whose output goes to the journal
		// (systemd.exec(5)).
		if at.Key == slog.TimeKey && len(groups) == 0 && os.Getenv("JOURNAL_STREAM") != "" {
			return slog.Attr{}
		}
		return clean(at)
	}}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
