package app

import (
	"io"
	"log/slog"
	"os"

	"ticketrail/printer/layout"
)

// clean takes out of a value what a terminal that shows the log would act upon. JSON leaves
// DEL and the C1 controls as they are, and ids and devices are whatever somebody sent.
func clean(at slog.Attr) slog.Attr {
	switch at.Value.Kind() {
	case slog.KindString:
		at.Value = slog.StringValue(layout.Clean(at.Value.String()))
	case slog.KindAny:
		if err, ok := at.Value.Any().(error); ok {
			at.Value = slog.StringValue(layout.Clean(err.Error()))
		}
	}
	return at
}

// newLogger writes text or JSON lines. The journal stamps its lines itself, so under it
// the time is left out.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
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
