package app

import (
	"io"
	"log/slog"
	"os"
)

// newLogger writes text or JSON lines. The journal stamps its lines itself, so under it
// the time is left out.
func newLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	o := &slog.HandlerOptions{Level: level}
	if os.Getenv("JOURNAL_STREAM") != "" {
		o.ReplaceAttr = func(groups []string, at slog.Attr) slog.Attr {
			if at.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return at
		}
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
